# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs are those of tests/mpi, and so is what may run beside each other."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mpi"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from two_at_a_time import ByMpi

    return ByMpi(config, log)

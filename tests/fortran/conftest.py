# SPDX-License-Identifier: BSD-3-Clause
"""What may run beside each other is as in tests/mpi."""

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from two_at_a_time import ByMpi

    return ByMpi(config, log)

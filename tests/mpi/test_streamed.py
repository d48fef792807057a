# SPDX-License-Identifier: BSD-3-Clause
"""Buffers that the program has filled with streaming (non-temporal) stores."""

from __future__ import annotations

import os
import platform

import pytest
from rig import ROOT
from rig.mpis import MAIN, Mpi

pytestmark = [
    pytest.mark.alone,  # its ranks have to run at once
    pytest.mark.skipif(platform.machine() != "x86_64", reason="stores are ordered otherwise"),
    pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores"),
]


@pytest.mark.parametrize("mpi", MAIN, ids=lambda mpi: mpi.name)
def test_what_is_received_comes_after_what_was_streamed(mpi: Mpi) -> None:
    program = str(mpi.compile("streamed.cc", f"-I{ROOT}/src"))
    result = mpi.run(2, [program, "60000"], {})
    assert result.returncode == 0 and "streamed: 0 wrong" in result.stdout, result.stdout[-2000:]

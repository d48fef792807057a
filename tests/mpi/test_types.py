# SPDX-License-Identifier: BSD-3-Clause
"""Predefined types and operations are what the MPI says: their sizes, and which are defined."""

from __future__ import annotations

import json
import re

import pytest
from rig.mpis import LIBRARY, MAIN, OTHERS, Mpi

every_mpi = pytest.mark.parametrize("mpi", MAIN + OTHERS, ids=lambda mpi: mpi.name)


@every_mpi
def test_every_operation_on_every_type_ends_as_in_the_bare_mpi(mpi: Mpi) -> None:
    result = mpi.run(2, [str(mpi.compile("matrix.cc"))], {})
    found = re.search(r"matrix: (\d+) compared, (\d+) of them errors, 0 wrong", result.stdout)
    assert result.returncode == 0 and found, result.stdout[-3000:]
    assert int(found[1]) > 20000 and int(found[2]) > 10000


@pytest.mark.parametrize("mode", ["built", "told"])
@every_mpi
def test_fortran_types_of_other_sizes(mpi: Mpi, mode: str, tmp_path) -> None:
    report = tmp_path / "report.json"
    player = mpi.compile("ilp64_mpi.cc", "-shared", "-fPIC")
    preload = {"LD_PRELOAD": f"{LIBRARY}:{player}", "ILP64": mode, "TUTTI_REPORT": str(report)}
    result = mpi.run(2, [str(mpi.compile("ilp64.cc")), mode], preload)
    assert result.returncode == 0 and "ilp64: 0 wrong" in result.stdout, result.stdout[-3000:]
    calls = {row["collective"]: row for row in json.loads(report.read_text())["calls"]}
    # But for the DOUBLE PRECISION of 16 bytes.
    assert calls["Allreduce"]["reasons"] == {"no kernel for this datatype": 1}
    assert all(calls[name]["left"] == 0 for name in ("Bcast", "Allgather", "Iallreduce"))


@every_mpi
def test_chars_are_computed_where_the_mpi_does(mpi: Mpi, tmp_path) -> None:
    report = tmp_path / "report.json"
    result = mpi.run(3, [str(mpi.compile("chars.cc"))], {"TUTTI_REPORT": str(report)})
    found = re.search(r"chars: (\d+) accepted, (\d+) refused, 0 wrong", result.stdout)
    assert result.returncode == 0 and found, result.stdout[-3000:]
    assert int(found[1]) > 0
    [calls] = json.loads(report.read_text())["calls"]
    assert (calls["taken"], calls["left"]) == (int(found[1]), int(found[2]))

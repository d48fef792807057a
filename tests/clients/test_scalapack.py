# SPDX-License-Identifier: BSD-3-Clause
"""ScaLAPACK's test programs, in Fortran, as Debian builds them for its Open MPI and its MPICH.

The programs and the library are Fortran; their messages pass through BLACS, which is C, so Tutti
sees them on every MPI. Each solves many small problems on several grids of
processes and checks the residuals itself.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rig.jobs import Run, start
from rig.mpis import DEBIAN_MPICH, DEBIAN_OPENMPI, Mpi
from rig.peak import Peak

# LU and Cholesky factors, QR, eigenvalues, singular values; real and complex.
PROGRAMS = ["xdllt", "xdqr", "xdlu", "xzllt", "xzqr", "xdsep", "xdsvd", "xdbrd", "xzhrd"]
FLAVOURS = {DEBIAN_OPENMPI.name: "openmpi", DEBIAN_MPICH.name: "mpich"}


def input_for(ranks: int, text: str) -> str:
    """Debian's input, on grids that so many ranks make.

    Its grids are of 1 and of 4 processes; two want others to do anything. Without the estimate of
    the condition: the ranks of a grid now and then part ways in it and wait for each other, bare
    too.
    """
    text = re.sub(r"^T(\s+\(T or F\) Test Cond)", r"F\1", text, flags=re.MULTILINE)
    if ranks != 2:
        return text
    # Of the eigenvalues and the singular values each test has its own.
    text = re.sub(r"^[\d \t]+(values of P \(NPROW\))", "1 " * 16 + r"\1", text, flags=re.MULTILINE)
    text = re.sub(r"^[\d \t]+(values of Q \(NPCOL\))", "2 1 " * 8 + r"\1", text, flags=re.MULTILINE)
    grids = r"^\s*\d+(\s+number of process\w* grids.*\n)[\d\s]+(values of P.*\n)[\d\s]+"
    return re.sub(grids, r"3\g<1>1 2 1 \g<2>1 1 2 ", text, flags=re.MULTILINE)


def run(
    mpi: Mpi, ranks: int, program: str, tutti: bool, folder: Path, peak: Peak
) -> tuple[list[str], Run]:
    """The program's verdict: how many problems were solved, wrong, and left out."""
    programs = next(Path("/usr/lib").glob("*/scalapack")) / f"{FLAVOURS[mpi.name]}-tests"
    for data in programs.glob("*.dat"):
        (folder / data.name).write_text(input_for(ranks, data.read_text()))
    command = [str(programs / program)]
    result = start(mpi, ranks, command, tutti=tutti, limit_s=240, cwd=folder, peak=peak)
    assert result.code == 0, f"{program}: code {result.code}: {result.output[-2000:]}"
    verdict = re.findall(r"^Finished .*|^ +\d+ tests .*", result.output, re.MULTILINE)
    if not verdict:  # xdsvd counts nothing
        each = re.findall(r"^ *(Passed|Failed) ", result.output, re.MULTILINE)
        verdict = [f"{each.count(word)} {word}" for word in sorted(set(each))]
    assert verdict, result.output[-2000:]
    return verdict, result


def cases() -> list:
    found = []
    for mpi in (DEBIAN_OPENMPI, DEBIAN_MPICH):
        for ranks in (2, 4):
            for program in PROGRAMS:
                quick = ranks == 2 and program in PROGRAMS[:2]
                if mpi is DEBIAN_MPICH and ranks == 4 and program not in PROGRAMS[:2]:
                    continue  # each takes many minutes, bare
                marks = [] if quick else [pytest.mark.whole]
                name = f"{mpi.name}-{ranks}-{program}"
                found.append(pytest.param(mpi, ranks, program, marks=marks, id=name))
    return found


@pytest.mark.parametrize(("mpi", "ranks", "program"), cases())
def test_scalapack(mpi: Mpi, ranks: int, program: str, say, tmp_path) -> None:
    held = Peak(), Peak()
    theirs, bare = run(mpi, ranks, program, False, tmp_path, held[False])
    mine, ours = run(mpi, ranks, program, True, tmp_path, held[True])
    say(f"{ours.seconds:.1f} s, bare {bare.seconds:.1f} s; {ours.summary()}")
    say("; ".join(" ".join(line.split()) for line in mine))
    assert mine == theirs
    assert ours.taken() > 10
    say(held[True].check(held[False], ranks))

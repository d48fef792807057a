# SPDX-License-Identifier: BSD-3-Clause
"""ScaLAPACK's test programs, in Fortran, as Debian builds them for its Open MPI and its MPICH.

The programs and the library are Fortran; their messages pass through BLACS, which is C, so Tutti
sees them on every MPI. Each solves many small problems on several grids of
processes and checks the residuals itself. Those for Debian's MPICH run on Intel MPI, too,
which has its ABI.
"""

from __future__ import annotations

import re
from pathlib import Path

from clients import Start
from rig import jobs
from rig.jobs import Run
from rig.mpis import DEBIAN_MPICH, DEBIAN_OPENMPI, INTEL, Mpi
from rig.peak import Peak

# LU and Cholesky factors, QR, eigenvalues, singular values; real and complex.
PROGRAMS = ["xdllt", "xdqr", "xdlu", "xzllt", "xzqr", "xdsep", "xdsvd", "xdbrd", "xzhrd"]
FLAVOURS = {DEBIAN_OPENMPI.name: "openmpi", DEBIAN_MPICH.name: "mpich", INTEL.name: "mpich"}


# Grids that so many ranks make, where Debian's do not: rows and columns of each.
GRIDS = {
    2: [(1, 1), (2, 1), (1, 2)],
    6: [(6, 1), (3, 2), (2, 3)],
    8: [(1, 8), (4, 2), (2, 4)],
}


def input_for(ranks: int, text: str) -> str:
    """Debian's input, on grids that so many ranks make.

    Its grids are of 1 and of 4 processes; two want others to do anything, and more than 4 should
    have something to do. Without the estimate of the condition: the ranks of a grid now and then
    part ways in it and wait for each other, bare too.
    """
    text = re.sub(r"^T(\s+\(T or F\) Test Cond)", r"F\1", text, flags=re.MULTILINE)
    if ranks not in GRIDS:
        return text
    # Of the eigenvalues and the singular values each test has its own. On grids of 3 and 2 that of
    # eigenvalues writes to where it should not, bare too.
    if ranks == 2:
        for name, values in ((r"P \(NPROW", "1 " * 16), (r"Q \(NPCOL", "2 1 " * 8)):
            line = rf"^[\d \t]+(values of {name}\))"
            text = re.sub(line, values + r"\1", text, flags=re.MULTILINE)
    grids = r"^\s*\d+(\s+number of process\w* grids.*\n)[\d\s]+(values of P.*\n)[\d\s]+"
    rows, columns = (" ".join(map(str, each)) for each in zip(*GRIDS[ranks]))
    return re.sub(grids, rf"3\g<1>{rows} \g<2>{columns} ", text, flags=re.MULTILINE)


def as_libmpich(mpi: Mpi, folder: Path) -> dict[str, str]:
    """What lets a program that wants Debian's MPICH, libmpich, find this MPI."""
    if mpi is not INTEL:
        return {}
    libraries = mpi.environment["LD_LIBRARY_PATH"]
    name = folder / "libmpich.so.12"
    name.unlink(missing_ok=True)
    name.symlink_to(Path(libraries) / "libmpi.so.12")
    return {"LD_LIBRARY_PATH": f"{folder}:{libraries}"}


def run(
    mpi: Mpi,
    ranks: int,
    program: str,
    tutti: bool,
    folder: Path,
    peak: Peak | None = None,
    start: Start = jobs.start,
) -> tuple[list[str], Run]:
    """The program's verdict: how many problems were solved, wrong, and left out."""
    programs = next(Path("/usr/lib").glob("*/scalapack")) / f"{FLAVOURS[mpi.name]}-tests"
    for data in programs.glob("*.dat"):
        (folder / data.name).write_text(input_for(ranks, data.read_text()))
    command = [str(programs / program)]
    names = as_libmpich(mpi, folder)
    result = start(
        mpi, ranks, command, tutti=tutti, limit_s=240, cwd=folder, peak=peak, variables=names
    )
    assert result.code == 0, f"{program}: code {result.code}: {result.output[-2000:]}"
    verdict = re.findall(r"^Finished .*|^ +\d+ tests .*", result.output, re.MULTILINE)
    if not verdict:  # xdsvd counts nothing
        each = re.findall(r"^ *(Passed|Failed) ", result.output, re.MULTILINE)
        verdict = [f"{each.count(word)} {word}" for word in sorted(set(each))]
    assert verdict, result.output[-2000:]
    return verdict, result

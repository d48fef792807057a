# SPDX-License-Identifier: BSD-3-Clause
"""What the tests have in common: layouts, the cases of each `make test` and of `--whole`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from rig.launchers import Layout
from rig.mpis import MAIN, MPICH
from rig.spanning import ALONE

SHORT = Layout((2, 2))
UNEQUAL = Layout((3, 2, 1))
CYCLIC = Layout((2, 2), cyclic=True)
LAYOUTS = [SHORT, UNEQUAL, CYCLIC, ALONE]

SEVERAL = "its ranks are on several nodes"  # why such calls are left to the MPI
NOT_MET = "its members have not met on this communicator"
BY_OPTION = "its option says mpi"
# All main MPIs, of which one makes a short form.
whole_mpis = pytest.mark.parametrize(
    "mpi",
    [
        pytest.param(mpi, marks=[] if mpi is MPICH else [pytest.mark.whole], id=mpi.name)
        for mpi in MAIN
    ],
)


def layout_cases(
    firsts: Iterable[Any], layouts: Sequence[Layout], quick: Callable[[Any, Layout], bool]
) -> list[object]:
    """Each of the first (MPIs, or names) on each layout; the quick ones make a short form."""
    return [
        pytest.param(
            first,
            layout,
            marks=[] if quick(first, layout) else [pytest.mark.whole],
            id=f"{getattr(first, 'name', first)} {layout}",
        )
        for first in firsts
        for layout in layouts
    ]


def lines_of(output: str) -> list[str]:
    """The lines of a run, but one: Open MPI's launcher may come too late to make its child a group
    of its own, and says so."""
    return [line for line in output.splitlines() if "Warning: setpgid(" not in line]


def changed_on(ranks: str, change: str) -> Sequence[str]:
    """What starts a program so that `change`, of the shell, is made on these ranks: "0|3"."""
    script = f'case "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" in {ranks}) {change};; esac; exec "$@"'
    return ["sh", "-c", script, "sh"]

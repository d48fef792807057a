# SPDX-License-Identifier: BSD-3-Clause
"""Which MPIs and layouts a test runs on, in each `make test` and with `--whole`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from rig.launchers import Layout
from rig.mpis import MAIN, MPICH

SEVERAL = "its ranks are on several nodes"  # why such calls are left to the MPI
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

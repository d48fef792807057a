# SPDX-License-Identifier: BSD-3-Clause
"""Which TCP connections Tutti's collectives open between hosts.

MPICH is on libfabric here: as it comes it connects all ranks in MPI_Init.
"""

from __future__ import annotations

import pytest
from cases import layout_cases
from records.nodes_connections import (
    BY_ALL,
    BY_LEADERS,
    LARGE_ALLREDUCE,
    LEFT,
    MEETING,
    MPIS,
    TUTTI,
    count,
    lowest,
    most_of_a_host,
)
from rig.cluster import Cluster
from rig.launchers import Layout

# Of so many ranks MPI_Init leaves most pairs without a connection.
SHORT = Layout((4, 4))
LAYOUTS = [SHORT, Layout((2, 2, 2, 2)), Layout((4, 4, 4, 4)), Layout((5, 4, 3))]
NAMES = [name for name in MPIS if name != "MPICH"]
CASES = layout_cases(NAMES, LAYOUTS, lambda _, layout: layout is SHORT)


@pytest.mark.parametrize(("name", "layout"), CASES)
def test_leaders_alone(cluster: Cluster, name: str, layout: Layout) -> None:
    """In all, a host gets one connection with each other host, or less if MPI_Init made them. Its
    second leader gets two more along a ring, one with the host before and one with the next."""
    from_last = "Bcast-from-last:8"
    found = count(cluster, name, layout, TUTTI, [*BY_LEADERS, from_last, BY_ALL])
    leaders = lowest(layout)
    # The members of the first call meet by the MPI's own Iallreduce, in which ranks that are no
    # leaders may connect.
    of_meeting = count(cluster, name, layout, LEFT, [MEETING])[MEETING]
    first = BY_LEADERS[0]
    found[first] = [p for p in found[first] if set(p) <= leaders or p not in of_meeting]
    for call in BY_LEADERS:
        its_leaders = lowest(layout, 2) if call == LARGE_ALLREDUCE else leaders
        assert {rank for pair in found[call] for rank in pair} <= its_leaders, found
    pairs = [pair for call in BY_LEADERS for pair in found[call]]
    of_first = [pair for pair in pairs if set(pair) <= leaders]
    assert most_of_a_host(layout, of_first) <= len(layout.counts) - 1, found
    assert most_of_a_host(layout, [pair for pair in pairs if pair not in of_first]) <= 2, found
    root = sum(layout.counts) - 1
    assert {rank for pair in found[from_last] for rank in pair} <= leaders | {root}, found
    # Each rank sends for itself. If all were connected before, nothing above could fail.
    assert found[BY_ALL], found

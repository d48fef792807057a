# SPDX-License-Identifier: BSD-3-Clause
"""Particles that scatter in a cube, and how often they do in each cell of it: after every batch one
Reduce adds up what the ranks' particles have left behind.

    mpirun -n 2 python tally.py

It prints the mean number of collisions, and its standard error, in the cell in the middle and all.
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

SIDE, BATCHES, PARTICLES, COLLISIONS = 128, 300, 4_000, 6

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
cells = SIDE**3
tally, batch = np.empty(cells), np.empty(cells)
total, squares = np.zeros(cells), np.zeros(cells)
mine = range(PARTICLES * rank // ranks, PARTICLES * (rank + 1) // ranks)
for number in range(BATCHES):
    random = np.random.default_rng((number, rank))
    place = np.full((len(mine), 3), 0.5)
    tally[:] = 0
    for _ in range(COLLISIONS):
        direction = random.normal(size=place.shape)
        direction /= np.linalg.norm(direction, axis=1)[:, None]
        place += direction * random.exponential(0.1, len(place))[:, None]
        place = place[np.all((place >= 0) & (place < 1), axis=1)]  # the others have left
        at = (place * SIDE).astype(np.int64)
        np.add.at(tally, (at[:, 0] * SIDE + at[:, 1]) * SIDE + at[:, 2], 1.0)
    comm.Reduce(tally, batch, root=0)
    if rank == 0:
        total += batch
        squares += batch * batch
if rank == 0:
    middle = (cells + SIDE * SIDE + SIDE) // 2
    error = np.sqrt((squares[middle] / BATCHES - (total[middle] / BATCHES) ** 2) / BATCHES)
    print(f"middle {total[middle] / BATCHES:.6f} +- {error:.6f}, all {total.sum() / BATCHES:.6f}")

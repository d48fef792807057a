# SPDX-License-Identifier: BSD-3-Clause
"""PageRank of a random graph whose links are shared out: each step one Allreduce adds up what every
rank's links give to all pages.

    mpirun -n 2 python pagerank.py

It prints how many steps it took, and the largest rank of a page.
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI
from scipy.sparse import csc_matrix

PAGES, LINKS, DAMPING = 1 << 20, 4, 0.85

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
mine = slice(PAGES * rank // ranks, PAGES * (rank + 1) // ranks)  # the pages whose links are here
random = np.random.default_rng(1)
# Links lead near by, and a few to pages that everybody knows.
targets = np.arange(PAGES)[:, None] + random.integers(-1000, 1000, (PAGES, LINKS))
known = random.random((PAGES, LINKS)) < 0.1
targets = np.where(known, random.integers(0, 1000, (PAGES, LINKS)), targets)[mine] % PAGES
begins = np.arange(0, targets.size + 1, LINKS)
links = csc_matrix(
    (np.full(targets.size, 1 / LINKS), targets.ravel(), begins), (PAGES, len(targets))
)

value = np.full(PAGES, 1 / PAGES)
given, total = np.empty(PAGES), np.empty(PAGES)
steps, change = 0, 1.0
while change > 1e-15:
    given[:] = links @ value[mine]
    comm.Allreduce(given, total)
    total *= DAMPING
    total += (1 - DAMPING) / PAGES
    change = np.abs(total - value).max()
    value, total = total, value
    steps += 1
if rank == 0:
    print(f"steps {steps} largest {value.max():.9e}")

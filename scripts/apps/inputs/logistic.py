# SPDX-License-Identifier: BSD-3-Clause
"""Logistic regression on hashed words: every rank has some of the texts, and each step one
Allreduce adds up the gradient, a number for every place that a word may hash to.

    mpirun -n 2 python logistic.py

It prints the loss of the last step.
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI
from scipy.sparse import csr_matrix
from scipy.special import expit

PLACES, TEXTS, WORDS, STEPS, RATE = 1 << 20, 4000, 60, 500, 0.05

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
random = np.random.default_rng(1)
mine = slice(TEXTS * rank // ranks, TEXTS * (rank + 1) // ranks)
# Few words are in most texts, and most words in few.
words = (random.zipf(1.3, (TEXTS, WORDS)) * 2654435761 % PLACES)[mine]
labels = random.integers(0, 2, TEXTS)[mine]
texts = csr_matrix(
    (np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, WORDS)), (len(words), PLACES)
)
transposed = texts.T.tocsr()

weights = np.zeros(PLACES)
gradient, total = np.empty(PLACES + 1), np.empty(PLACES + 1)
for _ in range(STEPS):
    likely = expit(texts @ weights)
    gradient[:PLACES] = transposed @ (likely - labels)
    gradient[PLACES] = -np.sum(np.log(np.where(labels == 1, likely, 1 - likely)))
    comm.Allreduce(gradient, total)
    weights -= RATE / TEXTS * total[:PLACES]
if rank == 0:
    print(f"loss {total[PLACES] / TEXTS:.12f}")

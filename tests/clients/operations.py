# SPDX-License-Identifier: BSD-3-Clause
"""Reductions with operations in Python, on threads of the program alone; of mpi4py.

operations.py
"""

from __future__ import annotations

import array
import threading

from mpi4py import MPI

comm = MPI.COMM_WORLD
threads = {threading.main_thread()}  # that the function has run on


def after(left: memoryview, right: memoryview, datatype: MPI.Datatype) -> None:
    """Maps x*a + b one after the other, modulo 251, which does not commute."""
    threads.add(threading.current_thread())
    assert datatype.Get_size() == 8
    x, y = (memoryview(each).cast("B").cast("i") for each in (left, right))
    for i in range(0, len(y), 2):
        a, b = y[i], y[i + 1]
        y[i], y[i + 1] = x[i] * a % 251, (x[i] * b + x[i + 1]) % 251


def operand(rank: int, count: int) -> array.array:
    return array.array("i", [(rank * 17 + i * 3 + 1) % 251 for i in range(2 * count)])


def result(last: int, count: int, pair: MPI.Datatype) -> array.array:
    sum_ = operand(last - 1, count)
    for rank in range(last - 2, -1, -1):
        after(operand(rank, count), sum_, pair)
    return sum_


def main() -> None:
    pair = MPI.INT.Create_contiguous(2).Commit()
    op = MPI.Op.Create(after, commute=False)
    wrong = 0
    for count in (1, 100, 5000):
        mine = operand(comm.rank, count)
        every, prefix = (array.array("i", bytes(8 * count)) for _ in range(2))
        requests = [
            comm.Iallreduce([mine, count, pair], [every, count, pair], op),
            comm.Iscan([mine, count, pair], [prefix, count, pair], op),
        ]
        MPI.Request.Waitall(requests)
        wrong += every != result(comm.size, count, pair)
        wrong += prefix != result(comm.rank + 1, count, pair)
        comm.Allreduce(MPI.IN_PLACE, [mine, count, pair], op)
        wrong += mine != every
    op.Free()
    pair.Free()
    print(f"rank {comm.rank}: operations: {wrong + len(threads) - 1} wrong", flush=True)


main()

# SPDX-License-Identifier: BSD-3-Clause
"""Collectives and messages as mpi4py programs call them.

tooled.py [OBJECT first|last]    opens a tool before or after MPI is imported
"""

import ctypes
import sys
from array import array

tool = sys.argv[1:]
if "first" in tool:
    ctypes.CDLL(tool[0], ctypes.RTLD_GLOBAL)

from mpi4py import MPI  # noqa: E402

if "last" in tool:
    ctypes.CDLL(tool[0], ctypes.RTLD_GLOBAL)

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
wrong = 0


def ints(value: int, count: int = 1) -> array:
    return array("i", [value] * count)


for comm in (world, world.Dup(), world.Split(0, rank)):
    comm.Barrier()
    told = ints(rank + 5, 1000)
    comm.Bcast(told, 0)
    result = ints(0)
    comm.Allreduce(ints(1), result)
    wrong += told[999] != 5 or result[0] != size
    comm.Reduce(ints(1), result, root=0)
    comm.Gather(ints(rank), ints(0, size))
    comm.Gatherv(ints(rank), [ints(0, size), [1] * size, list(range(size)), MPI.INT])
    comm.Scatter(ints(rank, size), result)
    comm.Scatterv([ints(rank, size), [1] * size, list(range(size)), MPI.INT], result)
    all_ranks = ints(0, size)
    comm.Allgather(ints(rank), all_ranks)
    wrong += list(all_ranks) != list(range(size))
    comm.Allgatherv(ints(rank), [all_ranks, [1] * size])
    comm.Alltoall(ints(rank, size), all_ranks)
    comm.Alltoallv([ints(rank, size), [1] * size], [all_ranks, [1] * size])
    comm.Reduce_scatter(ints(1, size), result, [1] * size)
    comm.Reduce_scatter_block(ints(1, size), result)
    comm.Scan(ints(1), result)
    wrong += result[0] != rank + 1
    comm.Exscan(ints(1), result)
    comm.Ibarrier().Wait()
    one = ints(1)  # mpi4py 4.1.2 does not keep what Iallreduce is given
    comm.Iallreduce(one, result).Wait()
    wrong += result[0] != size
    more = [
        comm.Ibcast(told, 0),
        comm.Ialltoallv([ints(1, size), [1] * size], [all_ranks, [1] * size]),
    ]
    MPI.Request.Waitall(more)
    wrong += comm.allreduce(rank) != sum(range(size))
    wrong += comm.bcast({"a": rank}, 0) != {"a": 0}
    wrong += comm.allgather(rank) != list(range(size))
    wrong += comm.sendrecv(rank, rank ^ 1, source=rank ^ 1) != rank ^ 1

block = MPI.Alloc_mem(1 << 16)
MPI.Free_mem(block)
wrong = world.allreduce(int(wrong), MPI.MAX)
if rank == 0:
    print(f"tooled: {wrong} wrong")

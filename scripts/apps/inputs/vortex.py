# SPDX-License-Identifier: BSD-3-Clause
"""A Taylor-Green vortex that decays: a spectral solver of the Navier-Stokes equations in a periodic
box. A transform is one of planes, an Alltoallw that turns slabs of x into slabs of y where they
lie, and one along x.

    mpirun -n 2 python vortex.py

It prints the kinetic energy at the end, and how fast it is lost.
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI
from scipy.fft import fft, ifft, irfft2, rfft2

POINTS, STEPS, STEP, VISCOSITY = 96, 8, 0.01, 1 / 1600

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
HALF = POINTS // 2 + 1  # waves along z of what is real
mine = slice(POINTS * rank // ranks, POINTS * (rank + 1) // ranks)
extent = mine.stop - mine.start

slab = np.empty((extent, POINTS, HALF), complex)  # a part of x, all y
turned = np.empty((POINTS, extent, HALF), complex)  # all x, a part of y


def parts_of(array: np.ndarray, axis: int) -> list[MPI.Datatype]:
    """What of the array goes to each rank: its part along this axis."""
    types = []
    for other in range(ranks):
        begin, end = POINTS * other // ranks, POINTS * (other + 1) // ranks
        sizes, starts = list(array.shape), [0, 0, 0]
        sizes[axis], starts[axis] = end - begin, begin
        types.append(MPI.DOUBLE_COMPLEX.Create_subarray(array.shape, sizes, starts).Commit())
    return types


ones, zeros = [1] * ranks, [0] * ranks
of_slab = [slab, ones, zeros, parts_of(slab, 1)]
of_turned = [turned, ones, zeros, parts_of(turned, 0)]


def to_waves(field: np.ndarray) -> np.ndarray:
    slab[:] = rfft2(field, axes=(1, 2))
    comm.Alltoallw(of_slab, of_turned)
    return fft(turned, axis=0)


def to_space(waves: np.ndarray) -> np.ndarray:
    turned[:] = ifft(waves, axis=0)
    comm.Alltoallw(of_turned, of_slab)
    return irfft2(slab, s=(POINTS, POINTS), axes=(1, 2))


waves = np.fft.fftfreq(POINTS, 1 / POINTS)
kx, ky, kz = np.meshgrid(waves, waves[mine], np.arange(HALF), indexing="ij", sparse=True)
squared = kx**2 + ky**2 + kz**2
inverse = 1 / np.where(squared == 0, 1, squared)
least = POINTS / 3  # what a product makes of shorter waves is wrong
kept = (abs(kx) < least) & (abs(ky) < least) & (kz < least)


def change_of(velocity: list[np.ndarray]) -> list[np.ndarray]:
    a, b, c = velocity
    turning = [1j * (ky * c - kz * b), 1j * (kz * a - kx * c), 1j * (kx * b - ky * a)]
    u, v, w = map(to_space, velocity)
    r, s, t = map(to_space, turning)
    forces = [kept * to_waves(f) for f in (v * t - w * s, w * r - u * t, u * s - v * r)]
    pressure = (kx * forces[0] + ky * forces[1] + kz * forces[2]) * inverse
    return [
        force - k * pressure - VISCOSITY * squared * before
        for force, k, before in zip(forces, (kx, ky, kz), velocity)
    ]


def energy_of(velocity: list[np.ndarray]) -> float:
    mine_of_it = sum((to_space(each) ** 2).sum() for each in velocity)
    return 0.5 * comm.allreduce(mine_of_it) / POINTS**3


along = 2 * np.pi * np.arange(POINTS) / POINTS
x, y, z = np.meshgrid(along[mine], along, along, indexing="ij", sparse=True)
start = (np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z), 0 * x * y * z)
velocity = [to_waves(each) for each in start]
energies = [energy_of(velocity)]
for _ in range(STEPS):  # Runge and Kutta's of second order
    halfway = [v + STEP / 2 * c for v, c in zip(velocity, change_of(velocity))]
    velocity = [v + STEP * c for v, c in zip(velocity, change_of(halfway))]
    energies.append(energy_of(velocity))
if rank == 0:
    lost = (energies[-2] - energies[-1]) / STEP
    print(f"energy {energies[-1]:.9e} lost {lost:.6e}")

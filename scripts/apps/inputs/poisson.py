# SPDX-License-Identifier: BSD-3-Clause
"""DOLFINx: Poisson's equation on the unit cube with finite elements, solved by multigrid.

    mpirun -n 2 python poisson.py FORMS [SIDE]

The forms are compiled into the folder FORMS, unless they are there. It prints how far the solution
is from the right one, sin(pi x) sin(pi y) sin(pi z).
"""

from __future__ import annotations

import sys

import numpy as np
import ufl
from dolfinx import fem, mesh
from mpi4py import MPI
from petsc4py import PETSc

jit = {"cache_dir": sys.argv[1]}
side = int(sys.argv[2]) if len(sys.argv) > 2 else 34

cube = mesh.create_unit_cube(MPI.COMM_WORLD, side, side, side)
space = fem.FunctionSpace(cube, ("Lagrange", 1))
right = fem.Function(space)
right.interpolate(lambda at: np.prod(np.sin(np.pi * at), axis=0))
u, v = ufl.TrialFunction(space), ufl.TestFunction(space)

faces = mesh.locate_entities_boundary(cube, 2, lambda at: np.full(at.shape[1], True))
wall = fem.dirichletbc(PETSc.ScalarType(0), fem.locate_dofs_topological(space, 2, faces), space)
problem = fem.petsc.LinearProblem(
    ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx,
    3 * ufl.pi**2 * right * v * ufl.dx,
    bcs=[wall],
    petsc_options={"ksp_type": "cg", "pc_type": "gamg", "ksp_rtol": 1e-10},
    jit_params=jit,
)
found = problem.solve()
off = fem.form((found - right) ** 2 * ufl.dx, jit_params=jit)
total = cube.comm.allreduce(fem.assemble_scalar(off))
if cube.comm.rank == 0:
    print(f"cells {cube.topology.index_map(3).size_global} off by {total**0.5:.9e}")

# SPDX-License-Identifier: BSD-3-Clause
"""SLEPc: how a drum of the shape of a box swings: the smallest eigenvalues of a Laplacian.

    mpirun -n 2 python modes.py

Krylov-Schur makes each new vector orthogonal to all before: Allreduce of up to some hundred bytes.
It prints the eigenvalues.
"""

from __future__ import annotations

from petsc4py import PETSc
from slepc4py import SLEPc

WIDE, DEEP, HIGH = 36, 34, 32  # no two sides alike: no two eigenvalues either

matrix = PETSc.Mat().createAIJ((WIDE * DEEP * HIGH,) * 2, nnz=(7, 7))
begin, end = matrix.getOwnershipRange()
for row in range(begin, end):
    x, y, z = row % WIDE, row // WIDE % DEEP, row // WIDE // DEEP
    matrix[row, row] = 6
    for place, side, step in ((x, WIDE, 1), (y, DEEP, WIDE), (z, HIGH, WIDE * DEEP)):
        if place > 0:
            matrix[row, row - step] = -1
        if place < side - 1:
            matrix[row, row + step] = -1
matrix.assemble()

solver = SLEPc.EPS().create()
solver.setOperators(matrix)
solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
solver.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
solver.setDimensions(4, 32)
solver.setTolerances(1e-9, 10000)
solver.solve()
found = [solver.getEigenvalue(n).real for n in range(4)]
PETSc.Sys.Print(f"restarts {solver.getIterationNumber()}")
PETSc.Sys.Print("\n".join(f"eigenvalue {each:.9f}" for each in found))

/* SPDX-License-Identifier: BSD-3-Clause */
/* PETSc: Poisson's equation in a cube by conjugate gradients, once with Jacobi's preconditioner
 * (two Allreduce of 8 bytes a step), once with algebraic multigrid (a setup with many collectives).
 *
 *     mpicc diffusion.c $(pkg-config --cflags --libs PETSc) && mpirun -n 2 ./a.out
 *
 * It prints how many steps each took, and the norm of what it found. */

#include <petscdmda.h>
#include <petscksp.h>
#include <stdbool.h>

enum { SIDE = 64 };

/* Seven points; the walls are zero. */
static PetscErrorCode fill(KSP solver, Mat matrix, Mat preconditioned, void* unused) {
  (void)matrix, (void)unused;
  DM grid;
  DMDALocalInfo at;
  PetscCall(KSPGetDM(solver, &grid));
  PetscCall(DMDAGetLocalInfo(grid, &at));
  for (int z = at.zs; z < at.zs + at.zm; ++z)
    for (int y = at.ys; y < at.ys + at.ym; ++y)
      for (int x = at.xs; x < at.xs + at.xm; ++x) {
        const int to[7][3] = {{x, y, z},     {x - 1, y, z}, {x + 1, y, z}, {x, y - 1, z},
                              {x, y + 1, z}, {x, y, z - 1}, {x, y, z + 1}};
        MatStencil row = {.i = x, .j = y, .k = z}, columns[7];
        PetscScalar values[7];
        int count = 0;
        for (int n = 0; n < 7; ++n) {
          bool inside = true;
          for (int d = 0; d < 3; ++d) inside = inside && to[n][d] >= 0 && to[n][d] < SIDE;
          if (!inside) continue;
          columns[count] = (MatStencil){.i = to[n][0], .j = to[n][1], .k = to[n][2]};
          values[count++] = n == 0 ? 6 : -1;
        }
        PetscCall(
            MatSetValuesStencil(preconditioned, 1, &row, count, columns, values, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(preconditioned, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(preconditioned, MAT_FINAL_ASSEMBLY));
  return 0;
}

static PetscErrorCode heat(KSP solver, Vec given, void* unused) {
  (void)solver, (void)unused;
  return VecSet(given, 1.0 / (SIDE + 1) / (SIDE + 1));
}

static PetscErrorCode solve(DM grid, PCType kind) {
  KSP solver;
  PC preconditioner;
  Vec found;
  PetscReal norm;
  PetscInt steps;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
  PetscCall(KSPSetDM(solver, grid));
  PetscCall(KSPSetComputeOperators(solver, fill, NULL));
  PetscCall(KSPSetComputeRHS(solver, heat, NULL));
  PetscCall(KSPSetType(solver, KSPCG));
  PetscCall(KSPGetPC(solver, &preconditioner));
  PetscCall(PCSetType(preconditioner, kind));
  PetscCall(KSPSetTolerances(solver, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  PetscCall(KSPSolve(solver, NULL, NULL));
  PetscCall(KSPGetSolution(solver, &found));
  PetscCall(VecNorm(found, NORM_2, &norm));
  PetscCall(KSPGetIterationNumber(solver, &steps));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: steps %d norm %.9e\n", kind, (int)steps, norm));
  return KSPDestroy(&solver);
}

int main(int argc, char** argv) {
  DM grid;
  const DMBoundaryType wall = DM_BOUNDARY_NONE;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, wall, wall, wall, DMDA_STENCIL_STAR, SIDE, SIDE, SIDE,
                         PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &grid));
  PetscCall(DMSetUp(grid));
  PetscCall(solve(grid, PCJACOBI));
  PetscCall(solve(grid, PCGAMG));
  PetscCall(DMDestroy(&grid));
  return PetscFinalize();
}

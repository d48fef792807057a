! SPDX-License-Identifier: BSD-3-Clause
! MUMPS: a Laplacian in a cube, factorized. Each rank gives the rows of some layers.
!
!     mpif90 elimination.f90 -I/usr/include -ldmumps && mpirun -n 2 ./a.out
!
! It prints the sum of what it found, and how far the equations are from right.
program elimination
  use mpi
  implicit none
  include 'dmumps_struc.h'
  integer, parameter :: side = 34, unknowns = side**3
  type(dmumps_struc) :: solver
  integer :: error, rank, ranks, x, y, z, row
  integer(8) :: used

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  solver%comm = MPI_COMM_WORLD
  solver%sym = 1  ! positive definite: one half is given
  solver%par = 1  ! the first rank works, too
  call step(-1)
  solver%icntl(1:4) = [6, 0, 0, 1]  ! errors and nothing else is printed
  solver%icntl(11) = 2  ! ask for the residual
  solver%icntl(18) = 3  ! the matrix is shared out
  solver%n = unknowns
  allocate(solver%irn_loc(4*unknowns), solver%jcn_loc(4*unknowns), solver%a_loc(4*unknowns))
  used = 0
  do z = side*rank/ranks, side*(rank + 1)/ranks - 1
    do y = 0, side - 1
      do x = 0, side - 1
        row = 1 + x + side*(y + side*z)
        call add(row, row, 6d0)
        if (x > 0) call add(row, row - 1, -1d0)
        if (y > 0) call add(row, row - side, -1d0)
        if (z > 0) call add(row, row - side*side, -1d0)
      end do
    end do
  end do
  solver%nnz_loc = used
  if (rank == 0) allocate(solver%rhs(unknowns), source=1d0)
  call step(6)  ! analyse, factorize, solve
  if (rank == 0) print '(a, es18.10, a, es9.2)', 'sum', sum(solver%rhs), ' residual', solver%rinfog(6)
  deallocate(solver%irn_loc, solver%jcn_loc, solver%a_loc)
  if (rank == 0) deallocate(solver%rhs)
  call step(-2)
  call MPI_Finalize(error)

contains

  subroutine add(i, j, value)
    integer, intent(in) :: i, j
    double precision, intent(in) :: value
    used = used + 1
    solver%irn_loc(used) = i
    solver%jcn_loc(used) = j
    solver%a_loc(used) = value
  end subroutine

  subroutine step(what)
    integer, intent(in) :: what
    solver%job = what
    call dmumps(solver)
    if (solver%infog(1) < 0) call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine

end program

! SPDX-License-Identifier: BSD-3-Clause
! Reductions with an operation of the program's own, which does not
! commute: maps x*a + b after one another, modulo 251, which are pairs of
! integers. In the style that USE_MPIF, USE_MPI or USE_MPI_F08 chooses;
! fixed and free form alike. Prints "fortran: N wrong".
#if defined(USE_MPI_F08)
#define OP_TYPE type(MPI_Op)
#define DATATYPE_TYPE type(MPI_Datatype)
#define REQUEST_TYPE type(MPI_Request)
#else
#define OP_TYPE integer
#define DATATYPE_TYPE integer
#define REQUEST_TYPE integer
#endif

      module maps
      implicit none
      contains
      subroutine after(left, right, n)
        integer, intent(in) :: n
        integer, intent(in) :: left(2, n)
        integer, intent(inout) :: right(2, n)
        integer :: i
        do i = 1, n
          right(2, i) = mod(left(1, i) * right(2, i) + left(2, i), 251)
          right(1, i) = mod(left(1, i) * right(1, i), 251)
        end do
      end subroutine
#if defined(USE_MPI_F08)
      subroutine compose(in, inout, n, datatype)
        use mpi_f08
        use, intrinsic :: iso_c_binding
        type(c_ptr), value :: in, inout
        integer :: n
        type(MPI_Datatype) :: datatype
        integer, pointer :: left(:, :), right(:, :)
        call c_f_pointer(in, left, [2, n])
        call c_f_pointer(inout, right, [2, n])
        call after(left, right, n)
      end subroutine
#else
      subroutine compose(in, inout, n, datatype)
        integer :: n, datatype
        integer :: in(2, n), inout(2, n)
        call after(in, inout, n)
      end subroutine
#endif
      end module

      program operations
#if defined(USE_MPI_F08)
      use mpi_f08
#elif defined(USE_MPI)
      use mpi
#endif
      use maps
      implicit none
#if defined(USE_MPIF)
      include 'mpif.h'
#endif
      integer, parameter :: sizes(4) = [1, 50, 3000, 100000]
      integer, allocatable, asynchronous :: mine(:, :), all(:, :)
      integer, allocatable :: want(:, :)
      integer, allocatable :: next(:, :)
      integer :: rank, ranks, wrong, total, ierr, i, k, q, n
      OP_TYPE :: op, other
      REQUEST_TYPE :: request
      DATATYPE_TYPE :: pair
      call MPI_Init(ierr)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
      call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
      call MPI_Type_contiguous(2, MPI_INTEGER, pair, ierr)
      call MPI_Type_commit(pair, ierr)
      call MPI_Op_create(compose, .false., op, ierr)
      wrong = 0
      do k = 1, size(sizes)
        n = sizes(k)
        allocate (mine(2, n), all(2, n), want(2, n), next(2, n))
        call operand(rank, n, mine)
        call operand(ranks - 1, n, want)
        do q = ranks - 2, 0, -1
          call operand(q, n, next)
          call after(next, want, n)
        end do
        all = -1
        call MPI_Allreduce(mine, all, n, pair, op, MPI_COMM_WORLD, ierr)
        if (any(all /= want)) wrong = wrong + 1
        all = -1
        call MPI_Op_create(compose, .false., other, ierr)
        call MPI_Iallreduce(mine, all, n, pair, other, MPI_COMM_WORLD,    &
     &    request, ierr)
        call MPI_Op_free(other, ierr)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
        if (any(all /= want)) wrong = wrong + 1
        all = -1
        call MPI_Reduce(mine, all, n, pair, op, 0, MPI_COMM_WORLD, ierr)
        if (rank == 0 .and. any(all /= want)) wrong = wrong + 1
        call operand(rank, n, want)
        do q = rank - 1, 0, -1
          call operand(q, n, next)
          call after(next, want, n)
        end do
        call MPI_Scan(mine, all, n, pair, op, MPI_COMM_WORLD, ierr)
        if (any(all /= want)) wrong = wrong + 1
        all = -1
        call MPI_Iscan(mine, all, n, pair, op, MPI_COMM_WORLD, request,   &
     &    ierr)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
        if (any(all /= want)) wrong = wrong + 1
        deallocate (mine, all, want, next)
      end do
      call MPI_Op_free(op, ierr)
      call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM,           &
     &  MPI_COMM_WORLD, ierr)
      if (rank == 0) print '(a, i0, a)', 'fortran: ', total, ' wrong'
      call MPI_Finalize(ierr)

      contains
      subroutine operand(q, n, values)
        integer, intent(in) :: q, n
        integer, intent(out) :: values(2, n)
        integer :: i
        do i = 1, n
          values(1, i) = mod(q * 17 + i * 3 + 1, 251)
          values(2, i) = mod(q * 29 + i * 7, 251)
        end do
      end subroutine
      end program

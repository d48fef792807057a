! SPDX-License-Identifier: BSD-3-Clause
! The collectives as Fortran programs call them, checked here, in the
! style that USE_MPIF, USE_MPI or USE_MPI_F08 chooses. Nothing is to
! the left of column 7 or right of 72: it is fixed and free form alike.
!
! Prints "called NAME COUNT" for each collective, of which all should be
! taken, and at last "fortran: N wrong". A check of another collective is
! a subroutine and a line in check_all.
#if defined(USE_MPI_F08)
#define COMM_TYPE type(MPI_Comm)
#define DATATYPE_TYPE type(MPI_Datatype)
#else
#define COMM_TYPE integer
#define DATATYPE_TYPE integer
#endif

      program collectives
#if defined(USE_MPI_F08)
      use mpi_f08
#elif defined(USE_MPI)
      use mpi
#endif
      use, intrinsic :: iso_c_binding
      implicit none
#if defined(USE_MPIF)
      include 'mpif.h'
#endif
      integer, parameter :: most = 30
      character(20) :: names(most)
      integer :: counts(most), known, ranks, rank, wrong, total, ierr, i
      COMM_TYPE :: copy
#if defined(USE_MPI)
      integer :: provided
      call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
#else
      call MPI_Init(ierr)
#endif
      known = 0
      wrong = 0
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
      call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
      call check_all(MPI_COMM_WORLD)
      call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
      call check_all(copy)
      call MPI_Comm_free(copy, ierr)

      call called('Allreduce')
      call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM,           &
     &  MPI_COMM_WORLD, ierr)
      if (rank == 0) then
        do i = 1, known
          print '(a, a, i0)', 'called ', names(i), counts(i)
        end do
        print '(a, i0, a)', 'fortran: ', total, ' wrong'
      end if
      call MPI_Finalize(ierr)

      contains

      subroutine check_all(comm)
      COMM_TYPE, intent(in) :: comm
      call check_barrier(comm)
      call check_bcast(comm)
      call check_bcast_section(comm)
      call check_bcast_bottom(comm)
      call check_reduce(comm)
      call check_allreduce(comm)
      call check_allreduce_types(comm)
      call check_allreduce_section(comm)
      call check_memory(comm)
      end subroutine

      subroutine called(name)
      character(*), intent(in) :: name
      integer :: n
      do n = 1, known
        if (names(n) == name) exit
      end do
      if (n > known) then
        known = n
        names(n) = name
        counts(n) = 0
      end if
      counts(n) = counts(n) + 1
      end subroutine

      subroutine expect(right)
      logical, intent(in) :: right
      if (.not. right .or. ierr /= MPI_SUCCESS) wrong = wrong + 1
      end subroutine

      subroutine check_barrier(comm)
      COMM_TYPE, intent(in) :: comm
      call called('Barrier')
      call MPI_Barrier(comm, ierr)
      call expect(.true.)
      end subroutine

      subroutine check_bcast(comm)
      COMM_TYPE, intent(in) :: comm
      integer, allocatable :: values(:)
      integer :: root, length
      length = 1
      do while (length <= 300000)
        allocate(values(length))
        do root = 0, ranks - 1
          values = -1
          if (rank == root) values = length + root
          call called('Bcast')
          call MPI_Bcast(values, length, MPI_INTEGER, root, comm, ierr)
          call expect(all(values == length + root))
        end do
        deallocate(values)
        length = length * 60
      end do
      end subroutine

!     A part of a matrix, whose other elements must stay as they are.
      subroutine check_bcast_section(comm)
      COMM_TYPE, intent(in) :: comm
      double precision :: matrix(10, 20)
      matrix = rank
      if (rank == 0) matrix(3:8:2, :) = 7
      call called('Bcast')
      call MPI_Bcast(matrix(3:8:2, :), 60, MPI_DOUBLE_PRECISION, 0,       &
     &  comm, ierr)
      call expect(all(matrix(3:8:2, :) == 7))
      call expect(all(matrix(4:8:2, :) == rank))
      call expect(all(matrix(:2, :) == rank))
      end subroutine

!     Two arrays by their addresses.
      subroutine check_bcast_bottom(comm)
      COMM_TYPE, intent(in) :: comm
      integer, volatile, save :: few(5), many(1000)
      integer(MPI_ADDRESS_KIND) :: places(2)
      integer :: lengths(2)
      DATATYPE_TYPE :: both
      few = rank + 1
      many = rank + 2
      lengths(1) = 5
      lengths(2) = 1000
      call MPI_Get_address(few, places(1), ierr)
      call MPI_Get_address(many, places(2), ierr)
      call MPI_Type_create_hindexed(2, lengths, places, MPI_INTEGER,      &
     &  both, ierr)
      call MPI_Type_commit(both, ierr)
      call called('Bcast')
      call MPI_Bcast(MPI_BOTTOM, 1, both, 1, comm, ierr)
      call expect(all(few == 2) .and. all(many == 3))
      call MPI_Type_free(both, ierr)
      end subroutine

      subroutine check_reduce(comm)
      COMM_TYPE, intent(in) :: comm
      integer :: mine(500), sums(500), root
      do root = 0, ranks - 1
        mine = rank + 1
        sums = -1
        call called('Reduce')
        call MPI_Reduce(mine, sums, 500, MPI_INTEGER, MPI_SUM, root,      &
     &    comm, ierr)
        if (rank == root) then
          call expect(all(sums == ranks * (ranks + 1) / 2))
        else
          call expect(all(sums == -1))
        end if
        call called('Reduce')
        if (rank == root) then
          call MPI_Reduce(MPI_IN_PLACE, mine, 500, MPI_INTEGER, MPI_SUM,  &
     &      root, comm, ierr)
          call expect(all(mine == ranks * (ranks + 1) / 2))
        else
          call MPI_Reduce(mine, sums, 500, MPI_INTEGER, MPI_SUM, root,    &
     &      comm, ierr)
          call expect(all(mine == rank + 1) .and. all(sums == -1))
        end if
      end do
      end subroutine

      subroutine check_allreduce(comm)
      COMM_TYPE, intent(in) :: comm
      double precision, allocatable :: mine(:), sums(:)
      integer :: length
      length = 1
      do while (length <= 300000)
        allocate(mine(length), sums(length))
        mine = rank + 1
        call called('Allreduce')
        call MPI_Allreduce(mine, sums, length, MPI_DOUBLE_PRECISION,      &
     &    MPI_SUM, comm, ierr)
        call expect(all(sums == ranks * (ranks + 1) / 2))
        call called('Allreduce')
        call MPI_Allreduce(MPI_IN_PLACE, mine, length,                    &
     &    MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
        call expect(all(mine == sums))
        deallocate(mine, sums)
        length = length * 60
      end do
      end subroutine

      subroutine check_allreduce_types(comm)
      COMM_TYPE, intent(in) :: comm
      logical :: mine(3), both(3)
      double precision :: pair(2), best(2)
      complex :: number, sum
      mine = .true.
      mine(2) = rank == 0
!     The MPI does this one: Tutti has no operations on LOGICAL.
      call MPI_Allreduce(mine, both, 3, MPI_LOGICAL, MPI_LAND, comm,      &
     &  ierr)
      call expect(both(1) .and. .not. both(2) .and. both(3))
      pair(1) = 10 - rank
      pair(2) = rank
      call called('Allreduce')
      call MPI_Allreduce(pair, best, 1, MPI_2DOUBLE_PRECISION,            &
     &  MPI_MINLOC, comm, ierr)
      call expect(best(1) == 11 - ranks .and. best(2) == ranks - 1)
      number = (1, 2)
      call called('Allreduce')
      call MPI_Allreduce(number, sum, 1, MPI_COMPLEX, MPI_SUM, comm,      &
     &  ierr)
      call expect(sum == ranks * (1, 2))
      end subroutine

!     Where the MPI takes descriptors it makes a datatype of a section,
!     for which operations are not defined; elsewhere it sees a copy.
      subroutine check_allreduce_section(comm)
      COMM_TYPE, intent(in) :: comm
      integer :: matrix(10, 20), sums(3, 20)
      if (MPI_SUBARRAYS_SUPPORTED) return
      matrix = rank
      call called('Allreduce')
      call MPI_Allreduce(matrix(3:8:2, :), sums, 60, MPI_INTEGER,         &
     &  MPI_SUM, comm, ierr)
      call expect(all(sums == ranks * (ranks - 1) / 2))
      end subroutine

!     MPI_Alloc_mem, which gives an address or a C pointer.
      subroutine check_memory(comm)
      COMM_TYPE, intent(in) :: comm
      integer(MPI_ADDRESS_KIND), parameter :: bytes = 400000
      type(c_ptr) :: place
      integer, pointer :: values(:)
#if defined(USE_MPIF)
      integer(MPI_ADDRESS_KIND) :: address
      call MPI_Alloc_mem(bytes, MPI_INFO_NULL, address, ierr)
      place = transfer(address, place)
#else
      call MPI_Alloc_mem(bytes, MPI_INFO_NULL, place, ierr)
#endif
      call c_f_pointer(place, values, [100000])
      values = rank
      call called('Allreduce')
      call MPI_Allreduce(MPI_IN_PLACE, values, 100000, MPI_INTEGER,       &
     &  MPI_MAX, comm, ierr)
      call expect(all(values == ranks - 1))
      call MPI_Free_mem(values, ierr)
      call expect(.true.)
      end subroutine

      end program

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
#define REQUEST_TYPE type(MPI_Request)
#define STATUSES type(MPI_Status)
#else
#define COMM_TYPE integer
#define DATATYPE_TYPE integer
#define REQUEST_TYPE integer
#define STATUSES integer, dimension(MPI_STATUS_SIZE)
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
      integer, parameter :: most = 40
      character(24) :: names(most)
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
      integer :: i
      call check_barrier(comm)
      call check_bcast(comm)
      call check_bcast_section(comm)
      call check_bcast_bottom(comm)
      call check_reduce(comm)
      call check_allreduce(comm)
      call check_allreduce_types(comm)
      call check_allreduce_section(comm)
      call check_memory(comm)
      call check_moves(comm, 7)
      call check_moves(comm, 30000)
      call check_listed(comm, 5)
      call check_listed(comm, 20000)
      call check_sums(comm, 9)
      call check_sums(comm, 20000)
      call check_scans(comm, 3)
      call check_scans(comm, 50000)
      call check_rows(comm)
      call check_sections(comm)
      do i = 0, 7
        call check_started(comm, 4, i)
        call check_started(comm, 30000, i)
      end do
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
      call called('Allreduce')
      call MPI_Allreduce(mine, both, 3, MPI_LOGICAL, MPI_LAND, comm,      &
     &  ierr)
      call expect(both(1) .and. .not. both(2) .and. both(3))
      mine(1) = .false.
      call called('Allreduce')
      call MPI_Allreduce(mine, both, 3, MPI_LOGICAL, MPI_LOR, comm,       &
     &  ierr)
      call expect(.not. both(1) .and. both(2) .and. both(3))
      call called('Allreduce')
      call MPI_Allreduce(mine, both, 3, MPI_LOGICAL, MPI_LXOR, comm,      &
     &  ierr)
      call expect(.not. both(1) .and. both(2))
      call expect(both(3) .eqv. mod(ranks, 2) == 1)
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

!     What rank `from` has for rank `to`, at i.
      elemental integer function datum(from, to, i)
      integer, intent(in) :: from, to, i
      datum = 10000 * from + 1000 * to + mod(i, 997)
      end function

      subroutine fill(values, length, from)
      integer, intent(in) :: length, from
      integer, intent(out) :: values(length, 0:ranks - 1)
      integer :: to, i
      do to = 0, ranks - 1
        values(:, to) = [(datum(from, to, i), i = 1, length)]
      end do
      end subroutine

!     Whether the blocks are what each rank had for `to`.
      logical function sent_to(values, length, to)
      integer, intent(in) :: length, to
      integer, intent(in) :: values(length, 0:ranks - 1)
      integer :: from, i
      sent_to = .true.
      do from = 0, ranks - 1
        sent_to = sent_to .and. all(values(:, from) ==                    &
     &    [(datum(from, to, i), i = 1, length)])
      end do
      end function

!     Blocks of one length, and all of these in place.
      subroutine check_moves(comm, n)
      COMM_TYPE, intent(in) :: comm
      integer, intent(in) :: n
      integer, allocatable :: mine(:, :), theirs(:, :)
      integer :: root, i
      allocate(mine(n, 0:ranks - 1), theirs(n, 0:ranks - 1))
      root = ranks - 1
      call fill(mine, n, rank)
      theirs = -1
      call called('Gather')
      call MPI_Gather(mine, n, MPI_INTEGER, theirs, n, MPI_INTEGER,       &
     &  root, comm, ierr)
      if (rank == root) call expect(sent_to(theirs, n, 0))
      theirs = -1
      theirs(:, rank) = mine(:, 0)
      call called('Gather')
      if (rank == root) then
        call MPI_Gather(MPI_IN_PLACE, n, MPI_INTEGER, theirs, n,          &
     &    MPI_INTEGER, root, comm, ierr)
        call expect(sent_to(theirs, n, 0))
      else
        call MPI_Gather(mine, n, MPI_INTEGER, theirs, n, MPI_INTEGER,     &
     &    root, comm, ierr)
      end if
      theirs = -1
      call called('Scatter')
      call MPI_Scatter(mine, n, MPI_INTEGER, theirs, n, MPI_INTEGER,      &
     &  root, comm, ierr)
      call expect(all(theirs(:, 0) ==                                     &
     &  [(datum(root, rank, i), i = 1, n)]))
      theirs = -1
      call called('Scatter')
      if (rank == root) then
        call MPI_Scatter(mine, n, MPI_INTEGER, MPI_IN_PLACE, n,           &
     &    MPI_INTEGER, root, comm, ierr)
        call expect(all(theirs == -1))
      else
        call MPI_Scatter(mine, n, MPI_INTEGER, theirs, n, MPI_INTEGER,    &
     &    root, comm, ierr)
        call expect(all(theirs(:, 0) ==                                   &
     &    [(datum(root, rank, i), i = 1, n)]))
      end if
      theirs = -1
      call called('Allgather')
      call MPI_Allgather(mine, n, MPI_INTEGER, theirs, n, MPI_INTEGER,    &
     &  comm, ierr)
      call expect(sent_to(theirs, n, 0))
      theirs = -1
      theirs(:, rank) = mine(:, 0)
      call called('Allgather')
      call MPI_Allgather(MPI_IN_PLACE, n, MPI_INTEGER, theirs, n,         &
     &  MPI_INTEGER, comm, ierr)
      call expect(sent_to(theirs, n, 0))
      theirs = -1
      call called('Alltoall')
      call MPI_Alltoall(mine, n, MPI_INTEGER, theirs, n, MPI_INTEGER,     &
     &  comm, ierr)
      call expect(sent_to(theirs, n, rank))
      call called('Alltoall')
      call MPI_Alltoall(MPI_IN_PLACE, n, MPI_INTEGER, mine, n,            &
     &  MPI_INTEGER, comm, ierr)
      call expect(sent_to(mine, n, rank))
      end subroutine

!     The forms with lists: rank 0's blocks are shorter by one, and there
!     are gaps between blocks that stay as they are.
      subroutine check_listed(comm, n)
      COMM_TYPE, intent(in) :: comm
      integer, intent(in) :: n
      integer, allocatable :: mine(:, :), theirs(:, :)
      integer :: lengths(0:ranks - 1), places(0:ranks - 1), root, i
      integer :: equal(0:ranks - 1), offsets(0:ranks - 1)
      DATATYPE_TYPE :: types(0:ranks - 1)
      allocate(mine(n, 0:ranks - 1), theirs(n, 0:ranks - 1))
      root = 0
      lengths = n
      lengths(0) = n - 1
      equal = n - 1
      places = [(i * n, i = 0, ranks - 1)]
      offsets = 4 * places
      types = MPI_INTEGER
      call fill(mine, n, rank)
      theirs = -1
      call called('Gatherv')
      call MPI_Gatherv(mine, lengths(rank), MPI_INTEGER, theirs,          &
     &  lengths, places, MPI_INTEGER, root, comm, ierr)
      if (rank == root) then
        call expect(theirs(n, 0) == -1)
        theirs(n, 0) = datum(0, 0, n)
        call expect(sent_to(theirs, n, 0))
      end if
      theirs = -1
      call called('Scatterv')
      call MPI_Scatterv(mine, lengths, places, MPI_INTEGER, theirs,       &
     &  lengths(rank), MPI_INTEGER, root, comm, ierr)
      call expect(all(theirs(:n - 1, 0) ==                                &
     &  [(datum(root, rank, i), i = 1, n - 1)]))
      if (rank == 0) call expect(theirs(n, 0) == -1)
      theirs = -1
      theirs(:, rank) = mine(:, 0)
      call called('Allgatherv')
      call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INTEGER, theirs,           &
     &  lengths, places, MPI_INTEGER, comm, ierr)
      if (rank /= 0) theirs(n, 0) = datum(0, 0, n)
      call expect(sent_to(theirs, n, 0))
      theirs = -1
      call called('Alltoallv')
      call MPI_Alltoallv(mine, equal, places, MPI_INTEGER, theirs,        &
     &  equal, places, MPI_INTEGER, comm, ierr)
      call expect(all(theirs(n, :) == -1))
      theirs(n, :) = [(datum(i, rank, n), i = 0, ranks - 1)]
      call expect(sent_to(theirs, n, rank))
#if !defined(NO_ALLTOALLW)
      theirs = -1
      call called('Alltoallw')
      call MPI_Alltoallw(mine, equal, offsets, types, theirs, equal,      &
     &  offsets, types, comm, ierr)
      theirs(n, :) = [(datum(i, rank, n), i = 0, ranks - 1)]
      call expect(sent_to(theirs, n, rank))
      call called('Alltoallw')
      call MPI_Alltoallw(MPI_IN_PLACE, equal, offsets, types, mine,       &
     &  equal, offsets, types, comm, ierr)
      mine(n, :) = theirs(n, :)
      call expect(sent_to(mine, n, rank))
#endif
      end subroutine

      subroutine check_sums(comm, n)
      COMM_TYPE, intent(in) :: comm
      integer, intent(in) :: n
      double precision, allocatable :: mine(:), sums(:)
      integer :: lengths(0:ranks - 1)
      double precision :: total
      total = ranks * (ranks + 1) / 2
      lengths = n
      lengths(0) = n - 1
      allocate(mine(n * ranks), sums(n))
      mine = rank + 1
      sums = -1
      call called('Reduce_scatter')
      call MPI_Reduce_scatter(mine, sums, lengths,                        &
     &  MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
      call expect(all(sums(:lengths(rank)) == total))
      if (rank == 0) call expect(sums(n) == -1)
      call called('Reduce_scatter_block')
      call MPI_Reduce_scatter_block(mine, sums, n,                        &
     &  MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
      call expect(all(sums == total))
      call called('Reduce_scatter')
      call MPI_Reduce_scatter(MPI_IN_PLACE, mine, lengths,                &
     &  MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
      call expect(all(mine(:lengths(rank)) == total))
      mine = rank + 1
      call called('Reduce_scatter_block')
      call MPI_Reduce_scatter_block(MPI_IN_PLACE, mine, n,                &
     &  MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
      call expect(all(mine(:n) == total))
      end subroutine

      subroutine check_scans(comm, n)
      COMM_TYPE, intent(in) :: comm
      integer, intent(in) :: n
      integer, allocatable :: mine(:), sums(:)
      integer :: before
      before = rank * (rank + 1) / 2
      allocate(mine(n), sums(n))
      mine = rank + 1
      sums = -1
      call called('Scan')
      call MPI_Scan(mine, sums, n, MPI_INTEGER, MPI_SUM, comm, ierr)
      call expect(all(sums == before + rank + 1))
      sums = -1
      call called('Exscan')
      call MPI_Exscan(mine, sums, n, MPI_INTEGER, MPI_SUM, comm, ierr)
      if (rank > 0) call expect(all(sums == before))
      call called('Scan')
      call MPI_Scan(MPI_IN_PLACE, mine, n, MPI_INTEGER, MPI_SUM, comm,    &
     &  ierr)
      call expect(all(mine == before + rank + 1))
      mine = rank + 1
      call called('Exscan')
      call MPI_Exscan(MPI_IN_PLACE, mine, n, MPI_INTEGER, MPI_SUM,        &
     &  comm, ierr)
      if (rank > 0) call expect(all(mine == before))
      end subroutine

!     Rows of a matrix by a derived type, to columns and to rows.
      subroutine check_rows(comm)
      COMM_TYPE, intent(in) :: comm
      integer :: mine(ranks, 50), theirs(ranks, 50), columns(50, ranks)
      integer(MPI_ADDRESS_KIND) :: lower, extent
      DATATYPE_TYPE :: strided, row
      integer :: i
      call MPI_Type_vector(50, 1, ranks, MPI_INTEGER, strided, ierr)
      lower = 0
      extent = 4
      call MPI_Type_create_resized(strided, lower, extent, row, ierr)
      call MPI_Type_commit(row, ierr)
      do i = 1, ranks
        mine(i, :) = 100 * rank + i
      end do
      columns = -1
      call called('Alltoall')
      call MPI_Alltoall(mine, 1, row, columns, 50, MPI_INTEGER, comm,     &
     &  ierr)
      do i = 1, ranks
        call expect(all(columns(:, i) == 100 * (i - 1) + rank + 1))
      end do
      theirs = -1
      call called('Allgather')
      call MPI_Allgather(mine(rank + 1, 1), 1, row, theirs, 1, row,       &
     &  comm, ierr)
      do i = 1, ranks
        call expect(all(theirs(i, :) == 100 * (i - 1) + i))
      end do
      theirs = -1
      call called('Scatter')
      call MPI_Scatter(mine, 1, row, theirs(ranks, 1), 1, row, 0, comm,   &
     &  ierr)
      call expect(all(theirs(ranks, :) == rank + 1))
      call expect(all(theirs(:ranks - 1, :) == -1))
      call MPI_Type_free(row, ierr)
      call MPI_Type_free(strided, ierr)
      end subroutine

!     A section that is sent and one that is received (of one block: of
!     several MPICH makes a type whose extent is not a block's).
      subroutine check_sections(comm)
      COMM_TYPE, intent(in) :: comm
      integer :: mine(10, 20), theirs(60 * ranks), i
      mine = -1
      mine(3:8:2, :) = rank
      theirs = -2
      call called('Gather')
      call MPI_Gather(mine(3:8:2, :), 60, MPI_INTEGER, theirs, 60,        &
     &  MPI_INTEGER, 0, comm, ierr)
      if (rank == 0) call expect(all(theirs ==                            &
     &  [((i - 1) / 60, i = 1, 60 * ranks)]))
      theirs = [((i - 1) / 60, i = 1, 60 * ranks)]
      mine = -1
      call called('Scatter')
      call MPI_Scatter(theirs, 60, MPI_INTEGER, mine(3:8:2, :), 60,       &
     &  MPI_INTEGER, 0, comm, ierr)
      call expect(all(mine(3:8:2, :) == rank))
      call expect(all(mine(4:8:2, :) == -1))
      call expect(all(mine(:2, :) == -1) .and. all(mine(9:, :) == -1))
      end subroutine

!     All of them at once, nonblocking, and completed in the way that is
!     asked for. The buffers are those of the caller's frame to the end.
      subroutine check_started(comm, n, way)
      COMM_TYPE, intent(in) :: comm
      integer, intent(in) :: n, way
      integer, allocatable, asynchronous :: mine(:, :), theirs(:, :)
      integer :: sizes(ranks), places(ranks), offsets(ranks)
      DATATYPE_TYPE :: types(ranks)
      REQUEST_TYPE :: requests(17)
      STATUSES :: state
      integer :: last, i, k, sum, done, indices(17)
      logical :: flag
      allocate(mine(n * ranks, 17), theirs(n * ranks, 17))
      last = ranks - 1
      sum = ranks * last / 2
      do i = 1, ranks
        sizes(i) = n
        places(i) = (i - 1) * n
        offsets(i) = (i - 1) * n * 4
        types(i) = MPI_INTEGER
      end do
      do k = 1, 17
        mine(:, k) = rank + k
        requests(k) = MPI_REQUEST_NULL
      end do
      theirs = -1
      if (rank == 0) theirs(:n, 2) = 42
      call called('Ibarrier')
      call MPI_Ibarrier(comm, requests(1), ierr)
      call called('Ibcast')
      call MPI_Ibcast(theirs(1, 2), n, MPI_INTEGER, 0, comm,              &
     &  requests(2), ierr)
      call called('Ireduce')
      call MPI_Ireduce(mine(1, 3), theirs(1, 3), n, MPI_INTEGER,          &
     &  MPI_SUM, last, comm, requests(3), ierr)
      call called('Iallreduce')
      call MPI_Iallreduce(mine(1, 4), theirs(1, 4), n, MPI_INTEGER,       &
     &  MPI_SUM, comm, requests(4), ierr)
      call called('Igather')
      call MPI_Igather(mine(1, 5), n, MPI_INTEGER, theirs(1, 5), n,       &
     &  MPI_INTEGER, 0, comm, requests(5), ierr)
      call called('Igatherv')
      call MPI_Igatherv(mine(1, 6), n, MPI_INTEGER, theirs(1, 6),         &
     &  sizes, places, MPI_INTEGER, 0, comm, requests(6), ierr)
      call called('Iscatter')
      call MPI_Iscatter(mine(1, 7), n, MPI_INTEGER, theirs(1, 7), n,      &
     &  MPI_INTEGER, 0, comm, requests(7), ierr)
      call called('Iscatterv')
      call MPI_Iscatterv(mine(1, 8), sizes, places, MPI_INTEGER,          &
     &  theirs(1, 8), n, MPI_INTEGER, 0, comm, requests(8), ierr)
      call called('Iallgather')
      call MPI_Iallgather(mine(1, 9), n, MPI_INTEGER, theirs(1, 9),       &
     &  n, MPI_INTEGER, comm, requests(9), ierr)
      call called('Iallgatherv')
      call MPI_Iallgatherv(mine(1, 10), n, MPI_INTEGER, theirs(1,         &
     &  10), sizes, places, MPI_INTEGER, comm, requests(10), ierr)
      call called('Ialltoall')
      call MPI_Ialltoall(mine(1, 11), n, MPI_INTEGER, theirs(1, 11),      &
     &  n, MPI_INTEGER, comm, requests(11), ierr)
      call called('Ialltoallv')
      call MPI_Ialltoallv(mine(1, 12), sizes, places, MPI_INTEGER,        &
     &  theirs(1, 12), sizes, places, MPI_INTEGER, comm, requests(12),    &
     &  ierr)
#if !defined(NO_ALLTOALLW)
      call called('Ialltoallw')
      call MPI_Ialltoallw(mine(1, 13), sizes, offsets, types,             &
     &  theirs(1, 13), sizes, offsets, types, comm, requests(13),         &
     &  ierr)
#endif
      call called('Ireduce_scatter')
      call MPI_Ireduce_scatter(mine(1, 14), theirs(1, 14), sizes,         &
     &  MPI_INTEGER, MPI_SUM, comm, requests(14), ierr)
      call called('Ireduce_scatter_block')
      call MPI_Ireduce_scatter_block(mine(1, 15), theirs(1, 15), n,       &
     &  MPI_INTEGER, MPI_SUM, comm, requests(15), ierr)
      call called('Iscan')
      call MPI_Iscan(mine(1, 16), theirs(1, 16), n, MPI_INTEGER,          &
     &  MPI_SUM, comm, requests(16), ierr)
      call called('Iexscan')
      call MPI_Iexscan(mine(1, 17), theirs(1, 17), n, MPI_INTEGER,        &
     &  MPI_SUM, comm, requests(17), ierr)
      select case (way)
      case (0)
        call MPI_Waitall(17, requests, MPI_STATUSES_IGNORE, ierr)
      case (1)
        do k = 17, 1, -1
          call MPI_Wait(requests(k), state, ierr)
        end do
      case (2)
        do while (pending(requests))
          call MPI_Waitany(17, requests, i, MPI_STATUS_IGNORE, ierr)
        end do
      case (3)
        do while (pending(requests))
          call MPI_Waitsome(17, requests, done, indices,                  &
     &      MPI_STATUSES_IGNORE, ierr)
        end do
      case (4)
        flag = .false.
        do while (.not. flag)
          call MPI_Testall(17, requests, flag, MPI_STATUSES_IGNORE,       &
     &      ierr)
        end do
      case (5)
        do while (pending(requests))
          call MPI_Testany(17, requests, i, flag, MPI_STATUS_IGNORE,      &
     &      ierr)
        end do
      case (6)
        do while (pending(requests))
          call MPI_Testsome(17, requests, done, indices,                  &
     &      MPI_STATUSES_IGNORE, ierr)
        end do
      case default
        do k = 1, 17
          flag = .false.
          do while (.not. flag)
            call MPI_Request_get_status(requests(k), flag, state, ierr)
          end do
          call MPI_Test(requests(k), flag, MPI_STATUS_IGNORE, ierr)
          call expect(flag)
        end do
      end select
      call expect(.not. pending(requests))
      call expect(all(theirs(:n, 2) == 42))
      if (rank == last)                                                   &
     &  call expect(all(theirs(:n, 3) == sum + 3 * ranks))
      call expect(all(theirs(:n, 4) == sum + 4 * ranks))
      if (rank == 0) then
        call expect(gathered(theirs(:, 5), n, 5))
        call expect(gathered(theirs(:, 6), n, 6))
      end if
      call expect(all(theirs(:n, 7) == 7))
      call expect(all(theirs(:n, 8) == 8))
      do k = 9, 12
        call expect(gathered(theirs(:, k), n, k))
      end do
#if !defined(NO_ALLTOALLW)
      call expect(gathered(theirs(:, 13), n, 13))
#endif
      call expect(all(theirs(:n, 14) == sum + 14 * ranks))
      call expect(all(theirs(:n, 15) == sum + 15 * ranks))
      call expect(all(theirs(:n, 16) ==                                   &
     &  rank * (rank + 1) / 2 + 16 * (rank + 1)))
      if (rank > 0) call expect(all(theirs(:n, 17) ==                     &
     &  rank * (rank - 1) / 2 + 17 * rank))
      end subroutine

      logical function pending(requests)
      REQUEST_TYPE, intent(in) :: requests(17)
      integer :: k
      pending = .false.
      do k = 1, 17
        if (requests(k) /= MPI_REQUEST_NULL) pending = .true.
      end do
      end function

!     Whether block q holds q + k, as each rank has filled its own.
      logical function gathered(values, n, k)
      integer, intent(in) :: values(:), n, k
      integer :: q
      gathered = .true.
      do q = 0, ranks - 1
        if (any(values(q * n + 1:(q + 1) * n) /= q + k))                  &
     &    gathered = .false.
      end do
      end function

      end program

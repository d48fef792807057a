// SPDX-License-Identifier: BSD-3-Clause
// A program without MPI_Init: a session, and a communicator of all its processes.
#pragma once

#include <mpi.h>

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define HAS_SESSIONS 1

inline MPI_Comm begin_session(MPI_Session* session, const char* name) {
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session);
  MPI_Group_from_session_pset(*session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  return comm;
}

#endif

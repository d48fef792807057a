# SPDX-License-Identifier: BSD-3-Clause
# Says clearly what is missing, before a compiler says it obscurely.
find_path(HIGHWAY_INCLUDE_DIR hwy/highway.h)
if(NOT HIGHWAY_INCLUDE_DIR)
  message(FATAL_ERROR "Highway is missing, which the reductions need: install libhwy-dev (Debian) "
                      "or highway-devel (Fedora)")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12
   OR CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
  message(FATAL_ERROR "Tutti needs C++20 as GCC 12 or Clang 15 have it; this is "
                      "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
endif()
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  message(FATAL_ERROR "Tutti runs on Linux only: it is made of memfd, futex and /proc")
endif()

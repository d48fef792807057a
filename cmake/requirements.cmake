# SPDX-License-Identifier: BSD-3-Clause
# Says clearly what is missing, before a compiler says it obscurely.
# Only Highway's headers are needed, and they are the same for every processor.
find_path(HIGHWAY_INCLUDE_DIR hwy/highway.h CMAKE_FIND_ROOT_PATH_BOTH)
if(NOT HIGHWAY_INCLUDE_DIR)
  message(FATAL_ERROR "Highway is missing, which the reductions need: install libhwy-dev (Debian) "
                      "or highway-devel (Fedora)")
endif()
if(CMAKE_CROSSCOMPILING)
  # Beside them are this machine's own headers, which are not for the other.
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/headers)
  file(CREATE_LINK ${HIGHWAY_INCLUDE_DIR}/hwy ${CMAKE_BINARY_DIR}/headers/hwy SYMBOLIC)
  include_directories(SYSTEM ${CMAKE_BINARY_DIR}/headers)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12
   OR CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
  message(FATAL_ERROR "Tutti needs C++20 as GCC 12 or Clang 15 have it; this is "
                      "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
endif()
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  message(FATAL_ERROR "Tutti runs on Linux only: it is made of memfd, futex and /proc")
endif()
include(CheckCXXSymbolExists)
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
check_cxx_symbol_exists(strerrordesc_np string.h TUTTI_HAS_GLIBC_2_32)
unset(CMAKE_REQUIRED_DEFINITIONS)
if(NOT TUTTI_HAS_GLIBC_2_32)
  message(FATAL_ERROR "Tutti needs glibc 2.32 or later; another C library will not do")
endif()

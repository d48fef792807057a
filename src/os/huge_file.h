// SPDX-License-Identifier: BSD-3-Clause
// A file in memory that may have huge pages, without root and without a setting of the kernel.
#pragma once

#include <cstddef>

#include "os/memfd.h"

namespace tutti::os {

// What create_memfd() makes, but of a file system of its own in which madvise(MADV_HUGEPAGE) gives
// huge pages, extent by extent, whatever shmem_enabled says (unless that is `deny`). A helper makes
// it that shares this process's memory and descriptors and lives in a user namespace of its own;
// nothing of it is left but the descriptor. -1 where it is refused, and *why_not a literal: no user
// namespaces (containers, hardened kernels), or a kernel without huge pages. No signal of a child
// reaches the program.
//
// Not sealed: that is for memfds alone. The file has a mode of 0600 and no path.
[[nodiscard]] int create_huge_file(const char* name, std::size_t bytes, FileId* id,
                                   const char** why_not);

// THP is `always`: memory has huge pages without asking for them, where they fit.
[[nodiscard]] bool huge_pages_come_unasked();

// Memfds have huge pages where they are asked for, by the kernel's setting for shared memory.
[[nodiscard]] bool memfds_have_huge_pages();

// This is a virtual machine that tells its host which memory is free, and the host takes that back
// (free page reporting). A huge page that lay free for a few seconds costs a fault of the host's
// for each of its small pages when it is touched: ten times what it cost otherwise, and several
// times what small pages do, which seldom come from there.
[[nodiscard]] bool host_takes_free_memory();
// What the kernel says of it.
[[nodiscard]] bool is_reported_order(const char* text);

// Where that is so, Tutti had better not ask for huge pages. If they come unasked it may: then the
// program has them without Tutti, too.
[[nodiscard]] bool huge_pages_take_long();

}  // namespace tutti::os

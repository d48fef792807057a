// SPDX-License-Identifier: BSD-3-Clause
// Anonymous files in memory: nothing of them is ever left in /dev/shm.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace tutti::os {

// Which file a descriptor refers to, to notice that the program has closed it, and perhaps opened
// something else at its number.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
};

// A sparse file of `bytes`, closed on exec and sealed against any change of its size, at a
// descriptor out of the way of programs that count theirs. -1 and errno when refused.
[[nodiscard]] int create_memfd(const char* name, std::size_t bytes, FileId* id);
// The same file at a descriptor that is out of the way; `fd` where there is none.
[[nodiscard]] int move_out_of_the_way(int fd);
// Lets the kernel's table of descriptors grow as far as that takes. Where a process has several
// threads the kernel waits for all processors then, 10 to 20 ms.
void make_way();
[[nodiscard]] bool refers_to(int fd, const FileId& id);

// The first part of [offset, end) that holds data (a hole reads as zeros and costs no memory):
// returns whether there is one, as [*from, *to).
[[nodiscard]] bool next_data(int fd, std::size_t offset, std::size_t end, std::size_t* from,
                             std::size_t* to);
// Writes all of [offset, offset + bytes); false when that fails.
[[nodiscard]] bool write_file_at(int fd, std::size_t offset, const void* from, std::size_t bytes);
// Reads all of [offset, offset + bytes); false when that fails.
[[nodiscard]] bool read_file_at(int fd, std::size_t offset, void* to, std::size_t bytes);

// Makes a hole of whole pages.
void punch_file(int fd, std::size_t offset, std::size_t bytes);

}  // namespace tutti::os

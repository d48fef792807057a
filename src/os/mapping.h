// SPDX-License-Identifier: BSD-3-Clause
// Address space: reserving it, filling it, giving its pages back. Sizes and addresses are multiples
// of a page. Where nothing else is said, false or nullptr means that the kernel refused, and errno
// says why.
#pragma once

#include <cstddef>

namespace tutti::os {

// Where huge pages are given to shared memory, an address and its offset must agree modulo one.
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

// From now on these functions go to the kernel itself, past the hooks that libraries of networks
// put into the C library's. For a forked child: such a hook may wait for a lock that a thread had
// which the child does not have. It cannot use its parent's network. Before it begins one of its
// own, that has to hear of its memory again.
void go_past_hooks();
void heed_hooks();

// Zeroed memory of this process alone, which costs pages only where it is touched and is left out
// of core dumps.
[[nodiscard]] void* map_private(std::size_t bytes);

// Some processors look into their first cache by a hash of address bits in which pages so far apart
// are one (docs/commons.md, "Apart").
inline constexpr std::size_t alias_bytes = std::size_t{256} << 20;

// `fd` from offset 0, shared, or private memory (fd -1), at a multiple of huge_page_bytes;
// inaccessible, and left out of core dumps, until make_accessible(). Where the address space has
// room, no two of 128 ranges made in succession lie at the same place modulo `alias_bytes`.
[[nodiscard]] void* map_range(int fd, std::size_t bytes);
[[nodiscard]] bool make_accessible(void* at, std::size_t bytes);
// Wishes for the pages that are to come, which the kernel may ignore.
void prefer_huge_pages(void* at, std::size_t bytes);
void prefer_small_pages(void* at, std::size_t bytes);

// Touches the pages of a shared mapping, as far as the kernel can (Linux 5.14). They can then be
// written to without a fault.
void populate_shared(void* at, std::size_t bytes);

// Puts the pages of `fd` from `offset` on in the place of whatever is mapped at [at, at + bytes).
[[nodiscard]] bool replace_shared(int fd, std::size_t offset, void* at, std::size_t bytes);
// Puts zeroed private memory in the place of whatever is mapped at [at, at + bytes).
[[nodiscard]] bool replace_private(void* at, std::size_t bytes, bool accessible);
// The same, accessible; and even after mlockall(MCL_FUTURE), whose new mappings the kernel fills,
// it costs pages only where it is touched.
[[nodiscard]] bool replace_with_zeros(void* at, std::size_t bytes);
// Moves the mapping at `from` to the place of whatever is mapped at `to`.
[[nodiscard]] bool move_mapping(void* from, void* to, std::size_t bytes);

void unmap(void* at, std::size_t bytes);

// A child that is forked has nothing there. False: the kernel refused.
[[nodiscard]] bool hide_from_children(void* at, std::size_t bytes);

// Gives the pages back; they read as zeros afterwards. drop_shared() frees them in the file too,
// for every process that has mapped it.
[[nodiscard]] bool drop_shared(void* at, std::size_t bytes);
[[nodiscard]] bool drop_private(void* at, std::size_t bytes);
// Neither can give back what is locked in memory (mlock). Unlocks it, as munmap() does. False where
// the program locks all that it will map (mlockall with MCL_FUTURE).
[[nodiscard]] bool unlock(void* at, std::size_t bytes);

// A page that reads as zeros in every child that gets a copy of this address space, whichever
// system call made it.
[[nodiscard]] void* map_wiped_on_fork();

}  // namespace tutti::os

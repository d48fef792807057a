// SPDX-License-Identifier: BSD-3-Clause
// Functions that take blocks of the allocator behind and are not of malloc's family: jemalloc's
// sallocx, mimalloc's mi_free, operator delete of all of these, libc's __libc_free. Tutti cannot
// take their place: programs tell by such names which allocator they have.
#pragma once

namespace tutti::preload {

// The name of one that an object of the process refers to, and that the library with `free`, the
// allocator behind, defines. nullptr: none.
[[nodiscard]] const char* find_bypass(void (*free)(void*));

}  // namespace tutti::preload

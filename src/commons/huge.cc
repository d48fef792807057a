// SPDX-License-Identifier: BSD-3-Clause
// Huge pages. The kernel gives them where it is asked to, and a huge page is resident as a whole:
// so they are asked for inside large blocks alone, and nowhere else, whatever the kernel's settings
// for other memory.
#include <algorithm>
#include <string_view>

#include "base/base.h"
#include "commons/heap.h"
#include "os/huge_file.h"
#include "os/mapping.h"

namespace tutti::commons {
namespace {

constexpr std::uint32_t huge_page_pages = huge_page_bytes / page_bytes;

// From so many on NumPy asks for huge pages by itself, as other programs do for large blocks.
constexpr std::uint32_t advised_pages = (std::uint32_t{4} << 20) / page_bytes;

// The kernel keeps what is advised and what is not apart. It has some 65 000 mappings for a
// process, most of which are others'; and such a block is two.
constexpr std::uint64_t most_advised_blocks = 12'000;

bool may_be_huge() {
  return heap.may_be_huge && heap.mode.load(std::memory_order_relaxed) != Mode::exclusive;
}
// Whether a block of so many pages gets huge ones, where it or the program asks for them.
bool may_be_huge(std::uint32_t pages) {
  return may_be_huge() && pages >= (heap.huge ? huge_page_pages : advised_pages);
}

const char* why_not_ask() {
  const std::string_view wish = options().commons_huge;
  if (wish == "0") return "TUTTI_COMMONS_HUGE is 0";
  if (wish == "auto" && os::huge_pages_take_long())
    return "the machine's host takes free memory back, where huge pages take long to get";
  return "";
}

// Where large blocks of the file have small pages, they are better off without it.
void decide_who_is_private() {
  const std::string_view wish = options().commons_private;
  const bool has_huge_pages =
      heap.huge && (*heap.why_small == '\0' || os::memfds_have_huge_pages());
  heap.private_first = wish == "auto" ? !has_huge_pages : wish == "1";
  if (!heap.private_first) return;
  // As libc's memory has them.
  heap.huge = os::huge_pages_come_unasked();
  heap.may_be_huge = heap.huge;
}

}  // namespace

bool create_file(std::size_t bytes) {
  constexpr const char* name = "tutti-commons";
  heap.why_small = why_not_ask();
  heap.huge = *heap.why_small == '\0';
  // Where we do not ask, the program may.
  const char* refused = "";
  heap.fd = options().commons_huge != std::string_view("0")
                ? os::create_huge_file(name, bytes, &heap.file, &refused)
                : -1;
  heap.may_be_huge = heap.huge || heap.fd >= 0;
  if (heap.huge) heap.why_small = refused;
  heap.file_may_be_huge = heap.fd >= 0 || os::memfds_have_huge_pages();
  if (heap.fd < 0) heap.fd = os::create_memfd(name, bytes, &heap.file);
  decide_who_is_private();
  return heap.fd >= 0;
}

std::uint32_t best_alignment(std::uint32_t pages) {
  // In a tiny range what lies between aligned blocks would soon be all that is left.
  const bool there_is_room = pages < heap.extents.pages() / 16;
  return there_is_room && may_be_huge(pages) ? huge_page_pages : 1;
}

void wish_for_huge_pages(PageIndex block, std::uint32_t from, std::uint32_t pages) {
  if (!may_be_huge(pages) || heap.extents.large_blocks() > most_advised_blocks) return;
  const PageIndex first = std::max<PageIndex>(round_up(block, huge_page_pages),
                                              round_down(block + from, huge_page_pages));
  const PageIndex end = round_down(block + pages, huge_page_pages);
  if (first >= end) return;
  std::byte* const at = heap.address(first);
  const std::size_t bytes = std::size_t{end - first} * page_bytes;
  // Where small pages have been, their page table stays when they go, and would be used again.
  // Mapped anew, there is none.
  const bool in_file = !heap.private_first || heap.in_file.all(first, end);
  if (in_file && os::refers_to(heap.fd, heap.file))
    (void)os::replace_shared(heap.fd, std::size_t{first} * page_bytes, at, bytes);
  if (heap.huge)
    os::prefer_huge_pages(at, bytes);
  else
    os::prefer_small_pages(at, bytes);  // unless the program asks
}

void wish_for_small_pages(PageIndex first, std::uint32_t pages) {
  if (!may_be_huge()) return;
  const PageIndex begin = round_down(first, huge_page_pages);
  const PageIndex end = round_up(first + pages, huge_page_pages);
  os::prefer_small_pages(heap.address(begin), std::size_t{end - begin} * page_bytes);
}

}  // namespace tutti::commons

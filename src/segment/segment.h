// SPDX-License-Identifier: BSD-3-Clause
// segment: the memory in which the ranks of one node and one job meet. It is one sparse memfd, made
// by one of them and mapped by all. Each team gets a slice of it. It has no name in any file
// system, so nothing is left behind however the job ends. Words: docs/glossary.md.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "os/window.h"
#include "segment/desk.h"
#include "segment/wait.h"

namespace tutti::segment {

// What the maker tells the others, so that they find it.
struct Invitation {
  std::int32_t pid = 0;
  std::int32_t fd = -1;
  std::uint64_t nonce = 0;
};

class Segment {
 public:
  Segment() = default;
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  Status create();
  Status attach(const Invitation& invitation);
  // The same with a descriptor that the maker has sent; it is closed in any case.
  Status attach(const Invitation& invitation, int fd);
  // To be called once all have attached: then the maker's descriptor is no longer needed.
  void close_descriptor();

  [[nodiscard]] Invitation invitation() const;

  // Returns the number of a slice with `desks_each` zeroed desks for each of `members`; 0 when the
  // segment is full. Any process that has attached may call these, one at a time or together.
  [[nodiscard]] std::uint64_t allocate_slice(int members, int desks_each = 1);
  // The same for members who do not talk to each other. The first that asks for `name` allocates
  // the slice, the others find it. A name is not 0, and belongs to one group for ever.
  // `marks`: what had been marked when the first one asked; the same for all.
  [[nodiscard]] std::uint64_t find_slice(std::uint64_t name, int members, int desks_each = 1,
                                         std::uint32_t* marks = nullptr);
  void mark(std::uint32_t marks);
  // Each member of the slice calls this when it leaves; the last one frees the slice. Some memory
  // of free slices stays, at most 1.25 MiB or one slice. The rest is given back.
  void leave_slice(std::uint64_t slice);

  [[nodiscard]] Desk* desk(std::uint64_t slice, int index) const;

  [[nodiscard]] std::uint64_t slices_in_use() const;
  // How much memory free slices have kept, as far as is known.
  [[nodiscard]] std::uint64_t kept_bytes() const;

  // Reserves memory that this member is about to take. `available` says how much is left. Waits
  // while `bytes` does not fit beside what others of `members` have reserved and not yet taken.
  // False: it does not fit although nobody else has reserved anything.
  [[nodiscard]] bool reserve(int member, int members, std::uint64_t bytes,
                             std::uint64_t (*available)());
  void release(int member);

  // Who is alive. A member signs in, once, from a thread that stays. When that thread ends, for
  // whatever reason, the kernel marks the member's presence before it tells any parent process.
  // Members are numbered as the node's ranks.
  void sign_in(int member);
  [[nodiscard]] const std::atomic<std::uint32_t>& presence(int member) const;
  [[nodiscard]] static bool marked_as_ended(const std::atomic<std::uint32_t>& presence);
  [[nodiscard]] static pid_t signer_of(const std::atomic<std::uint32_t>& presence);

 private:
  [[nodiscard]] static bool sign_out(std::byte* base, int member);
  void keep_for_a_while();
  static void leave_those_kept();
  // To be called with the segment's lock held.
  [[nodiscard]] std::uint64_t take_slice(int members, int desks_each);
  [[nodiscard]] std::uint64_t make_slice(int size_class);
  // Without it.
  void give_back_excess(std::uint64_t newest);
  [[nodiscard]] std::uint64_t begin_to_give_back(std::uint64_t newest);

  [[nodiscard]] std::byte* base() const { return window_.base(); }

  os::Window window_;
  int fd_ = -1;
  int signed_in_ = -1;
};

}  // namespace tutti::segment

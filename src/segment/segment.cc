// SPDX-License-Identifier: BSD-3-Clause
#include "segment/segment.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>
#include <new>
#include <utility>

#include "base/bits.h"
#include "os/mapping.h"
#include "os/memfd.h"
#include "os/os.h"

namespace tutti::segment {
namespace {

constexpr std::uint64_t usual_bytes = std::uint64_t{64} << 30;  // of address space; sparse
constexpr std::uint64_t least_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t magic = 0x7475747469'0006;  // "tutti", layout 6
constexpr int size_classes = 16;                    // slices of 2^class desks
constexpr std::uint64_t buckets = 256;              // of names

// At the start of the segment.
struct Header {
  std::uint64_t magic;
  std::uint64_t nonce;
  pthread_mutex_t lock;               // robust
  std::uint64_t next;                 // first byte never given out
  std::uint64_t headers;              // of slices yet to be made; at the end of a page: none
  std::uint64_t kept[size_classes];   // heads of lists of free slices, 0 ends one: with their pages
  std::uint64_t clean[size_classes];  // and without
  std::uint64_t in_use;
  std::uint64_t kept_bytes;       // of all in `kept`
  std::uint64_t allowance_bytes;  // what these may be, see learn()
  std::uint64_t named[buckets];   // heads of lists of slices with names, 0 ends one
  // Some member of a group has found no slice for its name. So no other member of it may find one,
  // though one has become free meanwhile. Therefore no new name gets one any more.
  std::uint32_t refuses_names;
  std::uint32_t marks;
  std::atomic<std::uint32_t> releases;  // of reserved memory
};
static_assert(sizeof(Header) <= page_bytes);

// After the header: one robust mutex for each member, which it holds as long as it lives. The first
// word of a mutex is the futex in which the kernel marks the owner's end.
struct alignas(line_bytes) Presence {
  pthread_mutex_t mutex;
  pid_t signer;            // the thread that holds it
  std::uint64_t reserved;  // bytes of memory
};
constexpr std::uint64_t presence_at = page_bytes;
constexpr std::uint64_t slices_at = presence_at + most_members * sizeof(Presence);
static_assert(sizeof(Presence) == line_bytes);

Presence* presence_of(std::byte* base, int member) {
  return reinterpret_cast<Presence*>(base + presence_at) + member;
}
std::atomic<std::uint32_t>& word_of(Presence* presence) {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(&presence->mutex);
}

// What is known of a slice. It is never freed, and its offset is the number of the slice. It lies
// apart from the desks, so that these can be without pages.
struct alignas(line_bytes) SliceHeader {
  std::atomic<std::uint32_t> members_left;
  std::int32_t size_class;
  std::uint64_t at;     // of the first desk
  std::uint64_t next;   // in a list of free ones
  std::uint64_t bytes;  // of the pages that it has kept, or given back
  std::uint64_t name;   // 0: none
  std::uint64_t next_named;
  std::uint32_t marks;
  std::int32_t desks;  // that are used
};
static_assert(sizeof(SliceHeader) == line_bytes);

Header* header_of(std::byte* base) { return std::launder(reinterpret_cast<Header*>(base)); }
SliceHeader* slice_at(std::byte* base, std::uint64_t offset) {
  return std::launder(reinterpret_cast<SliceHeader*>(base + offset));
}

// Holds the lock for a few microseconds, when a communicator is first used or freed. Whoever holds
// it may be killed at any instruction, and the next one goes on with what it finds. So a list
// changes by one store, after what that store makes visible (see first()); then a slice can get
// lost, but nothing is ever given out twice. Free slices may then keep less than they are allowed
// to.
class Guard {
 public:
  explicit Guard(pthread_mutex_t& lock) : lock_(lock) {
    if (::pthread_mutex_lock(&lock_) == EOWNERDEAD) ::pthread_mutex_consistent(&lock_);
  }
  ~Guard() { ::pthread_mutex_unlock(&lock_); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  pthread_mutex_t& lock_;
};

// What stands before it is stored before what stands behind it, should this process be killed in
// between. The kernel wakes the next owner, so the processor needs no fence.
void first() { std::atomic_signal_fence(std::memory_order_seq_cst); }

// Returns an error, or 0.
int make_robust(pthread_mutex_t* mutex) {
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  const int error = ::pthread_mutex_init(mutex, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  return error;
}

void push(std::byte* base, std::uint64_t& list, std::uint64_t slice) {
  slice_at(base, slice)->next = list;
  first();
  list = slice;
}

// With the lock held. This process has seen the slice, but perhaps not those before it in the list.
void forget_name(os::Window& window, std::uint64_t offset) {
  std::byte* base = window.base();
  const SliceHeader* slice = slice_at(base, offset);
  std::uint64_t* link = &header_of(base)->named[slice->name % buckets];
  while (*link != offset) {
    window.open_to(*link + sizeof(SliceHeader));
    link = &slice_at(base, *link)->next_named;
  }
  *link = slice->next_named;
}

int size_class_of(int members) {
  int size_class = 0;
  while ((1 << size_class) < members) ++size_class;
  return size_class;
}

constexpr std::uint64_t desk_bytes = round_up(sizeof(Desk), page_bytes);
std::uint64_t slice_bytes(int size_class) { return (std::uint64_t{1} << size_class) * desk_bytes; }

// How much memory free slices may keep. A program that makes, uses and frees communicators in turns
// shall have no page faults, and one that has freed many shall keep little. The allowance learns as
// that of the commons does: it grows when a slice that has given its pages back is used again. The
// slice that was freed last always keeps its pages.
constexpr std::uint64_t first_allowance_bytes = std::uint64_t{256} << 10;
constexpr std::uint64_t most_allowance_bytes = 5 * first_allowance_bytes;

void learn(Header& header, const SliceHeader& reused) {
  header.allowance_bytes = std::min(most_allowance_bytes, header.allowance_bytes + reused.bytes);
}

// What the limits leave room for, as a power of two. A file beyond RLIMIT_FSIZE would end the
// process.
std::uint64_t bytes_to_make() {
  const std::uint64_t most =
      std::min(os::address_space_left_bytes() / 16, os::file_size_limit_bytes());
  return std::min(usual_bytes, std::bit_floor(most));
}

struct Kept {
  os::Window window;
  int member;
};
std::mutex g_keeping;
std::list<Kept>& kept() {
  static auto* const value = new std::list<Kept>;  // the process ends with what is in it
  return *value;
}

}  // namespace

Segment::~Segment() {
  if (base() != nullptr && !sign_out(base(), signed_in_)) keep_for_a_while();
  close_descriptor();
}

Status Segment::create() {
  const std::uint64_t bytes = bytes_to_make();
  if (bytes < least_bytes)
    return Status::unsupported("RLIMIT_AS or RLIMIT_FSIZE leaves no room for a node segment");
  os::FileId id;
  fd_ = os::create_memfd("tutti-segment", bytes, &id);
  if (fd_ < 0) return Status::system(errno, "memfd_create for the node segment");
  if (!window_.map(fd_, bytes)) return Status::system(errno, "mmap of the node segment");
  window_.open_to(slices_at);
  Header* header = header_of(base());
  header->magic = magic;
  header->next = slices_at;
  header->allowance_bytes = first_allowance_bytes;
  if (const int error = make_robust(&header->lock); error != 0)
    return Status::system(error, "a robust mutex for the node segment");
  if (::getrandom(&header->nonce, sizeof header->nonce, 0) != sizeof header->nonce)
    return Status::system(errno, "getrandom");
  return {};
}

Status Segment::attach(const Invitation& invitation) {
  const int fd = os::borrow_descriptor(invitation.pid, invitation.fd);
  if (fd < 0) return Status::system(errno, "opening the node segment of a peer");
  return attach(invitation, fd);
}

Status Segment::attach(const Invitation& invitation, int fd) {
  struct stat found {};
  const auto bytes = ::fstat(fd, &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
  if (!std::has_single_bit(bytes) || bytes < least_bytes || bytes > usual_bytes) {
    ::close(fd);  // to touch what a smaller file does not have would be a SIGBUS
    return Status::unsupported("a peer's process number means another process here");
  }
  const bool mapped = window_.map(fd, bytes);
  const int error = errno;
  ::close(fd);
  if (!mapped) return Status::system(error, "mmap of the node segment");
  window_.open_to(slices_at);
  // Another PID namespace, or a process that reused the number, would give something else.
  if (header_of(base())->magic != magic || header_of(base())->nonce != invitation.nonce)
    return Status::unsupported("a peer's process number means another process here");
  return {};
}

void Segment::close_descriptor() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Invitation Segment::invitation() const { return {::getpid(), fd_, header_of(base())->nonce}; }

std::uint64_t Segment::allocate_slice(int members, int desks_each) {
  const Guard guard(header_of(base())->lock);
  return take_slice(members, desks_each);
}

std::uint64_t Segment::find_slice(std::uint64_t name, int members, int desks_each,
                                  std::uint32_t* marks) {
  Header* header = header_of(base());
  const Guard guard(header->lock);
  std::uint64_t& head = header->named[name % buckets];
  std::uint64_t offset = head;
  for (; offset != 0; offset = slice_at(base(), offset)->next_named) {
    window_.open_to(offset + sizeof(SliceHeader));  // another process may have made it
    if (slice_at(base(), offset)->name == name) break;
  }
  if (offset == 0) {
    offset = header->refuses_names == 0 ? take_slice(members, desks_each) : 0;
    if (offset == 0) {
      header->refuses_names = 1;
      return 0;
    }
    SliceHeader* made = slice_at(base(), offset);
    made->name = name;
    made->marks = header->marks;
    made->next_named = head;
    first();
    head = offset;
  }
  const SliceHeader* slice = slice_at(base(), offset);
  window_.open_to(slice->at + slice_bytes(slice->size_class));
  if (marks != nullptr) *marks = slice->marks;
  return offset;
}

void Segment::mark(std::uint32_t marks) {
  Header* header = header_of(base());
  const Guard guard(header->lock);
  header->marks |= marks;
}

std::uint64_t Segment::take_slice(int members, int desks_each) {
  Header* header = header_of(base());
  const int size_class = size_class_of(members * desks_each);
  if (size_class >= size_classes) return 0;
  std::uint64_t& kept = header->kept[size_class];
  std::uint64_t& clean = header->clean[size_class];
  const bool is_dirty = kept != 0;
  const std::uint64_t offset = is_dirty ? kept : clean != 0 ? clean : make_slice(size_class);
  if (offset == 0) return 0;
  window_.open_to(offset + sizeof(SliceHeader));  // another process may have used it so far
  SliceHeader* slice = slice_at(base(), offset);
  if (is_dirty) {
    kept = slice->next;
    first();
    header->kept_bytes -= slice->bytes;
  } else if (clean != 0) {
    clean = slice->next;
    learn(*header, *slice);
    slice->bytes = 0;
  }
  ++header->in_use;
  window_.open_to(slice->at + slice_bytes(size_class));
  slice->desks = members * desks_each;
  slice->name = 0;
  slice->members_left.store(static_cast<std::uint32_t>(members), std::memory_order_relaxed);
  if (is_dirty)  // staging needs no zeros: it is read only after it was written
    for (int index = 0; index < slice->desks; ++index)
      std::memset(static_cast<void*>(desk(offset, index)), 0, offsetof(Desk, staging));
  return offset;
}

std::uint64_t Segment::make_slice(int size_class) {
  Header* header = header_of(base());
  const bool needs_page = header->headers % page_bytes == 0;
  const std::uint64_t bytes = slice_bytes(size_class) + (needs_page ? page_bytes : 0);
  if (header->next + bytes > window_.bytes()) return 0;
  if (needs_page) {
    const std::uint64_t page = header->next;
    header->next = page + page_bytes;
    first();
    header->headers = page;
  }
  const std::uint64_t offset = header->headers;
  window_.open_to(offset + sizeof(SliceHeader));
  SliceHeader* slice = slice_at(base(), offset);
  slice->size_class = size_class;
  slice->at = header->next;
  header->next += slice_bytes(size_class);
  first();
  header->headers += sizeof(SliceHeader);
  return offset;
}

void Segment::leave_slice(std::uint64_t offset) {
  SliceHeader* slice = slice_at(base(), offset);
  // acq_rel: what the others did to the slice is over before the last one gives it back.
  if (slice->members_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::uint64_t bytes = 0;
  for (int index = 0; index < slice->desks; ++index) {
    const std::uint32_t staged = desk(offset, index)->staged.load(std::memory_order_relaxed);
    bytes += offsetof(Desk, staging) + static_cast<unsigned>(std::popcount(staged)) * staging_bytes;
  }
  Header* header = header_of(base());
  bool too_much = false;
  {
    const Guard guard(header->lock);
    if (slice->name != 0) forget_name(window_, offset);
    bytes = std::max(bytes, slice->bytes);  // the team before may have written into more slots
    slice->bytes = bytes;
    header->kept_bytes += bytes;
    --header->in_use;
    first();
    push(base(), header->kept[slice->size_class], offset);
    too_much = header->kept_bytes > header->allowance_bytes;
  }
  if (too_much) give_back_excess(offset);
}

void Segment::give_back_excess(std::uint64_t newest) {
  Header* header = header_of(base());
  while (const std::uint64_t offset = begin_to_give_back(newest)) {
    SliceHeader* slice = slice_at(base(), offset);
    const bool given = os::drop_shared(base() + slice->at, slice_bytes(slice->size_class));
    const Guard guard(header->lock);
    if (!given) slice->bytes = 0;  // locked in memory: it stays, and does not count
    push(base(), (given ? header->clean : header->kept)[slice->size_class], offset);
  }
}

// While free slices keep too much: takes one with pages out of its list, but not the one that was
// freed last. 0: there is none, or they keep little enough.
std::uint64_t Segment::begin_to_give_back(std::uint64_t newest) {
  Header* header = header_of(base());
  const Guard guard(header->lock);
  if (header->kept_bytes <= header->allowance_bytes) return 0;
  for (int size_class = size_classes - 1; size_class >= 0; --size_class) {
    std::uint64_t* link = &header->kept[size_class];
    for (std::uint64_t offset = *link; offset != 0; offset = *link) {
      window_.open_to(offset + sizeof(SliceHeader));
      SliceHeader* slice = slice_at(base(), offset);
      if (offset != newest && slice->bytes != 0) {
        *link = slice->next;
        first();
        header->kept_bytes -= slice->bytes;
        window_.open_to(slice->at + slice_bytes(size_class));
        return offset;
      }
      link = &slice->next;
    }
  }
  return 0;
}

Desk* Segment::desk(std::uint64_t offset, int index) const {
  window_.open_to(offset + sizeof(SliceHeader));
  const std::uint64_t at =
      slice_at(base(), offset)->at + static_cast<std::uint64_t>(index) * desk_bytes;
  window_.open_to(at + desk_bytes);
  return std::launder(reinterpret_cast<Desk*>(base() + at));
}

void Segment::sign_in(int member) {
  leave_those_kept();
  if (static_cast<std::uint64_t>(member) >= most_members) return;  // noticed later, by its process
  Presence* presence = presence_of(base(), member);
  presence->signer = ::gettid();
  pthread_mutex_t* mutex = &presence->mutex;
  if (make_robust(mutex) == 0 && ::pthread_mutex_lock(mutex) == 0) signed_in_ = member;
}

// False: the thread that has signed in is another one, and its mutex must stay mapped while it
// lives.
bool Segment::sign_out(std::byte* base, int member) {
  if (member < 0) return true;
  Presence* presence = presence_of(base, member);
  return ::pthread_mutex_unlock(&presence->mutex) == 0 || marked_as_ended(word_of(presence));
}

// A segment whose signer is another thread stays mapped. Each thread that makes or opens a segment
// later tries again: it may be the signer, or the signer may have ended.
void Segment::keep_for_a_while() {
  const std::lock_guard lock(g_keeping);
  kept().push_back({std::move(window_), signed_in_});
}
void Segment::leave_those_kept() {
  const std::lock_guard lock(g_keeping);
  kept().remove_if([](const Kept& each) { return sign_out(each.window.base(), each.member); });
}

const std::atomic<std::uint32_t>& Segment::presence(int member) const {
  const auto index = std::min(static_cast<std::uint64_t>(member), most_members - 1);
  return word_of(presence_of(base(), static_cast<int>(index)));
}

bool Segment::marked_as_ended(const std::atomic<std::uint32_t>& presence) {
  return (presence.load(std::memory_order_relaxed) & FUTEX_OWNER_DIED) != 0;
}

pid_t Segment::signer_of(const std::atomic<std::uint32_t>& presence) {
  return reinterpret_cast<const Presence&>(presence).signer;
}

bool Segment::reserve(int member, int members, std::uint64_t bytes, std::uint64_t (*available)()) {
  constexpr std::int64_t patience_ns = 10'000'000;  // then somebody may have ended
  Header* header = header_of(base());
  members = static_cast<int>(std::min(static_cast<std::uint64_t>(members), most_members));
  if (member >= members) return bytes == 0 || bytes < available();
  for (;;) {
    const std::uint32_t seen = header->releases.load(std::memory_order_acquire);
    const std::uint64_t left = available();  // may take long, so the lock is not held
    {
      const Guard guard(header->lock);
      // A member that has released since then may have taken its memory after available() looked.
      if (header->releases.load(std::memory_order_relaxed) != seen) continue;
      std::uint64_t others = 0;
      for (int other = 0; other < members; ++other) {
        Presence* presence = presence_of(base(), other);
        if (other != member && !marked_as_ended(word_of(presence))) others += presence->reserved;
      }
      if (bytes == 0 || (others < left && bytes < left - others)) {
        presence_of(base(), member)->reserved = bytes;
        return true;
      }
      if (others == 0) return false;
    }
    os::futex_wait(header->releases, seen, patience_ns);
  }
}

void Segment::release(int member) {
  if (static_cast<std::uint64_t>(member) >= most_members) return;
  Header* header = header_of(base());
  {
    const Guard guard(header->lock);
    presence_of(base(), member)->reserved = 0;
    header->releases.fetch_add(1, std::memory_order_relaxed);
  }
  os::futex_wake_all(header->releases);
}

std::uint64_t Segment::slices_in_use() const {
  Header* header = header_of(base());
  const Guard guard(header->lock);
  return header->in_use;
}

std::uint64_t Segment::kept_bytes() const {
  Header* header = header_of(base());
  const Guard guard(header->lock);
  return header->kept_bytes;
}

}  // namespace tutti::segment

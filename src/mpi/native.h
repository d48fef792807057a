// SPDX-License-Identifier: BSD-3-Clause
// The user's MPI as Tutti calls it: its functions and its constants, in a family's own types. `H`
// is what a handle is there: int (MPICH) or void* (Open MPI, standard ABI). One table for all that
// is called. It is filled once, and calls nothing of the MPI for that.
#pragma once

#include <cstdint>
#include <type_traits>

#include "mpi/forms.h"
#include "mpi/library.h"

namespace tutti::mpi {

// A handle as a key of a HandleMap.
inline std::uint64_t key_of(int handle) { return static_cast<std::uint32_t>(handle); }
inline std::uint64_t key_of(void* handle) { return reinterpret_cast<std::uint64_t>(handle); }

// A handle of a family, from as many bits as any has.
template <class H>
H handle_from(std::uint64_t bits) {
  if constexpr (sizeof(H) == sizeof(int))
    return static_cast<H>(bits);
  else
    return reinterpret_cast<H>(bits);
}

template <class H>
struct Native : Completing<H> {
#define TUTTI_NATIVE(symbol, name, parameters) int(*name) parameters;
#include "mpi/native.def"
#undef TUTTI_NATIVE
  // Open MPI's: whether its progress yields the core when it has found nothing to do; returns what
  // held before. nullptr in others.
  bool (*set_yields)(bool yields);

  Forms<H, int, int> small;
  Forms<H, Count, Aint> large;
  Forms<H, int, int, void*> small_started;
  Forms<H, Count, Aint, void*> large_started;

  Family family;
  H world, self_comm, null_comm;
  H null_info, null_request, null_type;
  H errors_return, errors_are_fatal;
  H byte, packed, uint64;
  H sum, bor, null_op;
  const void* in_place;

  void load(const Library& mpi);
  // Or a handle that was never set, all zeros: none of the MPIs has such a one.
  [[nodiscard]] bool is_no_comm(H comm) const { return comm == null_comm || comm == H{}; }
  [[nodiscard]] bool is_no_type(H type) const { return type == null_type || type == H{}; }
  // Whether the MPI gives MPI_THREAD_MULTIPLE.
  [[nodiscard]] bool any_thread_may_call() const;

  // The collectives in the caller's form: with counts `N`, and blocking or not.
  template <class N, class... Request>
  [[nodiscard]] const auto& forms() const {
    constexpr bool is_small = std::is_same_v<N, int>;
    if constexpr (sizeof...(Request) == 0) {
      if constexpr (is_small)
        return small;
      else
        return large;
    } else {
      if constexpr (is_small)
        return small_started;
      else
        return large_started;
    }
  }
};

// A status of any family.
struct AnyStatus {
  alignas(8) char bytes[64];
};

// While it lives, Open MPI's progress does not give the core away: whoever waits does that by
// itself, and whoever only looks would come back when others have computed.
template <class H>
class CoreKept {
 public:
  explicit CoreKept(const Native<H>& native)
      : native_(native), yields_(native.set_yields != nullptr && native.set_yields(false)) {}
  ~CoreKept() {
    if (yields_) native_.set_yields(true);
  }
  CoreKept(const CoreKept&) = delete;
  CoreKept& operator=(const CoreKept&) = delete;

 private:
  const Native<H>& native_;
  bool yields_;
};

// Tells the communicator's error handler of an error, as the MPI does of its own.
template <class H>
void tell_error(const Native<H>& native, H comm, int code);

// A communicator of this process alone, of the session that `comm` is of: the others need not know.
// null_comm where the MPI makes none.
template <class H>
[[nodiscard]] H alone_of(const Native<H>& native, H comm);

}  // namespace tutti::mpi

// SPDX-License-Identifier: BSD-3-Clause
// The MPI functions that Tutti takes the place of, two names each. They are called with the ABI of
// whichever family the caller was compiled for; see entries.h for why one signature serves all.
//
// MPI_X leads to where the program's call would go without Tutti: to a tool that comes next in the
// search order, if there is one, else to Tutti. PMPI_X is what a tool calls, or one that comes
// before Tutti, and a Fortran wrapper; so Tutti takes it, too, as the MPI would. Only the MPI's own
// calls of PMPI_X go to the MPI.
#include <atomic>
#include <cstdlib>

#include "base/base.h"
#include "engine/engine.h"
#include "mpi/callers.h"
#include "mpi/entries.h"
#include "mpi/library.h"
#include "mpi/tools.h"
#include "mpi/words.h"
#include "os/futex.h"
#include "os/memfd.h"
#include "progress/progress.h"

namespace tutti::mpi {
namespace {

using Function = void (*)();

// What MPI_X leads to.
struct Exported {
  const char* name;
  Function (*own)();  // Tutti's
  std::atomic<Function> first{nullptr};
};

// Looked up apart from the entries: calls that are none of Tutti's business do not make those.
[[gnu::cold, gnu::noinline]] Function find_native(std::atomic<Function>& known, const char* name) {
  static const Library library = find_library();
  Function found = nullptr;
  if (library.handle != nullptr) library.load(found, name);
  if (found == nullptr) {
    log::fatal("%s was called, but no MPI library with it is loaded in this process", name);
    std::_Exit(1);
  }
  known.store(found, std::memory_order_relaxed);
  return found;
}

Function native(std::atomic<Function>& known, const char* name) {
  const Function found = known.load(std::memory_order_relaxed);
  return found != nullptr ? found : find_native(known, name);
}

bool is_for_us(Caller caller) { return caller == Caller::other || caller == Caller::fortran; }

void find_first_of_all();

// The first call of all. Those after it become a look and a jump, as arguments stay where they are.
template <Exported& exported, class... Words>
[[gnu::cold, gnu::noinline]] int call_first(Words... words) {
  find_first_of_all();
  Function to = exported.first.load(std::memory_order_acquire);
  if (to == nullptr) to = exported.own();
  return reinterpret_cast<int (*)(Words...)>(to)(words...);
}

}  // namespace
}  // namespace tutti::mpi

using namespace tutti::mpi;

#define TUTTI_EXPORT extern "C" [[gnu::visibility("default")]]

// `own`: yields Tutti's function. `asked`: whether a call of PMPI_X is Tutti's.
#define TUTTI_PAIR(name, count, own_function, asked)                           \
  constinit static Exported exported_##name{#name, own_function};              \
  TUTTI_EXPORT int name(TUTTI_PARAMETERS_##count) {                            \
    const Function to = exported_##name.first.load(std::memory_order_acquire); \
    if (to == nullptr) [[unlikely]]                                            \
      return call_first<exported_##name>(TUTTI_ARGUMENTS_##count);             \
    return reinterpret_cast<decltype(&name)>(to)(TUTTI_ARGUMENTS_##count);     \
  }                                                                            \
  TUTTI_EXPORT int P##name(TUTTI_PARAMETERS_##count) {                         \
    constinit static std::atomic<Function> known{nullptr};                     \
    const Function to = (asked) ? (own_function)() : native(known, "P" #name); \
    return reinterpret_cast<decltype(&P##name)>(to)(TUTTI_ARGUMENTS_##count);  \
  }
#define TUTTI_CALLER callers.of(__builtin_return_address(0))

#define TUTTI_FUNCTION(name, entry, count)                                     \
  static_assert(arity<decltype(Entries{}.entry)> == count);                    \
  TUTTI_PAIR(                                                                  \
      name, count, [] { return reinterpret_cast<Function>(entries().entry); }, \
      is_for_us(TUTTI_CALLER))

#define TUTTI_BARRIER(name, Name)     \
  TUTTI_FUNCTION(MPI_##Name, name, 1) \
  TUTTI_FUNCTION(MPI_I##name, i##name, 2)
#define TUTTI_COLLECTIVE(name, Name, root, computed, arguments, more, ...) \
  TUTTI_FUNCTION(MPI_##Name, name, arguments)                              \
  TUTTI_FUNCTION(MPI_##Name##_c, large.name, arguments)                    \
  TUTTI_FUNCTION(MPI_I##name, started.name, more)                          \
  TUTTI_FUNCTION(MPI_I##name##_c, large_started.name, more)

// Whoever has a request may ask for it, but the MPI itself, which has none of Tutti's.
#define TUTTI_LOOKS(name, entry, count)                                        \
  static_assert(arity<decltype(Entries{}.entry)> == count);                    \
  TUTTI_PAIR(                                                                  \
      name, count, [] { return reinterpret_cast<Function>(entries().entry); }, \
      TUTTI_CALLER != Caller::mpi)

// Tutti's while `under_way`.
#define TUTTI_WHILE(under_way, name, entry, count)                                                 \
  static_assert(arity<decltype(Entries{}.entry)> == count);                                        \
  static int own_##name(TUTTI_PARAMETERS_##count) {                                                \
    constinit static std::atomic<Function> known{nullptr};                                         \
    const Function to =                                                                            \
        under_way() != 0 ? reinterpret_cast<Function>(entries().entry) : native(known, "P" #name); \
    return reinterpret_cast<decltype(&own_##name)>(to)(TUTTI_ARGUMENTS_##count);                   \
  }                                                                                                \
  TUTTI_PAIR(                                                                                      \
      name, count, [] { return reinterpret_cast<Function>(own_##name); },                          \
      under_way() != 0 && TUTTI_CALLER != Caller::mpi)
#define TUTTI_COMPLETES(name, entry, count) TUTTI_WHILE(requests_under_way, name, entry, count)
#define TUTTI_WAITS(name, entry, count) TUTTI_WHILE(driven_by_waits, name, entry, count)
#define TUTTI_PROBES(name, entry, count) TUTTI_WHILE(probed_by_tutti, name, entry, count)

#define TUTTI_MAKES(name, count, parent, last)                                               \
  static int own_##name(TUTTI_PARAMETERS_##count) {                                          \
    constinit static std::atomic<Function> known{nullptr};                                   \
    const Function to = native(known, "P" #name);                                            \
    entries().making(parent);                                                                \
    const int result = reinterpret_cast<decltype(&own_##name)>(to)(TUTTI_ARGUMENTS_##count); \
    if (result == 0) entries().made(parent, reinterpret_cast<const void*>(last));            \
    return result;                                                                           \
  }                                                                                          \
  TUTTI_PAIR(                                                                                \
      name, count, [] { return reinterpret_cast<Function>(own_##name); }, is_for_us(TUTTI_CALLER))

#include "mpi/exports.def"
#undef TUTTI_FUNCTION
#undef TUTTI_LOOKS
#undef TUTTI_COMPLETES
#undef TUTTI_WAITS
#undef TUTTI_PROBES
#undef TUTTI_MAKES

namespace tutti::mpi {
namespace {

#define TUTTI_FUNCTION(name, entry, count) &exported_##name,
#define TUTTI_LOOKS TUTTI_FUNCTION
#define TUTTI_COMPLETES TUTTI_FUNCTION
#define TUTTI_WAITS TUTTI_FUNCTION
#define TUTTI_PROBES TUTTI_FUNCTION
#define TUTTI_MAKES(name, count, parent, last) TUTTI_FUNCTION(name, , count)
constinit Exported* const all_exported[] = {
#include "mpi/exports.def"
};

// Of all at once: a tool that is loaded later than the first call is one that the program's calls
// do not reach. Where there is no MPI, what looks like a tool stands in for one, of which it may
// have few functions.
void find_first_of_all() {
  static const bool found = [] {
    const bool has_mpi = find_library().handle != nullptr;
    for (Exported* each : all_exported) {
      const auto tool = reinterpret_cast<Function>(next_tools(each->name));
      const Function own = tool == nullptr && has_mpi ? each->own() : nullptr;
      each->first.store(tool != nullptr ? tool : own, std::memory_order_release);
    }
    return true;
  }();
  (void)found;
}

}  // namespace
}  // namespace tutti::mpi

// At the latest before main: the program may take its environment away. And with one thread still:
// with several, the kernel waits for all processors when fences are enabled, or its table of
// descriptors grows, 10 to 30 ms each.
[[gnu::constructor]] static void before_main() {
  if (tutti::options().off) return;
  (void)tutti::os::enable_asymmetric_fence();
  tutti::os::make_way();
}

// For tools: how the calling thread's last collective moved its bytes, "" when none was taken.
TUTTI_EXPORT const char* tutti_last_way() { return tutti::engine::last_way(); }
TUTTI_EXPORT void tutti_forget_last_way() { tutti::engine::forget_last_way(); }

// Switches the progress thread off (0) and on (1), at any time.
TUTTI_EXPORT void tutti_progress(int on) { tutti::engine::driver().allow_thread(on != 0); }

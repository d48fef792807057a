// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/arguments.h"

#include <array>
#include <atomic>
#include <random>
#include <type_traits>
#include <vector>

namespace tutti::mpi {
namespace {

// The words of signatures in base/collectives.def.
struct N;
struct D;
struct T;
struct O;
struct C;

// What a collective on a communicator of one rank is given to receive where it sends from.
template <class H>
class Aliased {
 public:
  Aliased(const Native<H>& native, H comm, int count)
      : byte_(native.byte), bor_(native.bor), comm_(comm), count_(count) {}

  template <class... Given, class... Words>
  int call(int (*function)(Given...), int (*)(Words...)) {
    return function(of(std::type_identity<Words>{})...);
  }

 private:
  void* of(std::type_identity<void*>) { return &place_; }
  const void* of(std::type_identity<const void*>) { return &place_; }
  int of(std::type_identity<N>) { return count_; }
  const int* of(std::type_identity<const N*>) { return &count_; }
  const int* of(std::type_identity<const D*>) { return &zero_; }
  H of(std::type_identity<T>) { return byte_; }
  const H* of(std::type_identity<const T*>) { return &byte_; }
  H of(std::type_identity<O>) { return bor_; }
  H of(std::type_identity<C>) { return comm_; }
  int of(std::type_identity<int>) { return zero_; }  // the root

  H byte_, bor_, comm_;
  int count_, zero_ = 0;
  int place_ = 0;  // as many bytes as are counted here, and more
};

}  // namespace

// Like MPI_COMM_SELF, but it returns errors, and has none of the program's attributes, whose
// functions would be called; native_.null_comm where there is no MPI_COMM_WORLD.
template <class H>
H Arguments<H>::quiet_comm() {
  const std::lock_guard lock(quieting_);
  if (!has_quiet_ && world_.has_world() &&
      native_.comm_split(native_.self_comm, 0, 0, &quiet_) == 0) {
    has_quiet_ = true;
    native_.comm_set_errhandler(quiet_, native_.errors_return);
  }
  return has_quiet_ ? quiet_ : native_.null_comm;
}

// `call(alone)` is tried once, on a communicator of one rank.
template <class H>
template <class Call>
bool Arguments<H>::refuses(std::atomic<Verdict>& verdict, Call call) {
  if (verdict.load(std::memory_order_relaxed) == Verdict::unknown) {
    const std::lock_guard lock(asking_);
    const H alone = quiet_comm();
    if (alone == native_.null_comm) return false;
    verdict.store(call(alone) != 0 ? Verdict::refuses : Verdict::accepts,
                  std::memory_order_relaxed);
  }
  return verdict.load(std::memory_order_relaxed) == Verdict::refuses;
}

template <class H>
bool Arguments<H>::refuses_alias(Collective collective, bool one_element) {
  static std::array<std::array<std::atomic<Verdict>, collective_count>, 2> verdicts{};
  return refuses(verdicts[one_element][static_cast<std::size_t>(collective)],
                 [&](H alone) { return alias_on(alone, collective, one_element ? 1 : 2); });
}

template <class H>
bool Arguments<H>::refuses_no_result() {
  static std::atomic<Verdict> verdict{};
  return refuses(verdict, [this](H alone) {
    int x = 0;
    auto* const none = const_cast<void*>(native_.in_place);
    return native_.small.exscan(&x, none, 1, native_.byte, native_.bor, alone);
  });
}

// What the MPI returns for that, on a communicator of one rank.
template <class H>
int Arguments<H>::alias_on(H alone, Collective collective, int count) {
  Aliased<H> given(native_, alone, count);
  switch (collective) {
#define TUTTI_BARRIER(name, Name) \
  case Collective::name:          \
    return 0;
#define TUTTI_COLLECTIVE(name, Name, root, computed, arguments, more, ...) \
  case Collective::name:                                                   \
    return given.call(native_.small.name, static_cast<int (*)(__VA_ARGS__)>(nullptr));
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE
#undef TUTTI_BARRIER
  }
  return 0;
}

// To send to nobody checks that, too.
template <class H>
bool Arguments<H>::is_committed(H type) {
  const H alone = quiet_comm();
  if (alone == native_.null_comm) return true;
  const int nobody = null_rank(native_.family);
  const int place = 0;
  return native_.send(&place, 1, type, nobody, 0, alone) == 0;
}

template <class H>
const reduce::Kernel* Arguments<H>::kernel_as_computed(H comm, H type, H op, reduce::Op which,
                                                       std::size_t element_bytes) {
  const std::lock_guard lock(asking_);
  const auto [known, is_new] = compared_.try_emplace({type, op});
  if (!is_new) return known->second;
  H own = native_.null_comm, alone = quiet_comm();
  if (alone == native_.null_comm) {
    alone = own = alone_of(native_, comm);
    if (own == native_.null_comm) return nullptr;
    native_.comm_set_errhandler(own, native_.errors_return);
  }
  const auto* kernel = compare_kernels(alone, type, op, which, element_bytes);
  if (own != native_.null_comm) native_.comm_free(&own);
  return known->second = kernel;
}

template <class H>
const reduce::Kernel* Arguments<H>::compare_kernels(H alone, H type, H op, reduce::Op which,
                                                    std::size_t element_bytes) {
  using reduce::Type;
  // With single bytes, all pairs; of larger elements some that differ in the sign. What overflows
  // is not defined, and Open MPI, say, sees to it in some of the elements: sums and products are
  // of numbers from -8 to 7.
  constexpr std::size_t count = 1 << 16;
  std::vector<unsigned char> lefts(count * element_bytes), rights(lefts.size());
  std::vector<unsigned char> ours(lefts.size());
  const bool small = which == reduce::Op::sum || which == reduce::Op::prod;
  std::minstd_rand random;
  for (std::size_t i = 0; i < lefts.size(); ++i) {
    const std::size_t pair = i / element_bytes;
    const bool first = i % element_bytes == 0, last = (i + 1) % element_bytes == 0;
    const auto put = [&](unsigned char& byte, std::size_t number) {
      const std::size_t nibble = number % 16, sign = nibble < 8 ? 0 : ~std::size_t{15};
      byte = static_cast<unsigned char>(small ? (first ? nibble | sign : sign)
                                              : (last ? number : random()));
    };
    put(lefts[i], pair);
    put(rights[i], small ? pair >> 4 : pair >> 8);
  }
  if (native_.small.allreduce(lefts.data(), ours.data(), 1, type, op, alone) != 0) return nullptr;
  std::vector<unsigned char> theirs = rights;
  if (native_.reduce_local(lefts.data(), theirs.data(), count, type, op) != 0) return nullptr;
  for (const Type candidate : {Type::i8, Type::u8, Type::i16, Type::u16, Type::i32, Type::u32,
                               Type::i64, Type::u64, Type::boolean}) {
    const reduce::Kernel* kernel = reduce::find(which, candidate);
    if (kernel == nullptr || reduce::size_of(candidate) != element_bytes) continue;
    kernel->apply(ours.data(), lefts.data(), rights.data(), count, reduce::Stores::plain);
    if (ours == theirs) return kernel;
  }
  return nullptr;
}

template <class H>
void Arguments<H>::close() {
  if (has_quiet_) native_.comm_free(&quiet_);
  has_quiet_ = false;
}

template class Arguments<int>;
template class Arguments<void*>;

}  // namespace tutti::mpi

// SPDX-License-Identifier: BSD-3-Clause
// The MPI's own packing, also of what lies at MPI_BOTTOM: MPICH's MPI_Pack and MPI_Unpack take that
// for a null pointer by mistake. They get another address then, and a datatype that leads back.
#pragma once

#include <climits>
#include <cstdlib>

#include "base/base.h"
#include "mpi/native.h"

namespace tutti::mpi {

// `count` of `type` at `user`, as an MPI may be told of it; `anchor` is any other address.
template <class H>
class Packable {
 public:
  Packable(const Native<H>& native, const void* user, int count, H type, const void* anchor)
      : native_(native), address_(const_cast<void*>(user)), count_(count), type_(type) {
    if (user != nullptr) return;
    const Aint back = -reinterpret_cast<Aint>(anchor);
    if (native_.type_create_hindexed(1, &count, &back, type, &type_) != 0) return;
    native_.type_commit(&type_);
    address_ = const_cast<void*>(anchor);
    count_ = 1;
    made_ = true;
  }
  ~Packable() {
    if (made_) native_.type_free(&type_);
  }
  Packable(const Packable&) = delete;
  Packable& operator=(const Packable&) = delete;

  // `packed`: how many bytes it has become.
  int pack(void* raw, Count bytes, H comm, Count* packed = nullptr) const {
    Count position = 0;
    int code = 0;
    if (bytes > INT_MAX) {
      need_large_forms(bytes);
      code = native_.pack_c(address_, count_, type_, raw, bytes, &position, comm);
    } else {
      int small = 0;
      const auto room = static_cast<int>(bytes);
      code = native_.pack(address_, count_, type_, raw, room, &small, comm);
      position = small;
    }
    if (packed != nullptr) *packed = position;
    return code;
  }
  int unpack(const void* raw, Count bytes, H comm) const {
    if (bytes > INT_MAX) {
      need_large_forms(bytes);
      Count position = 0;
      return native_.unpack_c(raw, bytes, &position, address_, count_, type_, comm);
    }
    int position = 0;
    return native_.unpack(raw, static_cast<int>(bytes), &position, address_, count_, type_, comm);
  }

 private:
  void need_large_forms(Count bytes) const {
    if (native_.pack_c != nullptr && native_.unpack_c != nullptr) return;
    log::fatal(
        "%lld bytes are more than this MPI packs at once of a datatype that only it can "
        "(MPI_Type_create_darray, or one of very many parts); one that has MPI_Pack_c does",
        static_cast<long long>(bytes));
    std::abort();
  }

  const Native<H>& native_;
  void* address_;
  int count_;
  H type_;
  bool made_ = false;
};

}  // namespace tutti::mpi

// SPDX-License-Identifier: BSD-3-Clause
// MPI_Waitall by MPI_Testsome, which completes requests as they end: the statuses of those that the
// MPI knows no more, until there are all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "mpi/handles.h"

namespace tutti::mpi {

class Piecemeal {
 public:
  Piecemeal(const StatusLayout& layout, void* statuses, int count)
      : layout_(layout),
        statuses_(layout.ignores(statuses) ? nullptr : static_cast<std::byte*>(statuses)),
        count_(static_cast<std::size_t>(std::max(count, 0))) {}

  // Where MPI_Testsome lists what it has completed. It fills as many statuses, the first.
  [[nodiscard]] int* indices() {
    if (indices_.empty()) {
      indices_.resize(count_);
      errors_.resize(count_, none);
      if (statuses_ != nullptr) kept_.resize(count_ * layout_.bytes);
    }
    return indices_.data();
  }
  // `peer_error`: their errors are set, too.
  void keep(int done, bool told) {
    for (int i = 0; i < done; ++i) {
      const auto at = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
      errors_[at] = 0;
      if (statuses_ == nullptr) continue;
      const std::byte* status = statuses_ + static_cast<std::size_t>(i) * layout_.bytes;
      std::memcpy(&kept_[at * layout_.bytes], status, layout_.bytes);
      if (told) errors_[at] = layout_.error_of(status);
    }
  }
  // Puts them where they belong; other(i, status) is called for each of the others.
  template <class Other>
  void put(Other other) const {
    if (statuses_ == nullptr) return;
    for (std::size_t i = 0; i < errors_.size(); ++i) {
      std::byte* const status = statuses_ + i * layout_.bytes;
      if (errors_[i] == none) {
        other(i, status);
        continue;
      }
      std::memcpy(status, &kept_[i * layout_.bytes], layout_.bytes);
      layout_.set_error(status, errors_[i]);
    }
  }

 private:
  static constexpr int none = -1;  // not over

  const StatusLayout layout_;
  std::byte* const statuses_;  // nullptr: nobody asks
  const std::size_t count_;
  std::vector<int> indices_, errors_;
  std::vector<std::byte> kept_;
};

}  // namespace tutti::mpi

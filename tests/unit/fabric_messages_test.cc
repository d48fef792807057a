// SPDX-License-Identifier: BSD-3-Clause
// Into which parts messages go.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "fabric/messages.h"

namespace tutti::fabric {
namespace {

// In bytes; all but the last have as many.
std::vector<std::size_t> parts_of(const Cut& cut, std::size_t bytes) {
  const std::size_t most = cut.part_of(bytes);
  std::vector<std::size_t> parts;
  do {
    parts.push_back(std::min(most, bytes));
    bytes -= parts.back();
  } while (parts.back() == most);
  return parts;
}

using Parts = std::vector<std::size_t>;

TEST(Cut, IsOfLongMessages) {
  EXPECT_EQ(parts_of({}, 1000), Parts{1000});
  const Cut cut{48, 256, 500};
  EXPECT_EQ(parts_of(cut, 0), Parts{0});
  EXPECT_EQ(parts_of(cut, 255), Parts{255});
  EXPECT_EQ(parts_of(cut, 256), (Parts{48, 48, 48, 48, 48, 16}));
  EXPECT_EQ(parts_of(cut, 501), Parts{501});
}

// A receiver that awaits one length meets a part of another length where the other one is sent.
TEST(Cut, TellsLengthsApart) {
  for (const Cut cut : {Cut{48, 48, 500}, Cut{48, 256, 500}, Cut{48, 240, 480}, Cut{600, 600, 500}})
    for (std::size_t sent = 0; sent < 700; ++sent)
      for (std::size_t awaited = 0; awaited < 700; ++awaited) {
        if (sent == awaited) continue;
        const Parts all = parts_of(cut, awaited), some = parts_of(cut, sent);
        const std::size_t both = std::min(all.size(), some.size());
        ASSERT_FALSE(
            std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(both), some.begin()))
            << cut.part_bytes << " " << cut.least_bytes << ": " << sent << " for " << awaited;
      }
}

}  // namespace
}  // namespace tutti::fabric

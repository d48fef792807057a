// SPDX-License-Identifier: BSD-3-Clause
// The bookkeeping alone, against a model that knows each page by itself.
#include "commons/extents.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace tutti::commons {
namespace {

class Model {
 public:
  explicit Model(std::uint32_t pages, std::uint64_t origin = 0)
      : map_(pages), zero_(pages, true), owned_(pages, false), origin_(origin) {
    extents_.start(map_.data(), pages, origin);
  }

  void take(const Extents::Request& request) {
    Extents::Taken taken;
    if (!extents_.take(request, &taken)) return;
    ASSERT_GT(taken.first, 0u);
    ASSERT_EQ((origin_ + taken.first) % request.alignment, 0u);
    ASSERT_LE(taken.first + request.pages, map_.size());
    own(taken.first, request.pages, taken.dirty);
    blocks_[taken.first] = request.pages;
  }

  void give(std::size_t which) {
    const auto block = nth(which);
    extents_.give(block->first);
    disown(block->first, block->second);
    blocks_.erase(block);
  }

  void resize(std::size_t which, std::uint32_t pages, std::uint32_t slack) {
    const auto block = nth(which);
    const auto [first, before] = *block;
    if (pages <= before) {
      extents_.shrink(first, pages);
      disown(first + pages, before - pages);
    } else if (extents_.grow(first, pages, slack)) {
      own(first + before, pages - before, pages);
    } else {
      return;
    }
    block->second = pages;
  }

  void begin_punch(std::uint32_t most) {
    Extents::Span span;
    if (!extents_.begin_punch(most, &span)) return;
    ASSERT_LE(span.pages, most);
    own(span.first, span.pages, span.pages);
    spans_.push_back(span);
  }

  void end_punch(bool punched) {
    if (spans_.empty()) return;
    const Extents::Span span = spans_.back();
    spans_.pop_back();
    extents_.end_punch(span, punched);
    for (std::uint32_t i = 0; i < span.pages; ++i) {
      owned_[span.first + i] = false;
      zero_[span.first + i] = punched;
    }
  }

  void forget() {
    spans_.clear();
    extents_.all_free_is_clean();
    for (std::size_t i = 0; i < zero_.size(); ++i) zero_[i] = true;
    owned_.assign(owned_.size(), false);
    for (const auto& [first, pages] : blocks_) own(first, pages, pages);
  }

  void check() const {
    ASSERT_TRUE(extents_.is_valid());
    ASSERT_EQ(extents_.blocks(), blocks_.size());
    std::uint64_t used = 0;
    for (const auto& [first, pages] : blocks_) {
      used += pages;
      ASSERT_TRUE(extents_.is_block(first));
      ASSERT_EQ(extents_.used_pages(first), pages);
      if (pages > 1) {
        ASSERT_FALSE(extents_.is_block(first + 1));
      }
    }
    ASSERT_EQ(extents_.used(), used);
    std::uint64_t runs = 0;
    (void)extents_.for_each_used_run([&](PageIndex, std::uint32_t pages) {
      runs += pages;
      return true;
    });
    ASSERT_EQ(runs, used + 1);  // page 0
  }

  [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }
  [[nodiscard]] Extents& extents() { return extents_; }

 private:
  // The pages of a new part of a block: nobody else's, and zero beyond the first `dirty`.
  // Afterwards they have been written to.
  void own(std::uint32_t first, std::uint32_t pages, std::uint32_t dirty) {
    for (std::uint32_t i = 0; i < pages; ++i) {
      ASSERT_FALSE(owned_[first + i]) << "page " << first + i << " was handed out twice";
      ASSERT_TRUE(i < dirty || zero_[first + i]) << "page " << first + i << " is not zero";
      owned_[first + i] = true;
      zero_[first + i] = false;
    }
  }
  void disown(std::uint32_t first, std::uint32_t pages) {
    for (std::uint32_t i = 0; i < pages; ++i) owned_[first + i] = false;
  }
  std::map<std::uint32_t, std::uint32_t>::iterator nth(std::size_t which) {
    return std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(which % blocks_.size()));
  }

  Extents extents_;
  std::vector<Page> map_;
  std::vector<bool> zero_;
  std::vector<bool> owned_;
  std::map<std::uint32_t, std::uint32_t> blocks_;
  std::vector<Extents::Span> spans_;
  std::uint64_t origin_;
};

class CommonsExtentsSeeded : public testing::TestWithParam<int> {};

TEST_P(CommonsExtentsSeeded, AnyOrderOfOperationsKeepsPagesApartAndZerosKnown) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto upto = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n) + 1; };
  Model model(1u << (8 + GetParam() % 6), static_cast<std::uint64_t>(GetParam() % 3) * 77);
  for (int step = 0; step < 4000; ++step) {
    const bool large = random() % 8 == 0;
    switch (random() % 10) {
      case 0:
      case 1:
      case 2:
        model.take({.pages = upto(large ? 200 : 12)});
        break;
      case 3:
        model.take({.pages = upto(12), .alignment = 1u << random() % 7});
        break;
      case 4:
        model.take({.pages = upto(12), .slack = upto(48)});
        break;
      case 5:
      case 6:
        if (model.blocks() > 0) model.give(random());
        break;
      case 7:
        if (model.blocks() > 0) model.resize(random(), upto(large ? 100 : 20), random() % 40);
        break;
      case 8:
        model.begin_punch(upto(large ? 400 : 10));
        break;
      case 9:
        model.end_punch(random() % 4 != 0);
        if (random() % 100 == 0) model.forget();
        break;
    }
    if (HasFatalFailure()) FAIL() << "at step " << step;
    model.check();
    if (HasFatalFailure()) FAIL() << "at step " << step;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, CommonsExtentsSeeded, testing::Range(0, 60));

TEST(CommonsExtents, EverythingGivenAndPunchedIsOneExtentAgain) {
  Model model(1024);
  for (int i = 0; i < 30; ++i) model.take({.pages = 7u + static_cast<unsigned>(i)});
  while (model.blocks() > 0) model.give(model.blocks() / 2);
  model.begin_punch(10000);
  model.end_punch(true);
  model.check();
  EXPECT_EQ(model.extents().dirty(), 0u);
  Extents::Taken all;
  EXPECT_TRUE(model.extents().take({.pages = 1022}, &all));
  EXPECT_EQ(all.first, 1u);
  EXPECT_EQ(all.dirty, 0u);
}

// As when the kernel has refused to make a block accessible.
TEST(CommonsExtents, WhatNobodyCouldTouchStaysClean) {
  Model model(1024);
  Extents& extents = model.extents();
  Extents::Taken taken;
  ASSERT_TRUE(extents.take({.pages = 500}, &taken));
  extents.give(taken.first, taken.first);
  EXPECT_EQ(extents.dirty(), 0u);
  EXPECT_TRUE(extents.is_valid());
  ASSERT_TRUE(extents.take({.pages = 500}, &taken));
  extents.give(taken.first, taken.first + 30);
  EXPECT_EQ(extents.dirty(), 30u);
  EXPECT_TRUE(extents.is_valid());
  ASSERT_TRUE(extents.take({.pages = 20}, &taken));
  EXPECT_EQ(taken.dirty, 20u);
  ASSERT_TRUE(extents.grow(taken.first, 200, 50));
  EXPECT_EQ(extents.dirty(), 0u);
  extents.shrink(taken.first, 20, taken.first + 30);
  EXPECT_EQ(extents.dirty(), 10u);
  EXPECT_TRUE(extents.is_valid());
  extents.give(taken.first, 0);
  EXPECT_EQ(extents.dirty(), 10u);
  EXPECT_TRUE(extents.is_valid());
  Extents::Span span;
  ASSERT_TRUE(extents.begin_punch(1000, &span));
  extents.end_punch(span, true);
  EXPECT_TRUE(extents.take({.pages = 1022}, &taken));
}

TEST(CommonsExtents, MoreThanThereIsIsRefused) {
  Model model(64);
  Extents::Taken taken;
  EXPECT_FALSE(model.extents().take({.pages = 64}, &taken));
  EXPECT_FALSE(model.extents().take({.pages = 0}, &taken));
  EXPECT_FALSE(model.extents().take({.pages = ~0u}, &taken));
  EXPECT_FALSE(model.extents().take({.pages = 8, .alignment = 1u << 31}, &taken));
  EXPECT_FALSE(model.extents().take({.pages = 8, .slack = ~0u}, &taken));
  EXPECT_TRUE(model.extents().is_valid());
}

TEST(CommonsExtents, ResidentPagesAreUsedAgainFirst) {
  Extents extents;
  std::vector<Page> map(1024);
  extents.start(map.data(), 1024, 0);
  Extents::Taken a, b, again;
  ASSERT_TRUE(extents.take({.pages = 100}, &a));
  ASSERT_TRUE(extents.take({.pages = 1}, &b));
  extents.give(a.first);
  ASSERT_TRUE(extents.take({.pages = 40}, &again));
  EXPECT_EQ(again.first, a.first);
  EXPECT_EQ(again.dirty, 40u);
  // Sixty dirty pages are left before b, and many clean ones behind it.
  ASSERT_TRUE(extents.take({.pages = 61}, &again));
  EXPECT_EQ(again.dirty, 0u);
}

TEST(CommonsExtents, ABlockBeginsWithDirtyPagesThatHoldHalfOfIt) {
  Extents extents;
  std::vector<Page> map(4096);
  extents.start(map.data(), 4096, 0);
  Extents::Taken larger, wall, smaller, again;
  ASSERT_TRUE(extents.take({.pages = 70}, &larger));
  ASSERT_TRUE(extents.take({.pages = 1}, &wall));
  ASSERT_TRUE(extents.take({.pages = 60}, &smaller));
  extents.give(larger.first);
  extents.give(smaller.first);
  ASSERT_TRUE(extents.take({.pages = 100}, &again));
  EXPECT_EQ(again.first, smaller.first) << "behind the other one there is no room";
  EXPECT_EQ(again.dirty, 60u);
}

TEST(CommonsExtents, WhatThePunchLeftIsTheFrontOfTheNextBlock) {
  Extents extents;
  std::vector<Page> map(1024);
  extents.start(map.data(), 1024, 0);
  Extents::Taken a, again;
  ASSERT_TRUE(extents.take({.pages = 100}, &a));
  extents.give(a.first);
  Extents::Span span;
  ASSERT_TRUE(extents.begin_punch(30, &span));
  EXPECT_EQ(span.first, a.first + 70);
  extents.end_punch(span, true);
  ASSERT_TRUE(extents.take({.pages = 100}, &again));
  EXPECT_EQ(again.first, a.first);
  EXPECT_EQ(again.dirty, 70u);
}

}  // namespace
}  // namespace tutti::commons

// SPDX-License-Identifier: BSD-3-Clause
// A sequence of whole numbers that takes memory for each run of them, in which each number differs
// from the one before by as much. Where ranks are numbered one node after the other, or in turns
// over nodes, what is to be known of each rank (its node, its place there) has as many runs as
// there are nodes, or ranks of one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <vector>

namespace tutti {

class Runs {
 public:
  Runs() = default;
  Runs(std::initializer_list<std::int32_t> values) {
    for (const std::int32_t value : values) push_back(value);
  }
  template <std::ranges::input_range Values>
  explicit Runs(const Values& values) {
    for (const auto value : values) push_back(static_cast<std::int32_t>(value));
    shrink();
  }

  void push_back(std::int32_t value) {
    if (runs_.empty() || !continues(value))
      runs_.push_back({static_cast<std::uint32_t>(size_), static_cast<std::uint32_t>(value), 0});
    ++size_;
  }
  // When there are no more to come.
  void shrink() { runs_.shrink_to_fit(); }
  void clear() {
    runs_.clear();
    size_ = 0;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // At once if runs are about as long as each other, else in the logarithm of their number.
  [[nodiscard]] std::int32_t operator[](std::size_t i) const { return run_of(i)->at(i); }
  // Of memory.
  [[nodiscard]] std::size_t bytes() const { return runs_.capacity() * sizeof(Run); }

  bool operator==(const Runs&) const = default;

 private:
  struct Run {
    std::uint32_t begin, first, step;  // modulo 2^32, so any values will do
    [[nodiscard]] std::int32_t at(std::size_t i) const {
      return static_cast<std::int32_t>(first + step * (static_cast<std::uint32_t>(i) - begin));
    }
    bool operator==(const Run&) const = default;
  };
  using Place = std::vector<Run>::const_iterator;

  // Takes the value into the last run if it fits there. A second value always does.
  bool continues(std::int32_t value) {
    Run& last = runs_.back();
    if (size_ - last.begin == 1) last.step = static_cast<std::uint32_t>(value) - last.first;
    return last.at(size_) == value;
  }
  [[nodiscard]] std::size_t end_of(Place run) const {
    return run + 1 == runs_.end() ? size_ : run[1].begin;
  }
  [[nodiscard]] Place run_of(std::size_t i) const {
    if (runs_.size() == 1) return runs_.begin();
    const auto guess = runs_.begin() + static_cast<std::ptrdiff_t>(i * runs_.size() / size_);
    if (guess->begin <= i && i < end_of(guess)) return guess;
    return std::ranges::upper_bound(runs_, i, {}, &Run::begin) - 1;
  }

 public:
  class Iterator {
   public:
    using value_type = std::int32_t;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const Runs& runs, std::size_t i)
        : runs_(&runs), run_(i < runs.size() ? runs.run_of(i) : runs.runs_.end()), i_(i) {}
    explicit Iterator(std::size_t end) : i_(end) {}  // to compare with
    std::int32_t operator*() const { return run_->at(i_); }
    Iterator& operator++() {
      if (++i_ == runs_->end_of(run_)) ++run_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return i_ == other.i_; }

   private:
    const Runs* runs_ = nullptr;
    Place run_{};
    std::size_t i_ = 0;
  };
  // Some of them, one after the other. It lives as long as they do, and where they are.
  class Part {
   public:
    Part(const Runs& runs, std::size_t begin, std::size_t end)
        : runs_(&runs), begin_(begin), end_(end) {}
    [[nodiscard]] std::size_t size() const { return end_ - begin_; }
    [[nodiscard]] std::int32_t operator[](std::size_t i) const { return (*runs_)[begin_ + i]; }
    [[nodiscard]] std::int32_t front() const { return (*runs_)[begin_]; }
    [[nodiscard]] std::int32_t back() const { return (*runs_)[end_ - 1]; }
    [[nodiscard]] Iterator begin() const { return {*runs_, begin_}; }
    [[nodiscard]] Iterator end() const { return Iterator(end_); }

   private:
    const Runs* runs_;
    std::size_t begin_, end_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return Iterator(size_); }
  [[nodiscard]] Part part(std::size_t begin, std::size_t end) const { return {*this, begin, end}; }

 private:
  std::vector<Run> runs_;
  std::size_t size_ = 0;
};
static_assert(std::forward_iterator<Runs::Iterator>);

}  // namespace tutti

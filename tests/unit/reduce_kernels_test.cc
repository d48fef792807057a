// SPDX-License-Identifier: BSD-3-Clause
// Every kernel of every instruction set this processor has, against the scalar reference, to the
// bit: lengths, alignments, in place, one and two outputs, both kinds of stores, slices.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "reduce/targets.h"
#include "unit/reduce_operands.h"

namespace tutti::reduce::testing {
namespace {

enum class Place { apart, over_left, over_right };

struct Case {
  std::size_t first;  // element of the operands
  std::size_t count;
  Place place;
  bool two;
  Place second;  // of the second output; never the same as `place` unless apart
  Stores stores;
  std::size_t left_offset, right_offset, a_offset, b_offset;  // bytes from a 64-byte boundary
};

struct Problem {
  const Kernel* kernel;
  Type type;
  Bytes left, right, expected;
};

std::string describe(const Target& target, Op op, Type type) {
  return std::string(target.name) + " " + name_of(op) + " " + name_of(type);
}

Problem problem_of(const Target& target, Op op, Type type, std::size_t count) {
  Operands operands(97 * static_cast<std::uint64_t>(type) + static_cast<std::uint64_t>(op));
  Problem p = {target.find(op, type), type, operands.make(type, count), operands.make(type, count),
               Bytes(count * size_of(type))};
  find_scalar(op, type)->apply(p.expected.data(), p.left.data(), p.right.data(), count,
                               Stores::plain);
  return p;
}

::testing::AssertionResult check(const Problem& p, const Case& c) {
  const std::size_t from = c.first * size_of(p.type);
  const std::size_t bytes = c.count * size_of(p.type);
  Guarded left(c.left_offset, p.left.data() + from, bytes);
  Guarded right(c.right_offset, p.right.data() + from, bytes);
  Guarded a(c.a_offset, bytes);
  Guarded b(c.b_offset, bytes);
  const auto output = [&](Place place, Guarded& apart) -> Guarded& {
    return place == Place::apart ? apart : place == Place::over_left ? left : right;
  };
  Guarded& out_a = output(c.place, a);
  Guarded& out_b = output(c.second, b);
  if (c.two) {
    p.kernel->apply2(out_a.data(), out_b.data(), left.data(), right.data(), c.count, c.stores);
  } else {
    p.kernel->apply(out_a.data(), left.data(), right.data(), c.count, c.stores);
  }

  const auto where = [&](const char* what) {
    return ::testing::AssertionFailure()
           << what << ": count " << c.count << " from " << c.first << ", place "
           << static_cast<int>(c.place) << (c.two ? " two outputs, " : " one output, ")
           << static_cast<int>(c.second) << (c.stores == Stores::plain ? ", plain" : ", streaming")
           << ", offsets " << c.left_offset << " " << c.right_offset << " " << c.a_offset << " "
           << c.b_offset;
  };
  if (!out_a.equals(p.expected.data() + from)) return where("wrong result");
  if (c.two && !out_b.equals(p.expected.data() + from)) return where("wrong second result");
  const bool left_written = &out_a == &left || (c.two && &out_b == &left);
  const bool right_written = &out_a == &right || (c.two && &out_b == &right);
  if (!left_written && !left.equals(p.left.data() + from)) return where("left was changed");
  if (!right_written && !right.equals(p.right.data() + from)) return where("right was changed");
  for (const Guarded* g : {&left, &right, &a, &b}) {
    if (!g->guards_intact()) return where("wrote outside an output");
  }
  return ::testing::AssertionSuccess();
}

struct Layout {
  Place place;
  bool two;
  Place second;
};
constexpr Layout layouts[] = {
    {Place::apart, false, Place::apart},         {Place::over_left, false, Place::apart},
    {Place::over_right, false, Place::apart},    {Place::apart, true, Place::apart},
    {Place::over_left, true, Place::apart},      {Place::apart, true, Place::over_left},
    {Place::over_left, true, Place::over_right}, {Place::over_right, true, Place::over_left},
    {Place::apart, true, Place::over_right},     {Place::over_right, true, Place::apart},
};

// Runs `body(target, op, type)` for everything this processor can run.
template <class Body>
void for_each_kernel(Body body) {
  for (const Target& target : targets()) {
    if (!target.is_supported()) continue;
    for (const Op op : all_ops()) {
      for (const Type type : all_types()) {
        if (is_defined(op, type)) body(target, op, type);
      }
    }
  }
}

TEST(ReduceKernels, LengthsAndLayouts) {
  for_each_kernel([](const Target& target, Op op, Type type) {
    SCOPED_TRACE(describe(target, op, type));
    constexpr std::size_t longest = 300;
    const Problem p = problem_of(target, op, type, longest + 64);
    const std::size_t align = alignment_of(type);
    std::mt19937_64 random(1);
    const auto offset = [&] { return random() % 64 / align * align; };
    for (std::size_t count = 0; count <= longest; ++count) {
      for (const Layout& l : layouts) {
        for (const Stores stores : {Stores::plain, Stores::streaming}) {
          // Past the sizes of vectors each length meets a few of the layouts, drawn by lot.
          if (count > 70 && random() % 4 != 0) continue;
          // In every second case both outputs are aligned alike, as pages are.
          const std::size_t common = offset();
          const bool alike = random() % 2 == 0;
          const Case c = {random() % 64,
                          count,
                          l.place,
                          l.two,
                          l.second,
                          stores,
                          alike ? common : offset(),
                          alike ? common : offset(),
                          alike ? common : offset(),
                          alike ? common : offset()};
          ASSERT_TRUE(check(p, c));
        }
      }
    }
  });
}

TEST(ReduceKernels, EveryAlignment) {
  for_each_kernel([](const Target& target, Op op, Type type) {
    SCOPED_TRACE(describe(target, op, type));
    const std::size_t align = alignment_of(type);
    const std::size_t count = 260 / size_of(type) + 67;
    const Problem p = problem_of(target, op, type, count);
    for (std::size_t a = 0; a < 64; a += align) {
      for (std::size_t b = 0; b < 64; b += align) {
        for (const Stores stores : {Stores::plain, Stores::streaming}) {
          ASSERT_TRUE(check(p, {0, count, Place::apart, true, Place::apart, stores, b, a, a, b}));
        }
      }
    }
  });
}

// Beyond the size from which plain stores look ahead.
TEST(ReduceKernels, Long) {
  for_each_kernel([](const Target& target, Op op, Type type) {
    SCOPED_TRACE(describe(target, op, type));
    const std::size_t count = 40'000 / size_of(type) + 5;
    const Problem p = problem_of(target, op, type, count);
    for (const Layout& l : layouts) {
      for (const Stores stores : {Stores::plain, Stores::streaming}) {
        for (const std::size_t slip : {std::size_t{0}, alignment_of(type), std::size_t{16}}) {
          ASSERT_TRUE(check(p, {1, count - 1, l.place, l.two, l.second, stores, 0, 0, 0, slip}));
        }
      }
    }
  });
}

// MPI programs that pass packed structs work on x86 all the same; a non-temporal store must not be
// what ends them.
TEST(ReduceKernels, BuffersMisalignedForTheirType) {
  for_each_kernel([](const Target& target, Op op, Type type) {
    if (target.integers == nullptr || is_pair(type) || type == Type::f80) return;
    SCOPED_TRACE(describe(target, op, type));
    const std::size_t count = 400 / size_of(type) + 67;
    const Problem p = problem_of(target, op, type, count);
    for (std::size_t off = 1; off < size_of(type); ++off) {
      for (const Stores stores : {Stores::plain, Stores::streaming}) {
        ASSERT_TRUE(
            check(p, {0, count, Place::apart, true, Place::apart, stores, off, 1, off, 16}));
        ASSERT_TRUE(check(p, {0, count, Place::apart, true, Place::apart, stores, 0, 0, 32, off}));
      }
    }
  });
}

// Four operands in one pass are the three steps that they stand for, wherever the result goes.
TEST(ReduceKernels, FourOperands) {
  for_each_kernel([](const Target& target, Op op, Type type) {
    SCOPED_TRACE(describe(target, op, type));
    constexpr std::size_t longest = 300;
    const std::size_t each = size_of(type), align = alignment_of(type);
    Operands operands(31 * static_cast<std::uint64_t>(type) + static_cast<std::uint64_t>(op));
    std::vector<Bytes> all;
    for (int q = 0; q < 4; ++q) all.push_back(operands.make(type, longest));
    const Kernel* reference = find_scalar(op, type);
    Bytes left(longest * each), right(longest * each), expected(longest * each);
    const auto meet = [&](Bytes& sum, const Bytes& a, const Bytes& b) {
      reference->apply(sum.data(), a.data(), b.data(), longest, Stores::plain);
    };
    meet(left, all[0], all[1]);
    meet(right, all[2], all[3]);
    meet(expected, left, right);
    std::mt19937_64 random(2);
    for (std::size_t count = 0; count <= longest; count += 1 + count / 40) {
      for (int place = 0; place <= 4; ++place) {  // over an operand, or apart
        const Stores stores = random() % 2 == 0 ? Stores::plain : Stores::streaming;
        std::vector<std::unique_ptr<Guarded>> in;
        for (const Bytes& operand : all)
          in.push_back(std::make_unique<Guarded>(random() % 64 / align * align, operand.data(),
                                                 count * each));
        in.push_back(std::make_unique<Guarded>(random() % 64 / align * align, count * each));
        const void* const from[] = {in[0]->data(), in[1]->data(), in[2]->data(), in[3]->data()};
        target.find(op, type)->apply4(in[static_cast<std::size_t>(place)]->data(), from, count,
                                      stores);
        for (int q = 0; q <= 4; ++q) {
          const auto i = static_cast<std::size_t>(q);
          ASSERT_TRUE(in[i]->guards_intact()) << count << " over " << place;
          if (q == 4 && place != 4) continue;
          const std::byte* wanted = q == place ? expected.data() : all[i].data();
          ASSERT_TRUE(in[i]->equals(wanted)) << q << " of " << count << " over " << place;
        }
      }
    }
  });
}

TEST(ReduceKernels, FindGivesWhatIsDefined) {
  for (const Op op : all_ops()) {
    for (const Type type : all_types()) {
      EXPECT_EQ(find(op, type) != nullptr, is_defined(op, type)) << name_of(op) << name_of(type);
      EXPECT_EQ(find_scalar(op, type) != nullptr, is_defined(op, type));
    }
  }
}

TEST(ReduceKernels, WhatIsExact) {
  for (const Op op : all_ops()) {
    for (const Type type : all_types()) {
      if (!is_defined(op, type)) continue;
      const bool computes = op == Op::sum || op == Op::prod;
      const bool exact = (is_integer(type) || type == Type::boolean) && op != Op::min &&
                         op != Op::max && (!computes || size_of(type) >= 4);
      EXPECT_EQ(find(op, type)->exact, exact) << name_of(op) << name_of(type);
      EXPECT_EQ(find_scalar(op, type)->exact, exact) << name_of(op) << name_of(type);
    }
  }
}

TEST(ReduceKernels, TheBestSupportedTargetIsChosen) {
  const Target* best = nullptr;
  for (const Target& target : targets()) {
    if (best == nullptr && target.is_supported()) best = &target;
  }
  ASSERT_NE(best, nullptr);
  EXPECT_STREQ(target_name(), best->name);
  EXPECT_EQ(find(Op::sum, Type::f32), best->find(Op::sum, Type::f32));
  RecordProperty("target", best->name);
}

}  // namespace
}  // namespace tutti::reduce::testing

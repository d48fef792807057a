// SPDX-License-Identifier: BSD-3-Clause
// Threads that record, and the file that is written from it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "arch/arch.h"
#include "trace/trace.h"
#include "trace/writer.h"

namespace tutti::test {
namespace {

using trace::Entry;
using trace::Kind;
using trace::Span;

void pass(std::uint64_t ticks) {
  for (const std::uint64_t begin = arch::ticks(); arch::ticks() - begin < ticks;) {
  }
}

std::uint64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

constexpr trace::What allreduce = 3;
constexpr std::uint64_t long_ticks = 20'000;

// Everything in one test: the recording is one a process.
TEST(TraceRecord, HasWhatThreadsDid) {
  { const Span before(trace::on(), Kind::waiting, allreduce, 8); }
  const std::uint64_t began_ns = now_ns();
  trace::start();
  ASSERT_TRUE(trace::on());
  pass(long_ticks);
  {
    const Span span(true, Kind::waiting, allreduce, 4096);
    pass(long_ticks);
    const Span inside(true, Kind::waiting, trace::wait, 0);
  }
  // Without a pause they are one.
  for (int i = 0; i < 3; ++i) const Span span(true, Kind::waiting, allreduce, 8);
  pass(long_ticks);
  {
    Span span(true, Kind::waiting, trace::wait, 0);
    span.forget();
  }
  // Now and then a test: part of the computation.
  for (int i = 0; i < 5; ++i) {
    const Span span(true, Kind::waiting, trace::test, 0);
    pass(10);
  }
  const trace::Moment called = trace::now();
  std::thread progress([&] {
    for (int i = 0; i < 50; ++i) {
      const Span span(true, Kind::progress, allreduce + 17, 64);
      pass(long_ticks);
    }
    pass(long_ticks);
    { const Span span(true, Kind::progress, allreduce + 17, 64); }
  });
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i)
    others.emplace_back([] {
      for (int n = 0; n < 100'000; ++n) {
        const Span span(true, Kind::waiting, static_cast<trace::What>(n % 2), 1);
      }
    });
  progress.join();
  for (std::thread& other : others) other.join();
  trace::add_message(allreduce + 17, 64, called, trace::now());
  trace::add_message(allreduce + 17, 64, {}, trace::now());  // called before the start

  const trace::Record record = trace::stop();
  const std::uint64_t ended_ns = now_ns();
  EXPECT_FALSE(trace::on());
  EXPECT_GT(record.dropped, 3u * 30'000) << "of those who called two things in turn";

  const auto of = [&](Kind kind, trace::What what, std::uint64_t bytes) {
    std::vector<Entry> found;
    for (const Entry& each : record.spans)
      if (each.kind == kind && each.what == what && each.bytes == bytes) found.push_back(each);
    return found;
  };
  EXPECT_EQ(of(Kind::waiting, allreduce, 4096).size(), 1u);
  EXPECT_TRUE(of(Kind::waiting, trace::wait, 0).empty()) << "inside another, and forgotten";
  std::uint64_t calls = 0;
  for (const Entry& each : of(Kind::waiting, allreduce, 8)) calls += each.calls;
  EXPECT_EQ(calls, 3u) << "not the one before the start";
  EXPECT_GE(of(Kind::computing, trace::nothing, 0).size(), 2u);
  EXPECT_GE(of(Kind::progress, allreduce + 17, 64).size(), 2u);
  EXPECT_GE(of(Kind::idle, trace::nothing, 0).size(), 1u);
  EXPECT_EQ(std::count_if(record.messages.begin(), record.messages.end(),
                          [](const Entry& each) { return each.what == allreduce + 17; }),
            1);
  const auto is_inside = [&](const Entry& each) {
    constexpr std::uint64_t tolerance_ns = 100'000;
    return each.begin <= each.end && each.begin + tolerance_ns >= began_ns &&
           each.end <= ended_ns + tolerance_ns;
  };
  EXPECT_TRUE(std::all_of(record.spans.begin(), record.spans.end(), is_inside));
  EXPECT_TRUE(std::all_of(record.messages.begin(), record.messages.end(), is_inside));
}

std::array<char, 32> name_of(std::size_t collective) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "C%zu", collective);
  return name;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(TraceWriter, WritesTheFormat) {
  const std::string path = testing::TempDir() + "tutti-trace-" + std::to_string(::getpid());
  {
    trace::Writer writer(path.c_str(), 2, name_of);
    const Entry spans[] = {
        {.begin = 100, .end = 200, .core = 3},
        {.begin = 200, .end = 300, .bytes = 1536, .calls = 2, .kind = Kind::waiting, .what = 4}};
    const Entry message{.begin = 200,
                        .end = 300,
                        .bytes = 1536,
                        .calls = 2,
                        .core = 1,
                        .kind = Kind::message,
                        .what = 4};
    writer.add_spans({.rank = 7, .node = 1, .shift_ns = -150}, spans);
    writer.add_messages({.rank = 7, .node = 1, .shift_ns = -150}, std::span(&message, 1));
    EXPECT_EQ(content_of(path), "") << "not before it is complete";
    EXPECT_TRUE(writer.finish(5));
  }
  EXPECT_EQ(content_of(path), R"({"version":1,"unit":"ns",
"spans":[
{"core":65539,"rank":7,"executor":"rank","kind":"computing","begin":-50,"end":50},
{"core":65536,"rank":7,"executor":"rank","kind":"waiting","begin":50,"end":150,"what":"C4 1.5 KiB, 2 calls"}],
"messages":[
{"bytes":3072,"from":{"core":65536,"rank":7},"to":{"core":65537,"rank":7},"begin":50,"end":150,"what":"C4 1.5 KiB, 2 calls"}],
"cores":[
{"core":65536,"name":"node 1 core 0"},
{"core":65537,"name":"node 1 core 1"},
{"core":65539,"name":"node 1 core 3"}],
"dropped":5}
)");
  ::unlink(path.c_str());
}

TEST(TraceWriter, LeavesNothingWhenItDoesNotFinish) {
  const std::string folder = testing::TempDir() + "tutti-trace-" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  { const trace::Writer writer((folder + "/trace.json").c_str(), 1, name_of); }
  EXPECT_EQ(::rmdir(folder.c_str()), 0) << "it is empty";
  trace::Writer nowhere("/nope/trace.json", 1, name_of);
  EXPECT_FALSE(nowhere.finish(0));
}

// As when two jobs end together.
TEST(TraceWriter, TwoOfOneNameAreWholeEach) {
  const std::string path = testing::TempDir() + "tutti-traces-" + std::to_string(::getpid());
  trace::Writer one(path.c_str(), 1, name_of), other(path.c_str(), 1, name_of);
  const Entry span{.begin = 100, .end = 200, .core = 3};
  other.add_spans({.rank = 1, .node = 0, .shift_ns = 0}, std::span(&span, 1));
  EXPECT_TRUE(one.finish(5));
  const std::string first = content_of(path);
  EXPECT_TRUE(first.ends_with("\"dropped\":5}\n")) << first;
  for (int i = 0; i < 1000; ++i)
    other.add_spans({.rank = 1, .node = 0, .shift_ns = 0}, std::span(&span, 1));
  EXPECT_EQ(content_of(path), first);
  EXPECT_TRUE(other.finish(6));
  EXPECT_TRUE(content_of(path).ends_with("\"dropped\":6}\n"));
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace tutti::test

// SPDX-License-Identifier: BSD-3-Clause
#include "trace/writer.h"

#include <cinttypes>
#include <iterator>
#include <utility>

namespace tutti::trace {
namespace {

constexpr int node_shift = 16;  // more than a core's number has bits

const char* name_of(Kind kind) {
  static constexpr const char* names[] = {"computing", "progress", "waiting", "idle", "message"};
  return names[static_cast<std::size_t>(kind)];
}

const char* executor_of(Kind kind) {
  return kind == Kind::progress || kind == Kind::idle ? "progress" : "rank";
}

// "2 MiB", "1.5 KiB", as the reports have it.
std::array<char, 32> text_of_bytes(std::uint64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double count = static_cast<double>(bytes);
  for (; count >= 1024 && unit + 1 < std::size(units); ++unit) count /= 1024;
  const bool whole = count == static_cast<double>(static_cast<std::uint64_t>(count));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", whole ? 0 : 1, count, units[unit]);
  return text;
}

}  // namespace

Writer::Writer(const char* path, int nodes, NameOf name_of)
    : nodes_(nodes), name_of_(name_of), draft_(path), file_(draft_.file()) {
  if (file_ != nullptr) std::fputs("{\"version\":1,\"unit\":\"ns\",\n\"spans\":[", file_);
}

int Writer::number_of(const Source& source, std::uint16_t core) {
  return *cores_.insert(source.node << node_shift | core).first;
}

void Writer::write_what(const Entry& entry) {
  if (entry.what == nothing) return;
  std::fputs(",\"what\":\"", file_);
  if (entry.what == wait) std::fputs("Wait", file_);
  if (entry.what == test) std::fputs("Test", file_);
  if (is_collective(entry.what)) {
    std::fputs(name_of_(entry.what).data(), file_);
    if (entry.bytes > 0) std::fprintf(file_, " %s", text_of_bytes(entry.bytes).data());
  }
  // The parts of one operation are no calls.
  if (entry.calls > 1 && entry.kind != Kind::progress)
    std::fprintf(file_, ", %d calls", entry.calls);
  std::fputc('"', file_);
}

void Writer::add_spans(const Source& source, std::span<const Entry> spans) {
  if (file_ == nullptr) return;
  for (const Entry& span : spans) {
    std::fprintf(
        file_,
        "%s\n{\"core\":%d,\"rank\":%d,\"executor\":\"%s\",\"kind\":\"%s\",\"begin\":%" PRId64
        ",\"end\":%" PRId64,
        comma_, number_of(source, span.core), source.rank, executor_of(span.kind),
        name_of(span.kind), static_cast<std::int64_t>(span.begin) + source.shift_ns,
        static_cast<std::int64_t>(span.end) + source.shift_ns);
    write_what(span);
    std::fputc('}', file_);
    comma_ = ",";
  }
}

void Writer::add_messages(const Source& source, std::span<const Entry> messages) {
  if (file_ == nullptr) return;
  if (!std::exchange(in_messages_, true)) {
    std::fputs("],\n\"messages\":[", file_);
    comma_ = "";
  }
  for (const Entry& message : messages) {
    std::fprintf(file_,
                 "%s\n{\"bytes\":%" PRIu64
                 ",\"from\":{\"core\":%d,\"rank\":%d},"
                 "\"to\":{\"core\":%d,\"rank\":%d},\"begin\":%" PRId64 ",\"end\":%" PRId64,
                 comma_, message.bytes * message.calls, number_of(source, message.from_core),
                 source.rank, number_of(source, message.core), source.rank,
                 static_cast<std::int64_t>(message.begin) + source.shift_ns,
                 static_cast<std::int64_t>(message.end) + source.shift_ns);
    write_what(message);
    std::fputc('}', file_);
    comma_ = ",";
  }
}

bool Writer::finish(std::uint64_t dropped) {
  if (file_ == nullptr) return false;
  std::fputs(in_messages_ ? "],\n\"cores\":[" : "],\n\"messages\":[],\n\"cores\":[", file_);
  comma_ = "";
  for (const int number : cores_) {
    const int node = number >> node_shift, core = number & ((1 << node_shift) - 1);
    std::fprintf(file_, "%s\n{\"core\":%d,\"name\":\"", comma_, number);
    if (nodes_ > 1) std::fprintf(file_, "node %d ", node);
    std::fprintf(file_, "core %d\"}", core);
    comma_ = ",";
  }
  std::fprintf(file_, "],\n\"dropped\":%" PRIu64 "}\n", dropped);
  file_ = nullptr;
  return draft_.finish();
}

}  // namespace tutti::trace

// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/ledger.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/base.h"
#include "os/draft.h"

namespace tutti::mpi {
namespace {

// A JSON string; control characters become spaces.
void quote(std::FILE* file, const char* text) {
  std::fputc('"', file);
  for (; *text != '\0'; ++text) {
    if (*text == '"' || *text == '\\') std::fputc('\\', file);
    std::fputc(static_cast<unsigned char>(*text) < 0x20 ? ' ' : *text, file);
  }
  std::fputc('"', file);
}

}  // namespace

void Ledger::left(std::size_t kind, const char* why) {
  const auto is_known = [&](const Reason& each) {
    return each.why.load(std::memory_order_relaxed) == why;
  };
  const auto becomes_known = [&](Reason& each) {
    const char* known = nullptr;
    if (each.why.compare_exchange_strong(known, why)) return true;
    return known == why || std::strcmp(known, why) == 0;  // other files may say the same
  };
  auto reason = std::ranges::find_if(reasons_, is_known);
  if (reason == reasons_.end()) reason = std::ranges::find_if(reasons_, becomes_known);
  if (reason != reasons_.end()) reason->calls[kind].fetch_add(1, std::memory_order_relaxed);
}

bool Ledger::write(const char* path, const Run& run, const engine::Account& mine,
                   const engine::Account& all) const {
  os::Draft draft(path);
  std::FILE* const file = draft.file();
  if (file == nullptr) return false;
  std::fprintf(file, "{\"version\":1,\"mpi\":");
  quote(file, run.mpi);
  std::fprintf(file, ",\"family\":\"%s\",\"ranks\":%d,\"nodes\":%d,\"calls\":[", run.family,
               run.ranks, run.nodes);
  const char* comma = "";
  for (std::size_t c = 0; c < engine::kinds; ++c) {
    const std::uint64_t taken = mine.calls[c] + answered_[c];
    std::uint64_t left = 0;
    for (const Reason& reason : reasons_) left += reason.calls[c];
    if (left + taken == 0) continue;
    std::fprintf(file,
                 "%s{\"collective\":\"%s\",\"seen\":%" PRIu64 ",\"taken\":%" PRIu64
                 ",\"left\":%" PRIu64 ",\"bytes\":%" PRIu64,
                 comma, engine::name_of_kind(c).data(), left + taken, taken, left, all.bytes[c]);
    const fabric::Sent &sent = all.sent[c], &others = all.without_leaders[c];
    if (sent.messages > 0)
      std::fprintf(file,
                   ",\"messages\":%" PRIu64 ",\"message_bytes\":%" PRIu64
                   ",\"without_leaders\":{\"messages\":%" PRIu64 ",\"bytes\":%" PRIu64 "}",
                   sent.messages, sent.bytes, others.messages, others.bytes);
    std::fputs(",\"reasons\":{", file);
    comma = "";
    for (const Reason& reason : reasons_) {
      if (reason.calls[c] == 0) continue;
      std::fputs(comma, file);
      quote(file, reason.why.load());
      std::fprintf(file, ":%" PRIu64, reason.calls[c].load());
      comma = ",";
    }
    std::fputs("}}", file);
    comma = ",";
  }
  std::fprintf(file,
               "],\"ways\":{\"commons\":%" PRIu64 ",\"cma\":%" PRIu64 ",\"bounce\":%" PRIu64
               ",\"line\":%" PRIu64 ",\"messages\":%" PRIu64 "},\"notes\":[",
               all.route_bytes[2], all.route_bytes[3], all.route_bytes[1], all.route_bytes[0],
               all.route_bytes[4]);
  for (int i = 0; i < run.note_count; ++i) {
    if (i > 0) std::fputc(',', file);
    quote(file, run.notes[i]);
  }
  std::fputs("]}\n", file);
  return draft.finish();
}

}  // namespace tutti::mpi

// SPDX-License-Identifier: BSD-3-Clause
#include "base/options.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/bits.h"
#include "base/log.h"
#include "base/words.h"

extern char** environ;

namespace tutti {
namespace {

constexpr std::size_t max_name = 64;
constexpr std::size_t max_text = 4096;  // a path, at most; with its end

std::atomic<bool> g_read{false};

template <class T>
inline constexpr std::size_t is_text = 0;
template <>
inline constexpr std::size_t is_text<Options::Text> = 1;
constexpr std::size_t texts = 0
#define TUTTI_OPTION(name, type, fallback, meaning) +is_text<Options::type>
#include "base/options.def"
#undef TUTTI_OPTION
    ;

bool parse(const char* text, bool& value) {
  if (std::strcmp(text, "0") != 0 && std::strcmp(text, "1") != 0) return false;
  value = text[0] == '1';
  return true;
}
bool parse(const char* text, std::uint64_t& value) { return parse_bytes(text, value); }
bool parse(const char* text, std::int64_t& value) {
  char* end = nullptr;
  const long long parsed = std::strtoll(text, &end, 10);
  if (end == text || *end != '\0' || parsed < 0) return false;
  value = parsed;
  return true;
}
bool parse(const char* text, const char*& value) {
  if (std::strlen(text) >= max_text) return false;
  value = text;
  return true;
}

// TUTTI_COMMONS_BUDGET for commons_budget, into `out`.
const char* environment_name(const char* option, char (&out)[max_name]) {
  std::size_t length = 0;
  for (const char* p = "TUTTI_"; *p; ++p) out[length++] = *p;
  for (const char* p = option; *p && length + 1 < max_name; ++p)
    out[length++] = (*p >= 'a' && *p <= 'z') ? static_cast<char>(*p - 'a' + 'A') : *p;
  out[length] = '\0';
  return out;
}

// For as long as the process lives; once for each option of type Text.
const char* keep(const char* text) {
  static char kept[texts][max_text];
  static std::size_t used = 0;
  return std::strcpy(kept[used++], text);
}

// Options of type Text that are one of a few words.
struct Choice {
  std::string_view option;
  const char* words;
};
constexpr Choice choices[] = {{"nodes", "0, 1, auto"},
                              {"stores", "auto, plain, streaming"},
                              {"commons_malloc", "auto, always, never"},
                              {"commons_huge", "auto, 1, 0"},
                              {"commons_private", "auto, 1, 0"},
                              {"first_touch", "auto, owner, any"},
                              {"progress", "auto, bind, numa, odd-even, none"},
                              {"gpus", "auto, 1, 0"},
                              {"order", "tree, rank"},
                              {"costs", "auto, measure, usual"},
                              {"check", "usual, strict"},
                              {"log", "quiet, warn, info, debug"}};

constexpr Choice lists[] = {{"memory", "commons, cma, bounce"}};  // of words that commas separate

// The words of which `value` had to be one, if it is none of them.
const char* words_missed(std::string_view option, std::string_view value) {
  for (const Choice& choice : choices)
    if (choice.option == option && !has_word(choice.words, value, ", ")) return choice.words;
  return nullptr;
}

template <class T>
void read(T& value, const char* option, const char* fallback) {
  char name[max_name];
  (void)parse(fallback, value);
  const char* text = std::getenv(environment_name(option, name));
  if (text == nullptr || !parse(text, value)) return;
  if constexpr (is_text<T> != 0)
    value = keep(words_missed(option, text) != nullptr ? fallback : text);
}

template <class T>
bool readable(const char* text) {
  T ignored{};
  return parse(text, ignored);
}

void check_list(std::string_view option, const char* name, std::string_view value) {
  for (const Choice& choice : lists) {
    if (choice.option != option) continue;
    (void)every_word(value, ",", [&](std::string_view word) {
      if (!has_word(choice.words, word, ", "))
        log::warn("%s: %.*s is none of %s, and left out", name, static_cast<int>(word.size()),
                  word.data(), choice.words);
      return true;
    });
  }
}

// Variables of other parts of Tutti that are not options of the library.
constexpr const char* other_names[] = {"TUTTI_HOME", "TUTTI_LIBRARY", "TUTTI_BENCH_LIBMPI"};

log::Level level_of(const char* text) {
  if (std::strcmp(text, "quiet") == 0) return log::Level::quiet;
  if (std::strcmp(text, "info") == 0) return log::Level::info;
  if (std::strcmp(text, "debug") == 0) return log::Level::debug;
  return log::Level::warn;
}

Options read_all() {
  Options result;
#define TUTTI_OPTION(name, type, fallback, meaning) read(result.name, #name, fallback);
#include "base/options.def"
#undef TUTTI_OPTION
  if (kernel_page_bytes() != page_bytes) result.off = true;
  log::set_level(level_of(result.log));
  g_read.store(true, std::memory_order_relaxed);
  return result;
}

// Levenshtein distance of two names of at most max_name characters.
std::size_t distance(const char* a, const char* b) {
  const std::size_t n = std::min(std::strlen(b), max_name - 1);
  std::size_t row[max_name];
  for (std::size_t j = 0; j <= n; ++j) row[j] = j;
  for (std::size_t i = 1; a[i - 1]; ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= n; ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[n];
}

void check_variable(const char* name, const char* value) {
  char known[max_name];
  const char* nearest = "";
  char nearest_name[max_name];
  std::size_t best = ~std::size_t{0};
  for (const char* other : other_names)
    if (std::strcmp(name, other) == 0) return;
#define TUTTI_OPTION(option, type, fallback, meaning)                                         \
  environment_name(#option, known);                                                           \
  if (std::strcmp(known, name) == 0) {                                                        \
    if (!readable<Options::type>(value))                                                      \
      log::warn("%s=%s cannot be read as " #type "; the default %s is used", name, value,     \
                fallback);                                                                    \
    else if (const char* words = words_missed(#option, value))                                \
      log::warn("%s=%s is none of %s; the default %s is used", name, value, words, fallback); \
    else                                                                                      \
      check_list(#option, name, value);                                                       \
    return;                                                                                   \
  }                                                                                           \
  if (const std::size_t d = distance(name, known); d < best) {                                \
    best = d;                                                                                 \
    nearest = std::strcpy(nearest_name, known);                                               \
  }
#include "base/options.def"
#undef TUTTI_OPTION
  log::warn("%s is not an option of Tutti; did you mean %s? (`tutti config` lists them)", name,
            nearest);
}

}  // namespace

bool parse_bytes(const char* text, std::uint64_t& value) {
  char* end = nullptr;
  if (*text < '0' || *text > '9') return false;
  const unsigned long long number = std::strtoull(text, &end, 10);
  unsigned shift = 0;
  if (*end == 'K' || *end == 'k') shift = 10;
  if (*end == 'M' || *end == 'm') shift = 20;
  if (*end == 'G' || *end == 'g') shift = 30;
  if (end[shift != 0] != '\0' || number > (~0ull >> shift)) return false;
  value = number << shift;
  return true;
}

const Options& options() {
  static const Options value = read_all();
  return value;
}

bool options_are_there() { return g_read.load(std::memory_order_relaxed) || environ != nullptr; }

std::span<const OptionRow> option_rows() {
  static constexpr OptionRow rows[] = {
#define TUTTI_OPTION(name, type, fallback, meaning) {#name, #type, fallback, meaning},
#include "base/options.def"
#undef TUTTI_OPTION
  };
  return rows;
}

void warn_about_unknown_options() {
  static bool done = false;
  if (done || environ == nullptr) return;
  done = true;
  for (char** entry = environ; *entry; ++entry) {
    if (std::strncmp(*entry, "TUTTI_", 6) != 0) continue;
    const char* equals = std::strchr(*entry, '=');
    if (equals == nullptr || equals - *entry >= static_cast<std::ptrdiff_t>(max_name)) continue;
    char name[max_name];
    std::memcpy(name, *entry, static_cast<std::size_t>(equals - *entry));
    name[equals - *entry] = '\0';
    check_variable(name, equals + 1);
  }
}

std::size_t kernel_page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

void warn_about_surroundings() {
  warn_about_unknown_options();
  warn_about_other_pages();
}

void warn_about_other_pages() {
  const std::size_t bytes = kernel_page_bytes();
  if (bytes == page_bytes) return;
  log::warn(
      "pages of this kernel have %zu bytes, and Tutti is built for %zu: it stays off, and the "
      "MPI does all",
      bytes, page_bytes);
}

}  // namespace tutti

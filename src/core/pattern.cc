// SPDX-License-Identifier: MIT
#define PCRE2_CODE_UNIT_WIDTH 8
#include "rest_fcgi/core/pattern.h"

#include <pcre2.h>

#include <array>
#include <optional>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi {
namespace {

/// `length` is the size of a bracket `[seq]` in the pattern.
struct Bracket {
  bool matches = false;
  std::size_t length = 0;
};

/// Matches a character against the bracket at the start of the pattern. Returns std::nullopt if the bracket
/// is not closed, because Python then takes `[` as a character.
std::optional<Bracket> match_bracket(std::string_view pattern, unsigned char c) {
  std::size_t i = 1;
  const bool negated = i < pattern.size() && pattern[i] == '!';
  if (negated) ++i;
  const std::size_t first = i;
  std::size_t close = first;
  // Directly after `[` or `[!`, a `]` is a character of the set.
  if (close < pattern.size() && pattern[close] == ']') ++close;
  close = pattern.find(']', close);
  if (close == std::string_view::npos) return std::nullopt;
  bool found = false;
  for (i = first; i < close; ++i) {
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < close && pattern[i + 1] == '-') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    found = found || (low <= c && c <= high);
  }
  return Bracket{found != negated, close + 1};
}

/// Compares `c` with the first element of the pattern: `?`, `[...]` or a character. Returns the element's
/// length, or 0 if the element does not match.
std::size_t match_one(std::string_view pattern, char c) {
  if (pattern.empty()) return 0;
  if (pattern[0] == '?') return 1;
  if (pattern[0] == '[') {
    if (const auto bracket = match_bracket(pattern, static_cast<unsigned char>(c))) {
      return bracket->matches ? bracket->length : 0;
    }
  }
  return pattern[0] == c ? 1 : 0;
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  // After a mismatch, the last `*` matches one more character. The earlier `*` stay unchanged, because the
  // pattern before the last `*` has already matched as early as possible.
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
      continue;
    }
    if (const std::size_t length = match_one(pattern.substr(p), text[t])) {
      p += length;
      ++t;
      continue;
    }
    if (star == std::string_view::npos) return false;
    p = star + 1;
    t = ++star_text;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

namespace {

/// These limits end a match within milliseconds, because requests may contain slow patterns.
constexpr std::uint32_t kMatchLimit = 100000;
constexpr std::uint32_t kDepthLimit = 1000;
constexpr std::uint32_t kHeapLimitKiB = 1024;
constexpr std::size_t kMaxPatternLength = 4096;

/// PCRE2 does not tell how many steps a match took. A match is therefore tried with these limits in turn.
/// Most matches end within the first limit.
constexpr std::array<std::uint32_t, 5> kStepLimits = {30, 300, 3000, 30000, kMatchLimit};

pcre2_match_context* make_match_context(std::uint32_t steps) {
  pcre2_match_context* made = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(made, steps);
  pcre2_set_depth_limit(made, kDepthLimit);
  pcre2_set_heap_limit(made, kHeapLimitKiB);
  return made;
}

pcre2_match_context* bounded_match_context() {
  static pcre2_match_context* const context = make_match_context(kMatchLimit);
  return context;
}

struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

/// Each thread has its own match data, because each match writes into the data.
pcre2_match_data* thread_match_data() {
  thread_local const std::unique_ptr<pcre2_match_data, FreeMatchData> data(
      pcre2_match_data_create(1, nullptr));
  return data.get();
}

PCRE2_SPTR as_units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

}  // namespace

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternLength) {
    return Error{ErrorKind::invocation, format("found a regular expression of {} bytes, expected at most {}",
                                               pattern.size(), kMaxPatternLength)};
  }
  int code = 0;
  std::size_t offset = 0;
  pcre2_code* compiled = pcre2_compile(as_units(pattern), pattern.size(), PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C,
                                       &code, &offset, nullptr);
  if (compiled == nullptr) {
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(code, text.data(), text.size());
    return Error{ErrorKind::invocation, format("malformed regular expression, at offset {}: {}", offset,
                                               reinterpret_cast<const char*>(text.data()))};
  }
  return Regex(std::shared_ptr<const void>(compiled, [compiled](const void*) { pcre2_code_free(compiled); }));
}

bool Regex::match(std::string_view text, unsigned options) const {
  return pcre2_match(static_cast<const pcre2_code*>(code_.get()), as_units(text), text.size(), 0, options,
                     thread_match_data(), bounded_match_context()) >= 0;
}

bool Regex::match_start(std::string_view text) const {
  return match(text, PCRE2_ANCHORED);
}

Regex::Match Regex::match_start(std::string_view text, std::size_t& steps) const {
  static const auto contexts = [] {
    std::array<pcre2_match_context*, kStepLimits.size()> made{};
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = make_match_context(kStepLimits[i]);
    return made;
  }();
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    steps += kStepLimits[i];
    const int found = pcre2_match(static_cast<const pcre2_code*>(code_.get()), as_units(text), text.size(), 0,
                                  PCRE2_ANCHORED, thread_match_data(), contexts[i]);
    if (found >= 0) return Match::yes;
    if (found == PCRE2_ERROR_DEPTHLIMIT || found == PCRE2_ERROR_HEAPLIMIT) return Match::beyond;
    if (found != PCRE2_ERROR_MATCHLIMIT) return Match::no;
  }
  return Match::beyond;
}

std::size_t Regex::size() const {
  std::size_t size = 0;
  pcre2_pattern_info(static_cast<const pcre2_code*>(code_.get()), PCRE2_INFO_SIZE, &size);
  return size;
}

bool Regex::match_all(std::string_view text) const {
  return match(text, PCRE2_ANCHORED | PCRE2_ENDANCHORED);
}

}  // namespace rest_fcgi

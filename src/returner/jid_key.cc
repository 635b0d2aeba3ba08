// SPDX-License-Identifier: MIT
#include "returner/jid_key.h"

#include <algorithm>
#include <cstdint>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kDigits = 20;
constexpr JidKey kCentury = 1'000'000'000'000'000'000;
constexpr JidKey kOurCentury = 20;
constexpr JidKey kFirstCentury = 11;  // the first and last whole ones that 64 bits hold
constexpr JidKey kLastCentury = 28;
constexpr JidKey kLeast = (kFirstCentury - kOurCentury) * kCentury;
constexpr JidKey kGreatest = (kLastCentury - kOurCentury + 1) * kCentury - 1;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// The key of the least jid that is not before `text`.
JidKey bound(std::string_view text) noexcept {
  JidKey century = 0;
  JidKey rest = 0;
  bool in_digits = true;
  for (std::size_t i = 0; i < kDigits; ++i) {
    in_digits = in_digits && i < text.size() && is_digit(text[i]);
    const JidKey digit = in_digits ? text[i] - '0' : 0;
    JidKey& part = i < 2 ? century : rest;
    part = part * 10 + digit;
  }
  if (century < kFirstCentury) return kLeast;
  if (century > kLastCentury) return kGreatest + 1;
  return (century - kOurCentury) * kCentury + rest;
}

}  // namespace

std::optional<JidKey> key_of(std::string_view jid) noexcept {
  if (jid.size() != kDigits || !std::all_of(jid.begin(), jid.end(), is_digit)) return std::nullopt;
  const JidKey century = (jid[0] - '0') * 10 + (jid[1] - '0');
  if (century < kFirstCentury || century > kLastCentury) return std::nullopt;
  return bound(jid);
}

std::string jid_of(JidKey key) {
  // Unsigned, since the whole range is wider than what a signed number holds.
  const std::uint64_t from_first = static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(kLeast);
  constexpr auto kSize = static_cast<std::uint64_t>(kCentury);
  return format("{:02}{:018}", from_first / kSize + kFirstCentury, from_first % kSize);
}

JidKey least_key(std::string_view first) noexcept {
  return bound(first);
}

JidKey greatest_key(std::string_view last) noexcept {
  if (last.empty()) return kGreatest;
  return last.size() < kDigits ? bound(last) - 1 : bound(last);
}

JidKeys keys_of(const JobQuery& query) noexcept {
  JidKeys keys{least_key(query.first), greatest_key(query.last)};
  // A jid is greater than each of its beginnings, and than itself with something behind it smaller.
  if (!query.after.empty())
    keys.least = std::max(keys.least, bound(query.after) + (query.after.size() < kDigits ? 0 : 1));
  if (!query.before.empty()) {
    keys.greatest = std::min(keys.greatest, bound(query.before) - (query.before.size() > kDigits ? 0 : 1));
  }
  return keys;
}

bool means(const JobQuery& query, std::string_view jid) noexcept {
  return jid >= query.first && (query.last.empty() || jid <= query.last) &&
         (query.after.empty() || jid > query.after) && (query.before.empty() || jid < query.before);
}

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#include "returner/jids.h"

#include <algorithm>
#include <chrono>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kJidDigits = 20;
constexpr JidKey kCentury = 1'000'000'000'000'000'000;
constexpr JidKey kOurCentury = 20;
constexpr JidKey kFirstCentury = 11;  // the first and last whole ones that 64 bits hold
constexpr JidKey kLastCentury = 28;
constexpr JidKey kLeast = (kFirstCentury - kOurCentury) * kCentury;
constexpr JidKey kGreatest = (kLastCentury - kOurCentury + 1) * kCentury - 1;

}  // namespace

std::optional<JidKey> key_of(std::string_view jid) noexcept {
  if (jid.size() != kJidDigits || !only_digits(jid)) return std::nullopt;
  const JidKey century = (jid[0] - '0') * 10 + (jid[1] - '0');
  if (century < kFirstCentury || century > kLastCentury) return std::nullopt;
  return (century - kOurCentury) * kCentury + parse_number<JidKey>(jid.substr(2)).value_or(0);
}

std::string jid_of(JidKey key) {
  // Unsigned, since the whole range is wider than what a signed number holds.
  const std::uint64_t from_first = static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(kLeast);
  constexpr auto kSize = static_cast<std::uint64_t>(kCentury);
  return format("{:02}{:018}", from_first / kSize + kFirstCentury, from_first % kSize);
}

JidKey key_at(WallTime time) noexcept {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  JidKey key = int{date.year()} - kOurCentury * 100;
  for (const std::int64_t two_digits :
       {std::int64_t{unsigned{date.month()}}, std::int64_t{unsigned{date.day()}},
        std::int64_t{clock.hours().count()}, std::int64_t{clock.minutes().count()},
        std::int64_t{clock.seconds().count()}}) {
    key = key * 100 + two_digits;
  }
  return key * 1'000'000 + clock.subseconds().count();
}

Error no_key_of(std::string_view jid, std::string_view cache) {
  return {
      ErrorKind::invocation,
      format(
          "The job cache {} keeps no job {}: a jid is 20 digits, and begins with a year from 1100 to 2899.",
          cache, quoted(jid))};
}

JidKey least_key(std::string_view first) noexcept {
  JidKey century = 0;
  JidKey rest = 0;
  bool in_digits = true;
  for (std::size_t i = 0; i < kJidDigits; ++i) {
    in_digits = in_digits && i < first.size() && is_digit(first[i]);
    const JidKey digit = in_digits ? first[i] - '0' : 0;
    JidKey& part = i < 2 ? century : rest;
    part = part * 10 + digit;
  }
  if (century < kFirstCentury) return kLeast;
  if (century > kLastCentury) return kGreatest + 1;
  return (century - kOurCentury) * kCentury + rest;
}

JidKey greatest_key(std::string_view last) noexcept {
  if (last.empty()) return kGreatest;
  return last.size() < kJidDigits ? least_key(last) - 1 : least_key(last);
}

JidKeys keys_of(const JobQuery& query) noexcept {
  JidKeys keys{least_key(query.first), greatest_key(query.last)};
  // A jid is greater than each of its beginnings, and than itself with something behind it smaller.
  if (!query.after.empty())
    keys.least = std::max(keys.least, least_key(query.after) + (query.after.size() < kJidDigits ? 0 : 1));
  if (!query.before.empty()) {
    keys.greatest =
        std::min(keys.greatest, least_key(query.before) - (query.before.size() > kJidDigits ? 0 : 1));
  }
  return keys;
}

bool means(const JobQuery& query, const Load& load) {
  const std::string& jid = load.jid;
  return jid >= query.first && (query.last.empty() || jid <= query.last) &&
         (query.after.empty() || jid > query.after) && (query.before.empty() || jid < query.before) &&
         (query.fun.empty() || load.fun == Json::string(query.fun));
}

void add_minions(std::vector<std::string>& minions, const std::vector<std::string>& more) {
  for (const std::string& minion : more) {
    const auto at = std::lower_bound(minions.begin(), minions.end(), minion);
    if (at == minions.end() || *at != minion) minions.insert(at, minion);
  }
}

}  // namespace rest_fcgi::returner

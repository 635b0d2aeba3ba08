// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/jid.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/lowstate/jid.h"

// A jid is 20 digits: year (4), month, day, hour, minute, second (2 each) and microsecond (6), in UTC.
// Invariants of JidSource whenever `mutex_` is free and a jid was made:
// - `last_` is the newest jid, in microseconds since 1970. `last_ % share_.count` is `share_.mine`.
// - With a working `reserve_`, no other process makes a jid from `last_ + 1` to `end_ - 1`.
// - Jids ascend, unless the clock was set back by more than an hour.

namespace rest_fcgi::master {

namespace {

constexpr std::int64_t kMicrosecondsPerHour = 3'600'000'000;
constexpr std::int64_t kReservedMicroseconds = 10'000;

struct Civil {
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<std::chrono::microseconds> time;
};

Civil civil(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  return {std::chrono::year_month_day(day), std::chrono::hh_mm_ss(time - day)};
}

void put_digits(char*& out, unsigned value, int width) {
  for (int i = width - 1; i >= 0; --i, value /= 10) out[i] = static_cast<char>('0' + value % 10);
  out += width;
}

template <class Number>
unsigned as_unsigned(Number number) {
  return static_cast<unsigned>(number);
}

using Digits = std::array<char, lowstate::kJidDigits>;

Digits digits_at(WallTime time) {
  const Civil at = civil(time);
  Digits digits;
  char* out = digits.data();
  put_digits(out, as_unsigned(static_cast<int>(at.date.year())), 4);
  put_digits(out, as_unsigned(at.date.month()), 2);
  put_digits(out, as_unsigned(at.date.day()), 2);
  put_digits(out, as_unsigned(at.time.hours().count()), 2);
  put_digits(out, as_unsigned(at.time.minutes().count()), 2);
  put_digits(out, as_unsigned(at.time.seconds().count()), 2);
  put_digits(out, as_unsigned(at.time.subseconds().count()), 6);
  return digits;
}

}  // namespace

std::string jid_at(WallTime time) {
  const Digits digits = digits_at(time);
  return {digits.data(), digits.size()};
}

std::optional<WallTime> jid_time(std::string_view jid) noexcept {
  if (!lowstate::is_jid(jid)) return std::nullopt;
  const auto number = [jid](std::size_t begin, std::size_t size) {
    unsigned value = 0;
    for (const char c : jid.substr(begin, size)) value = value * 10 + as_unsigned(c - '0');
    return value;
  };
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(number(0, 4))),
                                         std::chrono::month(number(4, 2)), std::chrono::day(number(6, 2)));
  const unsigned hour = number(8, 2);
  const unsigned minute = number(10, 2);
  const unsigned second = number(12, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + std::chrono::microseconds(number(14, 6));
}

std::string jid_start_time(std::string_view jid) {
  const std::optional<WallTime> time = jid_time(jid);
  if (!time) return {};
  return format("{}, {} {} {}:{}:{}.{}", jid.substr(0, 4),
                kMonths[as_unsigned(civil(*time).date.month()) - 1], jid.substr(6, 2), jid.substr(8, 2),
                jid.substr(10, 2), jid.substr(12, 2), jid.substr(14, 6));
}

Result<void> check_own_jid(const lowstate::Chunk& chunk) {
  if (!chunk.is_local() || chunk.local().jid.empty() || lowstate::is_jid(chunk.local().jid)) return {};
  return Error{ErrorKind::invocation,
               format("Lowstate chunk {}: 'jid': found {}, expected {} digits.", chunk.index,
                      quoted_excerpt(chunk.local().jid), lowstate::kJidDigits)};
}

std::string iso_stamp(WallTime time) {
  const Digits digits = digits_at(time);
  std::string stamp = "____-__-__T__:__:__.______";
  const char* digit = digits.data();
  for (char& c : stamp) {
    if (c == '_') c = *digit++;
  }
  return stamp;
}

JidSource::JidSource(const Clock& clock, JidReserve reserve, JidShare share)
    : clock_(clock), reserve_(std::move(reserve)), share_(share) {}

std::string JidSource::next() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now = clock_.wall().time_since_epoch().count();
  const bool clock_was_set_back = last_ > now + kMicrosecondsPerHour;
  if (clock_was_set_back) last_ = end_ = 0;
  std::int64_t least = std::max(now, last_ + 1);
  if (reserve_ && of_share(least) >= end_) {
    if (const std::optional<std::int64_t> first = reserve_(least, kReservedMicroseconds)) {
      least = *first;
      end_ = *first + kReservedMicroseconds;
    }
  }
  last_ = of_share(least);
  return jid_at(WallTime(std::chrono::microseconds(last_)));
}

std::int64_t JidSource::of_share(std::int64_t least) const {
  return least + (share_.mine - least % share_.count + share_.count) % share_.count;
}

}  // namespace rest_fcgi::master

// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/jid.h"

#include <chrono>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi {

std::string jid_at(WallTime time) {
  std::string digits = iso_stamp(time);
  std::erase_if(digits, [](char c) { return !is_digit(c); });
  return digits;
}

std::optional<WallTime> jid_time(std::string_view jid) {
  if (!is_jid(jid)) return std::nullopt;
  const auto number = [jid](std::size_t begin, std::size_t size) {
    return parse_number<unsigned>(jid.substr(begin, size)).value_or(0);
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
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (!jid_time(jid)) return {};
  const std::size_t month = parse_number<std::size_t>(jid.substr(4, 2)).value_or(1);
  return format("{}, {} {} {}:{}:{}.{}", jid.substr(0, 4), kMonths.substr(3 * (month - 1), 3),
                jid.substr(6, 2), jid.substr(8, 2), jid.substr(10, 2), jid.substr(12, 2), jid.substr(14, 6));
}

std::string iso_stamp(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}", int{date.year()}, unsigned{date.month()},
                unsigned{date.day()}, clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                clock.subseconds().count());
}

std::string log_stamp(WallTime time) {
  return iso_stamp(time).substr(0, std::string_view("2026-11-20T23:06:17.380").size()) + "Z";
}

}  // namespace rest_fcgi

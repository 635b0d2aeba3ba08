// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/date.h"

#include <ctime>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::http {

// Not strftime, whose names of days and months are those of the process's locale.
std::string http_date(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace rest_fcgi::http

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <utility>

#include "netapi/audit.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"

namespace rest_fcgi::netapi {
namespace {

constexpr std::size_t kMaxValue = 256;

using Field = std::pair<std::string_view, std::string_view>;

bool is_plain(char c) {
  return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
}

void append_value(std::string& line, std::string_view value) {
  if (value.empty()) {
    line += '-';
  } else if (value != "-" && std::all_of(value.begin(), value.end(), is_plain)) {
    line += excerpt(value, kMaxValue);
  } else {
    JsonWriter(line).string(excerpt(value, kMaxValue));
  }
}

/// ISO 8601, UTC, milliseconds.
std::string iso_time(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::milliseconds>(time - day));
  return format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

}  // namespace

std::string audit_line(const AuditEntry& entry, bool as_json) {
  const std::string time = iso_time(entry.time);
  const double milliseconds = std::chrono::duration<double, std::milli>(entry.took).count();
  const std::array<Field, 9> fields{{{"time", time},
                                     {"user", entry.user},
                                     {"eauth", entry.eauth},
                                     {"remote_addr", entry.remote},
                                     {"client", entry.client},
                                     {"fun", entry.fun},
                                     {"tgt", entry.tgt},
                                     {"jid", entry.jid},
                                     {"outcome", entry.outcome}}};
  std::string line;
  line.reserve(256);
  if (as_json) {
    JsonWriter writer(line);
    writer.begin_object();
    for (const auto& [key, value] : fields) writer.key(key).string(excerpt(value, kMaxValue));
    writer.key("ms").number(milliseconds).end_object();
    return line;
  }
  for (const auto& [key, value] : fields) {
    line.append(key).append("=");
    append_value(line, value);
    line += ' ';
  }
  return line + format("ms={:.3f}", milliseconds);
}

}  // namespace rest_fcgi::netapi

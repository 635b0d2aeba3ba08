// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/timestamp.h"

#include <string>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/jid.h"

namespace rest_fcgi::embedded {

namespace {

/// Takes text from the front, piece by piece; what does not fit makes the whole fail.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : left_(text) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return left_.empty(); }

  bool take_if(std::string_view text) {
    if (!left_.starts_with(text)) return false;
    left_.remove_prefix(text.size());
    return true;
  }

  void take(std::string_view text) { ok_ = take_if(text) && ok_; }

  /// As many digits as there are, up to `most`.
  std::string digits(std::size_t least, std::size_t most) {
    std::size_t size = 0;
    while (size < most && size < left_.size() && left_[size] >= '0' && left_[size] <= '9') ++size;
    ok_ = ok_ && size >= least;
    std::string found(left_.substr(0, size));
    left_.remove_prefix(size);
    return found;
  }

  /// A month's name, as two digits.
  std::string month() {
    for (std::size_t i = 0; i < master::kMonths.size(); ++i) {
      if (take_if(master::kMonths[i])) return format("{:02}", i + 1);
    }
    ok_ = false;
    return {};
  }

 private:
  std::string_view left_;
  bool ok_ = true;
};

std::string padded(const std::string& digits, std::size_t size) {
  return digits.size() < size ? std::string(size - digits.size(), '0') + digits : digits;
}

/// `HH:MM:SS.ffffff`, of which the parts behind the minutes may be missing, as 12 digits.
std::string time_of_day(TimeReader& reader) {
  std::string time = padded(reader.digits(1, 2), 2);
  reader.take(":");
  time += reader.digits(2, 2);
  time += reader.take_if(":") ? reader.digits(2, 2) : "00";
  std::string fraction = reader.take_if(".") ? reader.digits(1, 6) : "";
  fraction.resize(6, '0');
  return time + fraction;
}

}  // namespace

std::optional<WallTime> parse_time(std::string_view text) {
  if (const auto time = master::jid_time(text)) return time;
  TimeReader reader(text);
  std::string jid = reader.digits(4, 4);
  if (reader.take_if(", ")) {
    jid += reader.month();
    reader.take(" ");
    jid += padded(reader.digits(1, 2), 2);
  } else {
    reader.take("-");
    jid += reader.digits(2, 2);
    reader.take("-");
    jid += reader.digits(2, 2);
  }
  const bool timed = reader.take_if("T") || reader.take_if(" ");
  jid += timed ? time_of_day(reader) : "000000000000";
  if (!reader.ok() || !reader.at_end()) return std::nullopt;
  return master::jid_time(jid);
}

}  // namespace rest_fcgi::embedded

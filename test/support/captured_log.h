// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/core/log.h"
#include "temp_dir.h"

namespace rest_fcgi::test {

/// Captures the log messages of level `info` and above while the object exists. The destructor restores the
/// default log settings. Only one object may exist at a time.
class CapturedLog {
 public:
  CapturedLog() {
    static_cast<void>(log::open({.level = log::Level::info, .file = dir_ / "log", .audit_file = {}}));
  }
  ~CapturedLog() { static_cast<void>(log::open({})); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  [[nodiscard]] std::string text() const { return dir_.read("log"); }
  [[nodiscard]] bool has(std::string_view part) const { return text().find(part) != std::string::npos; }
  [[nodiscard]] std::size_t count(std::string_view part) const {
    const std::string all = text();
    std::size_t times = 0;
    for (std::size_t at = all.find(part); at != std::string::npos; at = all.find(part, at + 1)) ++times;
    return times;
  }

 private:
  TempDir dir_;
};

}  // namespace rest_fcgi::test

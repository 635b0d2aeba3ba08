// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "rest_fcgi/core/result.h"
#include "returner/record.h"

namespace rest_fcgi::returner {

/// Whether a job cache can be written, and what was lost while it could not. Says in the log when that
/// changes, once. Thread-safe.
class Trouble {
 public:
  /// `cache` by its name; `where` its jobs are, for the log, such as `sqlite3.database: /var/jobs.db`.
  Trouble(std::string cache, std::string where) : cache_(std::move(cache)), where_(std::move(where)) {}

  void begin(const Error& cause);
  void end();
  [[nodiscard]] bool now() const;

  /// A record that nobody will find.
  void lose(const std::optional<RecordView>& record);

  /// `cause` for a caller, with what was lost so far.
  [[nodiscard]] Error error(const Error& cause) const;

 private:
  [[nodiscard]] std::string losses() const;  // REQUIRES: mutex_

  const std::string cache_;
  const std::string where_;
  mutable std::mutex mutex_;
  bool now_ = false;
  bool losing_ = false;
  std::uint64_t loads_ = 0;    // lost since it began
  std::uint64_t returns_ = 0;  // lost since it began
};

}  // namespace rest_fcgi::returner

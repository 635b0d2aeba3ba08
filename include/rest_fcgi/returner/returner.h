// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/options.h"

namespace rest_fcgi::returner {

/// What was asked for: Salt's load of a job, without anybody's credentials.
struct Load {
  std::string jid;
  Json fun;  ///< a string, or a list of them for compound functions
  Json arg;
  Json tgt;
  std::string tgt_type;
  std::string user;
  std::optional<Json> metadata;
  std::vector<std::string> minions;
};

/// What one minion returned.
struct JobReturn {
  std::string minion;
  Json ret;
  int retcode = 0;
  bool success = true;
  std::string out;
};

/// A job as it was found again.
struct StoredJob {
  Load load;
  std::vector<JobReturn> returns;
};

/// A job cache, by the names of Salt's returner interface. Abstract because jobs are kept in memory, or
/// (later) in SQLite or etcd. Thread-safe. Failures of every call: unavailable, internal.
class Returner {
 public:
  virtual ~Returner() = default;

  /// Keeps a job. Its jid is new: making it so is the caller's business.
  virtual Result<void> save_load(Load load) = 0;

  /// Keeps a return; one for a job that is not (or no longer) kept is dropped, a second one of a minion
  /// replaces.
  virtual Result<void> returner(std::string_view jid, JobReturn ret) = 0;

  /// A job and what returned so far; absent where it is not kept.
  [[nodiscard]] virtual Result<std::optional<StoredJob>> get_job(std::string_view jid) const = 0;

  /// All loads that are kept, oldest first.
  [[nodiscard]] virtual Result<std::vector<Load>> get_jids() const = 0;
};

/// Keeps jobs in this process's memory, bounded by `options`.
[[nodiscard]] std::unique_ptr<Returner> make_memory_returner(const Options& options);

}  // namespace rest_fcgi::returner

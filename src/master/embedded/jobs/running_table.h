// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/returner.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::embedded {

/// A running job of any process.
struct ActiveJob {
  pid_t pid = 0;  ///< of its process
  returner::Load load;
  std::string ret;                   ///< the returners that the caller named
  std::vector<std::string> running;  ///< the minions on which it runs, sorted
};

/// The store's tables `running_job` and `kill_request`: the jobs on worker threads of all processes that
/// share the store, and requests to stop them on a minion. A process is identified by its pid and the time of
/// its start. Thread-safe. Errors of all functions: unavailable.
class RunningTable {
 public:
  explicit RunningTable(std::shared_ptr<store::Store> store);

  /// Adds a job of this process.
  [[nodiscard]] Result<void> add(const returner::Load& load, std::string_view ret);

  /// Removes a job of this process, and the requests to stop its calls.
  void remove(std::string_view jid);

  struct Entry {
    ActiveJob job;           ///< `running` is not filled
    std::int64_t start = 0;  ///< of its process
    bool is_gone = false;    ///< the process has ended
  };

  /// Returns the jobs of other processes, sorted by jid; none if the store cannot be read.
  [[nodiscard]] std::vector<Entry> others() const;

  /// Removes the job of a process that is gone. Returns true in only one of several processes that call this.
  [[nodiscard]] Result<bool> drop(const Entry& entry);

  /// Asks the job's process to stop the job on that minion.
  [[nodiscard]] Result<void> request_kill(std::string_view jid, std::string_view minion);

  struct KillRequest {
    std::string jid;
    std::string minion;
  };

  /// Returns the requests to jobs of this process. A request stays until its job is removed.
  [[nodiscard]] std::vector<KillRequest> kill_requests() const;

 private:
  const std::shared_ptr<store::Store> store_;
  const std::int64_t pid_;
  const std::int64_t start_;
};

}  // namespace rest_fcgi::embedded

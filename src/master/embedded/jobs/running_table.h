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

struct ActiveJob {
  pid_t pid = 0;
  returner::Load load;
  std::string ret;                   ///< `ret` names the returners that the caller chose.
  std::vector<std::string> running;  ///< `running` has the sorted ids of the minions on which the job runs.
};

/// The store's tables `running_job` and `kill_request`, for the jobs on worker threads of all processes. Pids
/// are reused, so a process is identified by its pid and its start time. Thread-safe. All functions may fail
/// with `unavailable`.
class RunningTable {
 public:
  explicit RunningTable(std::shared_ptr<store::Store> store);

  Result<void> add(const returner::Load& load, std::string_view ret);

  void remove(std::string_view jid);

  struct Entry {
    ActiveJob job;  ///< The member `running` of `job` stays empty.
    std::int64_t start = 0;
    bool is_gone = false;
  };

  /// Returns the jobs of other processes, sorted by jid. Returns an empty list if the store cannot be read.
  [[nodiscard]] std::vector<Entry> others() const;

  /// Removes the job of an ended process from the table. If several callers remove the same job, only one
  /// caller gets true.
  Result<bool> drop(const Entry& entry);

  Result<void> request_kill(std::string_view jid, std::string_view minion);

  struct KillRequest {
    std::string jid;
    std::string minion;
  };

  /// Returns the requests to stop jobs of this process. A request stays in the table until its job is
  /// removed.
  [[nodiscard]] std::vector<KillRequest> kill_requests() const;

 private:
  const std::shared_ptr<store::Store> store_;
  const std::int64_t pid_;
  const std::int64_t start_;
};

}  // namespace rest_fcgi::embedded

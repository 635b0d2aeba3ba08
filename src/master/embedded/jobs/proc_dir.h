// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/jobs/proc_entry.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::embedded {

/// The directory in which all processes of this user show each other what runs on their worker threads, as a
/// minion's `proc` does: one file a job, `JID.PID`, there as long as the job runs. Files are written under
/// another name first, so that whoever sees one sees all of it. Who wants a call of another process to stop
/// puts a mark beside its file. Thread-safe.
class ProcDir {
 public:
  /// Makes the directory where it is missing, and the one that it lies in. Errors: configuration, where it
  /// cannot be made or opened, or where others may write into it.
  [[nodiscard]] static Result<std::unique_ptr<ProcDir>> open(const std::string& path);

  /// Shows a job of this process. Errors: internal, with the cause; the job is then shown to nobody.
  Result<void> add(const returner::Load& load, std::string_view ret);

  void remove(const std::string& jid);

  /// The jobs of other processes, in the order of their jids. Of a process that ended there may be some,
  /// too: nobody removed them.
  [[nodiscard]] std::vector<ProcEntry> others() const;

  /// Is its file still there?
  [[nodiscard]] bool has(const ProcEntry& entry) const;

  /// Removes the file of a process that ended, and all that belongs to it.
  void drop(const ProcEntry& entry);

  /// Asks the process that runs the job to stop its call on the minion at this place in the load's list.
  /// Errors: internal, with the cause.
  Result<void> mark(const ProcEntry& entry, std::size_t call);

  /// A call that somebody wants to stop.
  struct Mark {
    std::string jid;
    std::size_t call = 0;
  };

  /// What others want of this process since the last time.
  [[nodiscard]] std::vector<Mark> take_marks();

 private:
  struct Name;
  /// Absent for what is none of ours.
  [[nodiscard]] static std::optional<Name> parse_name(std::string_view text);
  [[nodiscard]] bool is_own(const Name& name) const;
  explicit ProcDir(UniqueFd directory);
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::optional<ProcEntry> read(const std::string& name) const;
  Result<void> write(const std::string& name, std::string_view text);
  [[nodiscard]] std::string own_name(std::string_view jid) const;
  void unlink(const std::string& name) const;

  const UniqueFd directory_;
  const ProcessId self_;
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> own_;  // jids that this process shows; guarded by mutex_
};

}  // namespace rest_fcgi::embedded

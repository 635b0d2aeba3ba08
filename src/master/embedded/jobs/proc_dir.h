// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::embedded {

/// A job that runs now, here or in another process.
struct ActiveJob {
  pid_t pid = 0;  ///< of the process that runs it, as that one sees itself
  returner::Load load;
  std::string ret;                   ///< the returners that the caller named
  std::vector<std::string> running;  ///< the minions on which it runs, sorted
};

/// The directory in which all processes of this user show each other what runs on their worker threads, as a
/// minion's `proc` does: one file a job, there as long as the job runs. Files are written under another name
/// first, so that whoever sees one sees all of it. Who wants a call of another process to stop puts a mark
/// beside its file. Thread-safe.
///
/// Each ProcDir holds a lock on a file of its own there, which the kernel takes away when the process ends in
/// whatever way: that tells whether it still runs also where processes do not see each other's pids, as those
/// of two containers that share the directory.
class ProcDir {
 public:
  /// Makes the directory where it is missing, and the one that it lies in. Errors: configuration, where it
  /// cannot be made, opened or written to, or where others may write into it.
  [[nodiscard]] static Result<std::unique_ptr<ProcDir>> open(const std::string& path);

  /// Jobs that are still shown are then those of a process that has gone.
  ~ProcDir();
  ProcDir(const ProcDir&) = delete;
  ProcDir& operator=(const ProcDir&) = delete;

  /// Shows a job of this process. Errors: internal, with the cause; the job is then shown to nobody.
  Result<void> add(const returner::Load& load, std::string_view ret);

  void remove(const std::string& jid);

  /// What another process shows.
  struct Entry {
    std::string file;
    ActiveJob job;         ///< `running` is not filled
    bool is_gone = false;  ///< the process ended without removing it
  };

  /// The jobs of other processes, in the order of their jids. Removes other files of processes that are gone.
  [[nodiscard]] std::vector<Entry> others() const;

  /// Is its file still there?
  [[nodiscard]] bool has(const Entry& entry) const;

  /// Removes the file of a process that is gone, and the marks beside it. Of several who do so, one gets
  /// true.
  bool drop(const Entry& entry);

  /// Asks the process that runs the job to stop its call on the minion at this place in the load's list.
  /// Errors: internal, with the cause.
  Result<void> mark(const Entry& entry, std::size_t call);

  /// A call that somebody wants to stop.
  struct Mark {
    std::string jid;
    std::size_t call = 0;
  };

  /// The calls of this process that others have marked since the last time.
  [[nodiscard]] std::vector<Mark> take_marks();

 private:
  explicit ProcDir(UniqueFd directory) : directory_(std::move(directory)) {}
  Result<void> take_name();
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool is_gone(const std::string& owner) const;
  [[nodiscard]] std::optional<ActiveJob> read(const std::string& name) const;
  Result<void> write(const std::string& name, std::string_view text);
  [[nodiscard]] std::string own_file(std::string_view jid) const;
  void unlink(const std::string& name) const;

  const UniqueFd directory_;
  std::string owner_;  // this process's name in the directory, unlike that of any other
  UniqueFd lock_;      // on the file of that name
};

}  // namespace rest_fcgi::embedded

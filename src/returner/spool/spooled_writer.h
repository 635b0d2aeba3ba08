// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/record.h"
#include "returner/spool/spool.h"

namespace rest_fcgi::returner {

/// Whether a job cache can be written, and what was lost while it could not. Says in the log when that
/// changes, once. Thread-safe.
class Trouble {
 public:
  /// `cache` by its name; `where` its jobs are, for the log, such as `sqlite3.database: /var/jobs.db`.
  /// `on_loss` is called with each record that is lost or refused; quick.
  Trouble(
      std::string cache, std::string where, std::function<void()> on_loss = [] {})
      : cache_(std::move(cache)), where_(std::move(where)), on_loss_(std::move(on_loss)) {}

  void begin(const Error& cause);
  void end();
  [[nodiscard]] bool now() const;

  /// A record that nobody will find.
  void lose(const std::optional<RecordView>& record);

  /// A record that the job cache refuses as it is, whatever state it is in. `what` it holds, for the log.
  void refuse(std::string_view what, std::string_view why);

  /// Bytes of that spool which are no records; nothing where there are none.
  void tell_of_unreadable(std::uint64_t bytes, const std::string& spool) const;

  /// `cause` for a caller, with what was lost so far.
  [[nodiscard]] Error error(const Error& cause) const;

 private:
  [[nodiscard]] std::string losses() const;  // REQUIRES: mutex_

  const std::string cache_;
  const std::string where_;
  const std::function<void()> on_loss_;
  mutable std::mutex mutex_;
  bool now_ = false;
  bool losing_ = false;
  std::uint64_t loads_ = 0;    // lost since it began
  std::uint64_t returns_ = 0;  // lost since it began
  std::uint64_t refused_ = 0;  // since the start
};

/// What a caller waits for: runs on the writer's thread, behind the records that were told before.
using WriterTask = std::function<Result<void>()>;

/// One attempt at writing what waits. Plain value.
struct SpooledWork {
  const Spool& spool;
  std::uint64_t end = 0;                         ///< of the records that are to be written
  const std::vector<const WriterTask*>& tasks;   ///< are to succeed or fail with the records
  bool durable = false;                          ///< has to be on the disk, or not to have succeeded
  std::function<void(std::uint64_t)> written{};  ///< tells up to where it is written before all of it is
};

/// Where the records of a spool belong. Used by the writer's thread alone, but for `view`. `write` and `tend`
/// may throw, for memory.
class SpoolSink {
 public:
  virtual ~SpoolSink() = default;

  /// Writes the records and runs the tasks, or some of the records and fails.
  [[nodiscard]] virtual Result<void> write(const SpooledWork& work, Trouble& trouble) = 0;

  /// `write` or `tend` threw: nothing of it may stay half done.
  virtual void give_up() {}

  /// Does what is due beside writing; at the end of the process, all of that. Errors: what keeps it from
  /// that.
  [[nodiscard]] virtual Result<void> tend(bool /*is_last*/) { return {}; }
  [[nodiscard]] virtual SteadyTime next_due() const { return SteadyTime::max(); }

  /// False while something that `tend` told of goes on: what is written now does not end the trouble.
  [[nodiscard]] virtual bool is_well() const { return true; }

  /// Absent where the bytes are no record. On any thread.
  [[nodiscard]] virtual std::optional<RecordView> view(std::string_view record) const = 0;
};

/// How a job cache is written.
struct SpooledWriterOptions {
  std::string name;    ///< of the job cache
  std::string where;   ///< its jobs are, for the log
  std::string prefix;  ///< absolute path that those of the spools begin with
  std::size_t spool_bytes = 0;
  std::chrono::milliseconds group_time{};  ///< in which records gather that are written together
  std::chrono::milliseconds rest_time{};   ///< between two groups
  std::chrono::milliseconds most_pause{};  ///< between tries; the pauses grow from 200 ms on
  /// For so long a failure speaks for all tries, and readers are told it at once. 0: each tries himself.
  std::chrono::milliseconds failure_counts{};
  std::function<void()> on_loss = [] {};  ///< called where a record is lost or refused; quick, on any thread
};

/// The one thread of a process that writes into a job cache. Records wait in a spool, a file that outlives
/// the process, until they are in the job cache; while that cannot be written they stay there, and are tried
/// again after pauses. What processes left that died is written as well. Thread-safe.
class SpooledWriter {
 public:
  /// Errors: unavailable, where the spool, or a thread, cannot be had.
  [[nodiscard]] static Result<std::unique_ptr<SpooledWriter>> start(SpooledWriterOptions options,
                                                                    const Clock& clock,
                                                                    std::unique_ptr<SpoolSink> sink);

  /// Writes what is left; what cannot be written stays in the spool for the next process.
  ~SpooledWriter();
  SpooledWriter(const SpooledWriter&) = delete;
  SpooledWriter& operator=(const SpooledWriter&) = delete;

  /// Can the spool hold a record of that size, when it is empty?
  [[nodiscard]] bool takes(std::size_t record_size) const noexcept { return spool_->takes(record_size); }

  /// Keeps a record, soon. Waits a while for room; what finds none, because the job cache cannot be written,
  /// is counted as lost, and so is what the spool does not take.
  void append(std::string_view record);

  /// Keeps a record: it is in the job cache when this comes back, or where that takes longer than a second,
  /// in the spool on the disk. Errors: unavailable; then it is not kept.
  [[nodiscard]] Result<void> append_durably(std::string_view record);

  /// Comes back when the task ran, together with all records that were told before, at once. Errors: those of
  /// the task and of writing, as unavailable; then nothing of it is kept, unless it was the disk that did not
  /// take what was committed: a row may stay that no caller was told of.
  [[nodiscard]] Result<void> run(Durability durability, const WriterTask& task);

  /// Readers find all that was told before, and what a process left that died a second ago or earlier.
  /// Errors: unavailable, with how much is missing.
  [[nodiscard]] Result<void> flush();

  /// What was told before is in the job cache when this comes back, or where that takes longer than a second,
  /// in the spool on the disk. Errors: unavailable.
  [[nodiscard]] Result<void> settle();

  /// What to tell a caller whom `cause` kept from reading.
  [[nodiscard]] Error failure(const Error& cause) const { return trouble_.error(cause); }
  void lose(std::string_view record) { trouble_.lose(sink_->view(record)); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Waiting {
    const WriterTask& task;
    Durability durability;
    bool done = false;
    Result<void> result{};
  };

  SpooledWriter(SpooledWriterOptions options, const Clock& clock, std::unique_ptr<SpoolSink> sink,
                std::unique_ptr<Spool> spool);

  /// False where there is no room in time.
  [[nodiscard]] bool append_within_patience(Lock& lock, std::string_view record);
  /// Waits until all up to `end` is in the job cache, or in the spool on the disk.
  [[nodiscard]] Result<void> make_durable(Lock& lock, std::uint64_t end);
  [[nodiscard]] Result<void> sync_spool();
  void hurry();  // REQUIRES: mutex_

  /// Did a process die with records in its spool? Looks at most once a second. On any thread.
  [[nodiscard]] bool is_anything_left_behind();

  // On the writer's thread, as all that follows:
  void loop();
  void wait_for_work(Lock& lock);
  void attempt(Lock& lock, bool look_around);
  void note(const Result<void>& written);  // REQUIRES: mutex_
  [[nodiscard]] Result<void> write(Spool& spool, std::uint64_t end, const std::vector<Waiting*>& waiting,
                                   bool durable);
  [[nodiscard]] Result<void> write_left_behind();
  void tell_once(const std::string& path, std::string_view line);

  const SpooledWriterOptions options_;
  const Clock& clock_;
  Trouble trouble_;
  const std::unique_ptr<SpoolSink> sink_;

  std::mutex sync_mutex_;  // before mutex_
  std::mutex mutex_;
  std::condition_variable work_;        // for the writer
  std::condition_variable done_;        // for those that wait for it, or for room
  const std::unique_ptr<Spool> spool_;  // positions guarded by mutex_
  std::vector<Waiting*> tasks_;         // guarded by mutex_, as all that follows
  bool stopping_ = false;
  bool resting_ = false;            // the writer waits for a first record
  bool urgent_ = false;             // somebody waits
  std::uint64_t taken_ = 0;         // up to where an attempt reads the spool now
  std::uint64_t attempt_ = 0;       // the last one that began
  std::uint64_t failed_ = 0;        // the last one that failed
  std::uint64_t looks_wanted_ = 1;  // for what dead processes left
  std::uint64_t looks_done_ = 0;    // up to which of them nothing is left any more
  Error last_failure_{};
  SteadyTime failed_at_{};              // by `clock_`
  SteadyTime look_due_{};               // the same
  SteadyTime due_{};                    // when to try what waits
  SteadyTime house_due_{};              // when to look around, and at the sink's own work
  std::chrono::milliseconds pause_{0};  // after a failure

  std::set<std::string> told_of_;  // spools with which something is wrong; the writer's own
  Thread thread_;
};

}  // namespace rest_fcgi::returner

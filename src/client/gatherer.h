// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rest_fcgi/client/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::client {

/// The call of one chunk, and what it needs. Borrows.
struct Call {
  master::Master& master;
  const master::Permit& permit;
  const Options& options;
  const Clock& clock;
  std::size_t room;  ///< largest size of its returns, in bytes
};

[[nodiscard]] Error reply_too_large(std::size_t max_reply_bytes);

/// The time limits of a job.
struct Timeouts {
  std::chrono::milliseconds timeout;             ///< until minions are asked whether the job still runs
  std::chrono::milliseconds gather_job_timeout;  ///< for the answer to that question
  /// Time from the start in which syndics may name their minions, and delay of answers through them. 0: no
  /// syndics.
  std::chrono::milliseconds syndic_wait{0};
};

/// Salt's rules for the wait for one job. After `timeout` the minions that have not returned are asked
/// whether the job still runs (`saltutil.find_job`). While a minion says yes, they are asked again every
/// `gather_job_timeout`. The wait ends after a round without a yes, when `timeout` has passed since each
/// minion's last yes. So a job is waited for as long as its minion says that it runs.
///
/// A state machine: the caller reports what happened and when, and asks for the next step. Not synchronized.
class JobWait {
 public:
  JobWait(std::span<const std::string> minions, Timeouts timeouts, SteadyTime now);

  /// Reports that syndics named their minions. Known minions are ignored. The syndics are not waited for,
  /// unless they are among the named minions.
  void expect(const std::vector<std::string>& minions, const std::vector<std::string>& syndics,
              SteadyTime now);

  /// Reports a return, and returns the minion's id, which this owns. Absent if the minion has returned
  /// before, was given up, or is not of this job. With syndics every minion may be of this job.
  std::optional<std::string_view> returned(std::string_view minion);

  /// Reports that a minion still runs the job.
  void runs(std::string_view minion, SteadyTime now);

  enum class Step {
    wait,     ///< until `due()`
    ask,      ///< ask all in `waiting()`, and call `asked`
    give_up,  ///< give up all in `waiting()`
  };
  [[nodiscard]] Step step(SteadyTime now) const;
  [[nodiscard]] SteadyTime due(SteadyTime now) const;
  void asked(SteadyTime now);

  /// Returns whether no minion is waited for, and syndics can name no more.
  [[nodiscard]] bool done(SteadyTime now) const noexcept { return limits_.empty() && now >= settled_; }

  /// Returns the minions that have not returned, in the order of the job.
  [[nodiscard]] std::vector<std::string> waiting() const;

 private:
  [[nodiscard]] SteadyTime latest_limit() const;
  /// Returns false for a known minion.
  bool add(std::string_view minion, SteadyTime limit);

  std::list<std::string> minions_;                // a list, since the members below point into it
  std::unordered_set<std::string_view> known_;    ///< all of minions_
  std::unordered_set<std::string_view> syndics_;  ///< of minions_, not waited for
  Timeouts timeouts_;
  std::unordered_map<std::string_view, SteadyTime> limits_;  ///< of minions that have not returned
  SteadyTime settled_;                                       ///< after this time syndics name no more minions
  SteadyTime deadline_;  ///< of the timeout, later of the round of questions
  bool ask_ = true;      ///< ask when the deadline has passed
};

/// The result of one minion. Borrows from the Gatherer until its next call.
struct Arrival {
  std::string_view minion;
  const master::Return* ret;  ///< null: the minion was given up
  std::string_view jid;
};

/// Publishes the jobs of one call and waits for their returns. A second return of a minion, or one of another
/// minion, is dropped. Slow minions are asked whether they still run the job, and are given up by Salt's
/// rules
/// (`JobWait`), at the latest at the permit's deadline. Used by one thread; deliveries come from any thread.
class Gatherer {
 public:
  explicit Gatherer(const Call& call);
  Gatherer(const Gatherer&) = delete;
  Gatherer& operator=(const Gatherer&) = delete;

  /// Publishes a job. `next` returns its results, one for each minion. This owns the job. Errors: the
  /// master's.
  Result<const master::Job*> publish(const master::Publication& publication);

  /// Waits for the next result; each minion of each job has one. Absent after the last one, or after `until`.
  /// Errors: timeout at the permit's deadline, with the unfinished jobs; reply_too_large; the master's.
  Result<std::optional<Arrival>> next(SteadyTime until = SteadyTime::max());

  /// Returns the size of all returns that have come, also of those that `next` has not returned yet.
  [[nodiscard]] std::size_t gathered() const noexcept { return call_.room - inbox_->room; }

 private:
  struct Active {
    Active(master::Job its_job, Timeouts timeouts, SteadyTime now)
        : job(std::move(its_job)), wait(std::span(job.minions).subspan(job.returned.size()), timeouts, now) {}

    master::Job job;
    JobWait wait;
    std::optional<std::size_t> question{};  ///< the round of the last question
    bool is_over = false;                   ///< no minion is waited for
  };
  /// One publication of a job or of a question about it.
  struct Round {
    Active* about;
    bool is_question;                            ///< find_job; else the job itself
    std::shared_ptr<master::Addressee> returns;  ///< deliveries come while this lives
  };
  struct Message {
    std::size_t round;
    master::Delivery delivery;
  };
  /// Shared with senders, which may outlive this.
  struct Inbox {
    Inbox(std::size_t most_here, std::size_t most_in_all) : room(most_here), max_reply_bytes(most_in_all) {}

    /// Returns false if the return exceeds the limit.
    bool take(const master::Return& ret);

    master::Mailbox<Message> messages;
    std::atomic<std::size_t> room;  ///< bytes that are left for returns
    std::atomic<bool> full = false;
    const std::size_t max_reply_bytes;
  };
  class Slot;

  Result<void> take_steps(SteadyTime now);
  Result<void> ask(Active& active, SteadyTime now);
  void give_up(Active& active, const std::vector<std::string>& minions);
  void finish(Active& active);
  Result<std::optional<Arrival>> open(Message& message);
  std::optional<Arrival> take_in(Active& active, const master::Return& ret);
  void note_answer(Active& active, const master::Return& ret);
  [[nodiscard]] SteadyTime due(SteadyTime now) const;
  [[nodiscard]] Error too_late() const;

  const Call call_;
  const Timeouts timeouts_;
  const std::shared_ptr<Inbox> inbox_;
  std::vector<Round> rounds_;
  std::list<Active> jobs_;          ///< all published jobs
  std::vector<Active*> active_;     ///< jobs with minions that are waited for
  std::optional<Message> message_;  ///< the last one that was opened
  std::vector<Arrival> ready_;      ///< results that have come
  std::size_t handed_out_ = 0;      ///< number of these that `next` has returned
  std::optional<Error> too_large_;  ///< the error after them
};

/// Asks all minions of a call. Returns those that answer yes, in the order of their answers. Errors: as those
/// of a Gatherer.
[[nodiscard]] Result<std::vector<std::string>> find_answering(const Call& call,
                                                              master::Publication::What what,
                                                              bool (*is_yes)(const master::Return& ret));

}  // namespace rest_fcgi::client

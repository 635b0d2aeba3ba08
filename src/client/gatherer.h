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

/// The call of one chunk, with the objects that are needed to run it. Borrows these objects.
struct Call {
  master::Master& master;
  const master::Permit& permit;
  const Options& options;
  const Clock& clock;
  std::size_t room;  ///< The largest size of all returns of this call, in bytes.
};

[[nodiscard]] Error reply_too_large(std::size_t max_reply_bytes);

/// The time limits of a job.
struct Timeouts {
  std::chrono::milliseconds timeout;  ///< The time until minions are asked whether the job still runs.
  /// The time in which the minions have to answer this question.
  std::chrono::milliseconds gather_job_timeout;
  /// The time from the start of the job in which syndics may name their minions. The answers of minions may
  /// come later by the same time. 0 means that there are no syndics.
  std::chrono::milliseconds syndic_wait{0};
};

/// Decides by Salt's rules how long to wait for the returns of one job. After `timeout`, the minions that
/// have not returned are asked whether they still run the job (`saltutil.find_job`). While a minion says yes,
/// the minions are asked again every `gather_job_timeout`. The wait ends after a round in which no minion
/// said yes, when `timeout` has passed since each minion's last yes.
///
/// This class is a state machine. The caller reports events with their times, and asks for the next step. Not
/// synchronized.
class JobWait {
 public:
  JobWait(std::span<const std::string> minions, Timeouts timeouts, SteadyTime now);

  /// Reports the minions that syndics named. Minions that are known already are ignored. The syndics
  /// themselves are not waited for, unless they are among the named minions.
  void expect(const std::vector<std::string>& minions, const std::vector<std::string>& syndics,
              SteadyTime now);

  /// Reports a return. Returns the minion's id, which this object owns. Absent if the minion has returned
  /// before, was given up, or does not belong to this job. With syndics, any minion may belong to this job.
  std::optional<std::string_view> returned(std::string_view minion);

  /// Reports that a minion still runs the job.
  void runs(std::string_view minion, SteadyTime now);

  enum class Step {
    wait,     ///< Wait until `due()`.
    ask,      ///< Ask all minions in `waiting()`, then call `asked`.
    give_up,  ///< Give up all minions in `waiting()`.
  };
  [[nodiscard]] Step step(SteadyTime now) const;
  [[nodiscard]] SteadyTime due(SteadyTime now) const;
  void asked(SteadyTime now);

  /// Returns whether the wait is over. It is over when no minion is waited for and the time has passed in
  /// which syndics may name minions.
  [[nodiscard]] bool done(SteadyTime now) const noexcept { return limits_.empty() && now >= settled_; }

  /// Returns the minions that are still waited for, in the order of the job.
  [[nodiscard]] std::vector<std::string> waiting() const;

 private:
  [[nodiscard]] SteadyTime latest_limit() const;
  /// Adds a minion to wait for. Returns false if the minion is known already.
  bool add(std::string_view minion, SteadyTime limit);

  std::list<std::string> minions_;  // All minions of the job. A list, since the members below point into it.
  std::unordered_set<std::string_view> known_;  ///< The ids of all minions in `minions_`.
  /// The ids in `minions_` that are syndics and are not waited for.
  std::unordered_set<std::string_view> syndics_;
  Timeouts timeouts_;
  /// The time limit of each minion that has not returned.
  std::unordered_map<std::string_view, SteadyTime> limits_;
  SteadyTime settled_;   ///< The time after which syndics name no more minions.
  SteadyTime deadline_;  ///< The end of `timeout` at first, later the end of the current round of questions.
  bool ask_ = true;      ///< Whether the minions have to be asked when `deadline_` has passed.
};

/// The result of one minion. Borrows from the Gatherer until its next call.
struct Arrival {
  std::string_view minion;
  const master::Return* ret;  ///< The return; null if the minion was given up.
  std::string_view jid;
};

/// Publishes the jobs of one call and waits for their returns. Drops a second return of the same minion, and
/// returns of minions outside the job. Asks slow minions whether they still run the job. Gives them up by
/// Salt's rules (`JobWait`), at the latest at the permit's deadline. One thread uses a Gatherer; deliveries
/// come from any thread.
class Gatherer {
 public:
  explicit Gatherer(const Call& call);
  Gatherer(const Gatherer&) = delete;
  Gatherer& operator=(const Gatherer&) = delete;

  /// Publishes a job. `next` then returns one result for each minion. The Gatherer owns the returned job.
  /// Errors: those of `Master::publish`.
  Result<const master::Job*> publish(const master::Publication& publication);

  /// Waits for the next result. Each minion of each job has one result. Absent after the last result, and
  /// when `until` has passed. Errors: timeout at the permit's deadline, with the unfinished jobs;
  /// reply_too_large; those of the master.
  Result<std::optional<Arrival>> next(SteadyTime until = SteadyTime::max());

  /// Returns the size of all returns that have come, in bytes. Returns that `next` has not handed out yet are
  /// included.
  [[nodiscard]] std::size_t gathered() const noexcept { return call_.room - inbox_->room; }

 private:
  struct Active {
    Active(master::Job its_job, Timeouts timeouts, SteadyTime now)
        : job(std::move(its_job)), wait(std::span(job.minions).subspan(job.returned.size()), timeouts, now) {}

    master::Job job;
    JobWait wait;
    std::optional<std::size_t> question{};  ///< The index in `rounds_` of the last question.
    bool is_over = false;                   ///< True when no minion of the job is waited for.
  };
  /// One publication of a job, or of a question about a job.
  struct Round {
    Active* about;
    bool is_question;  ///< True for a question (`find_job`), false for the job itself.
    std::shared_ptr<master::Addressee> returns;  ///< The master delivers as long as this object exists.
  };
  struct Message {
    std::size_t round;
    master::Delivery delivery;
  };
  /// Receives deliveries. Shared with the senders, which may outlive the Gatherer.
  struct Inbox {
    Inbox(std::size_t most_here, std::size_t most_in_all) : room(most_here), max_reply_bytes(most_in_all) {}

    /// Counts the bytes of a return. Returns false if the return has more bytes than are left.
    bool take(const master::Return& ret);

    master::Mailbox<Message> messages;
    std::atomic<std::size_t> room;  ///< The bytes that are left for returns.
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
  std::vector<Active*> active_;     ///< The jobs with minions that are waited for.
  std::optional<Message> message_;  ///< The last message that was read. A result may point into it.
  std::vector<Arrival> ready_;      ///< The results that have come.
  std::size_t handed_out_ = 0;      ///< The number of results in `ready_` that `next` has returned.
  std::optional<Error> too_large_;  ///< The error that `next` returns after the results in `ready_`.
};

/// Sends the question `what` to all minions of a call. Returns the minions whose answer is a yes, in the
/// order of their answers. Errors: those of `Gatherer`.
[[nodiscard]] Result<std::vector<std::string>> find_answering(const Call& call,
                                                              master::Publication::What what,
                                                              bool (*is_yes)(const master::Return& ret));

}  // namespace rest_fcgi::client

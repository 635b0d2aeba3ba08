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

/// The call of one chunk. Borrows the referenced objects.
struct ChunkCall {
  master::Master& master;
  const master::Permit& permit;
  const Options& options;
  const Clock& clock;
  std::size_t room;  ///< The largest size of all returns of this call, in bytes.
};

[[nodiscard]] Error reply_too_large(std::size_t max_reply_bytes);

/// The time limits of a job.
struct Timeouts {
  std::chrono::milliseconds timeout;  ///< After `timeout`, `find_job` asks minions about the job.
  /// `gather_job_timeout` is the time limit for the answers to `find_job`.
  std::chrono::milliseconds gather_job_timeout;
  /// The time after a job's start in which syndics may name minions. 0 without syndics.
  std::chrono::milliseconds syndic_wait{0};
};

/// Salt's rules for the wait for one job's returns. After `timeout`, missing minions are asked every
/// `gather_job_timeout` whether they run the job (`saltutil.find_job`). A minion that answers yes
/// gets `timeout` again. The wait ends when no missing minion has time left. The caller reports events and
/// asks for the next step. Used by one thread.
class JobWait {
 public:
  JobWait(std::span<const std::string> minions, Timeouts timeouts, SteadyTime now);

  /// Reports that `syndics` have passed the job on to `minions`. The wait then includes these minions. The
  /// wait includes a syndic only if the syndic's own id is in `minions`.
  void expect(const std::vector<std::string>& minions, const std::vector<std::string>& syndics,
              SteadyTime now);

  /// Reports a return. Returns the minion's id, owned by this object. Returns std::nullopt for a second
  /// return, or for a minion that was given up or is not in the job.
  std::optional<std::string_view> returned(std::string_view minion);

  void runs(std::string_view minion, SteadyTime now);

  enum class Step {
    wait,     ///< `wait` means that the caller has to wait until `due()`.
    ask,      ///< `ask` means that the caller has to ask the minions in `waiting()`, and then call `asked`.
    give_up,  ///< `give_up` means that the caller has to give up the minions in `waiting()`.
  };
  [[nodiscard]] Step step(SteadyTime now) const;
  [[nodiscard]] SteadyTime due(SteadyTime now) const;
  void asked(SteadyTime now);

  /// Returns whether the wait is over: no minion is missing, and the time in which syndics may name minions
  /// has passed.
  [[nodiscard]] bool done(SteadyTime now) const noexcept { return limits_.empty() && now >= settled_; }

  /// Returns the minions for which the caller still waits, in the order of the job.
  [[nodiscard]] std::vector<std::string> waiting() const;

 private:
  [[nodiscard]] SteadyTime latest_limit() const;
  bool add(std::string_view minion, SteadyTime limit);

  // The list keeps the ids to which `known_`, `syndics_` and `limits_` point.
  std::list<std::string> minions_;
  std::unordered_set<std::string_view> known_;
  /// The syndics that passed the job on. The caller accepts their returns, but does not wait for them.
  std::unordered_set<std::string_view> syndics_;
  Timeouts timeouts_;
  /// The minions that have not returned, each with the time at which the wait for this minion ends.
  std::unordered_map<std::string_view, SteadyTime> limits_;
  SteadyTime settled_;   ///< After the time `settled_`, syndics name no more minions.
  SteadyTime deadline_;  ///< `deadline_` is the end of `timeout`, or of the wait for `find_job`.
  bool ask_ = true;      ///< `ask_` says whether the caller has to send `find_job` at `deadline_`.
};

/// The result of one minion. Borrows from the Gatherer until its next call.
struct Arrival {
  std::string_view minion;
  const master::Return* ret;  ///< Null if the wait for the minion was given up.
  std::string_view jid;
};

/// Publishes the jobs of one call and waits for their returns. The wait follows Salt's rules (`JobWait`) and
/// ends at the latest at the deadline of the call's permit. Drops repeated returns, and returns of minions
/// that are not in the job. Used by one thread, but any thread may deliver returns.
class Gatherer {
 public:
  explicit Gatherer(const ChunkCall& call);
  Gatherer(const Gatherer&) = delete;
  Gatherer& operator=(const Gatherer&) = delete;

  /// Publishes a job and owns it. After the call, `next` returns a result for each minion. Errors: the errors
  /// of `Master::publish`.
  Result<const master::Job*> publish(const master::Publication& publication);

  /// Waits for the next result. Returns std::nullopt at the time `until`, and after the last result. Errors:
  /// timeout at the permit's deadline, with the unfinished jobs; reply_too_large; the errors of the master.
  Result<std::optional<Arrival>> next(SteadyTime until = SteadyTime::max());

  /// Returns the size of all received returns, in bytes.
  [[nodiscard]] std::size_t gathered() const noexcept { return call_.room - inbox_->room; }

 private:
  struct Active {
    Active(master::Job its_job, Timeouts timeouts, SteadyTime now)
        : job(std::move(its_job)), wait(std::span(job.minions).subspan(job.returned.size()), timeouts, now) {}

    master::Job job;
    JobWait wait;
    std::optional<std::size_t> question{};  ///< `question` is the index in `rounds_` of the last `find_job`.
    bool is_over = false;  ///< `is_over` says that all minions of the job have returned or were given up.
  };
  /// A published job, or a published `find_job` about a job.
  struct Round {
    Active* about;
    bool is_question;
    /// The master delivers returns while this object exists.
    std::shared_ptr<master::Addressee> returns;
  };
  struct Message {
    std::size_t round;
    master::Delivery delivery;
  };
  /// The senders of returns share the inbox and may outlive the Gatherer.
  struct Inbox {
    Inbox(std::size_t most_here, std::size_t most_in_all) : room(most_here), max_reply_bytes(most_in_all) {}

    bool take(const master::Return& ret);

    master::Mailbox<Message> messages;
    std::atomic<std::size_t> room;  ///< The total size in bytes that further returns may have.
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

  const ChunkCall call_;
  const Timeouts timeouts_;
  const std::shared_ptr<Inbox> inbox_;
  std::vector<Round> rounds_;
  std::list<Active> jobs_;
  std::vector<Active*> active_;  ///< `active_` are the jobs whose minions the Gatherer still waits for.
  /// A result of `next` may point into `message_`.
  std::optional<Message> message_;
  std::vector<Arrival> ready_;
  std::size_t handed_out_ = 0;      ///< `next` has returned the first `handed_out_` results of `ready_`.
  std::optional<Error> too_large_;  ///< `too_large_` is the error that follows the results in `ready_`.
};

/// Publishes the question `what`, such as a ping, to all minions of a call. Returns the minions for whose
/// answer `is_yes` returns true, in the order of the answers. Errors: the errors of `Gatherer`.
Result<std::vector<std::string>> find_answering(const ChunkCall& call, master::Publication::What what,
                                                bool (*is_yes)(const master::Return& ret));

}  // namespace rest_fcgi::client

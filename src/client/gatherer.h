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

/// One chunk's call, and what it runs with. Borrows all of it; lives for the call.
struct Call {
  master::Master& master;
  const master::Permit& permit;
  const Options& options;
  const Clock& clock;
  std::size_t room;  ///< bytes that may be gathered for it
};

/// For a call that gathered more than it may.
[[nodiscard]] Error reply_too_large(std::size_t max_reply_bytes);

/// How long one job is waited for.
struct Patience {
  std::chrono::milliseconds timeout;             ///< until minions are asked whether the job still runs
  std::chrono::milliseconds gather_job_timeout;  ///< how long they have to answer
  /// How long, from the start, syndics may name minions of theirs, and how much later answers come through
  /// them; 0: there are none.
  std::chrono::milliseconds syndic_wait{0};
};

/// Salt's rules for how long to wait for one job's minions. After `timeout` those that have not returned are
/// asked whether the job still runs (`saltutil.find_job`). While some say yes, they are asked again every
/// `gather_job_timeout`; when a round stays without a yes, and for each minion `timeout` has passed since its
/// last one, the wait is over. So a job may run as long as its minion says that it does.
///
/// Does nothing by itself: it is told what happened and when, and says what is due. Owns its copy of the ids.
/// Not synchronized.
class JobWait {
 public:
  JobWait(std::span<const std::string> minions, Patience patience, SteadyTime now);

  /// Syndics named minions of theirs. Those that are known are left alone, also where they have returned. The
  /// syndics themselves are not waited for, unless they are such minions as well.
  void expect(const std::vector<std::string>& minions, const std::vector<std::string>& syndics,
              SteadyTime now);

  /// A minion returned: its id, for as long as this lives. Absent where it has returned before, was given up,
  /// or is none of ours; where there are syndics every minion may be one of ours.
  std::optional<std::string_view> returned(std::string_view minion);

  /// A minion said that it is still at work.
  void runs(std::string_view minion, SteadyTime now);

  enum class Step {
    wait,     ///< until `due()`
    ask,      ///< all in `waiting()`, and say so with `asked`
    give_up,  ///< on all in `waiting()`
  };
  [[nodiscard]] Step step(SteadyTime now) const;
  [[nodiscard]] SteadyTime due(SteadyTime now) const;
  void asked(SteadyTime now);

  /// Nobody is waited for any more, nor is anybody expected to be named.
  [[nodiscard]] bool done(SteadyTime now) const noexcept { return limits_.empty() && now >= settled_; }

  /// Who has not returned, in the order of the job.
  [[nodiscard]] std::vector<std::string> waiting() const;

 private:
  [[nodiscard]] SteadyTime latest_limit() const;
  /// False where it is known already.
  bool add(std::string_view minion, SteadyTime limit);

  std::list<std::string> minions_;                // a list, since others look into it
  std::unordered_set<std::string_view> known_;    ///< all of minions_
  std::unordered_set<std::string_view> syndics_;  ///< of minions_, neither returned nor waited for
  Patience patience_;
  std::unordered_map<std::string_view, SteadyTime>
      limits_;           ///< of those that have not returned; into minions_
  SteadyTime settled_;   ///< from when on no further minions are named
  SteadyTime deadline_;  ///< of the timeout, later of the round of questions
  bool ask_ = true;      ///< is there reason to ask when it has passed?
};

/// What came for one minion of a job. Looks into the Gatherer, until the next is asked for.
struct Arrival {
  std::string_view minion;
  const master::Return* ret;  ///< null: it will not return, as far as we can tell
  std::string_view jid;
};

/// Publishes jobs of one call and waits for their returns, one job or several at once. A return of a minion
/// that the job does not wait for, or that has returned before, is dropped. Minions that take long are asked
/// whether they still run the job, and are given up as Salt does it (`JobWait`), at the latest at the
/// permit's deadline.
///
/// For one thread; only what reaches it as an addressee comes from others.
class Gatherer {
 public:
  explicit Gatherer(const Call& call);
  Gatherer(const Gatherer&) = delete;  // jobs are pointed at
  Gatherer& operator=(const Gatherer&) = delete;

  /// Publishes a job whose returns `next` then gives, one of each of its minions. The job lives as long as
  /// this. Errors: the master's.
  Result<const master::Job*> publish(const master::Publication& publication);

  /// The next return; each minion of each job arrives once. Absent when nothing is waited for any more, or
  /// `until` has passed. Errors: timeout, naming the unfinished jobs, when the deadline has passed;
  /// reply_too_large; the master's.
  Result<std::optional<Arrival>> next(SteadyTime until = SteadyTime::max());

  /// Bytes of all returns that have come so far, those that `next` has still to give included.
  [[nodiscard]] std::size_t gathered() const noexcept { return call_.room - inbox_->room; }

 private:
  struct Active {
    Active(master::Job its_job, Patience patience, SteadyTime now)
        : job(std::move(its_job)), wait(std::span(job.minions).subspan(job.returned.size()), patience, now) {}

    master::Job job;
    JobWait wait;
    std::optional<std::size_t> question{};  ///< the last one's round
    bool is_over = false;                   ///< nobody is waited for any more
  };
  /// What one publication's returns are about.
  struct Round {
    Active* about;
    bool is_question;                            ///< find_job; else the job itself
    std::shared_ptr<master::Addressee> returns;  ///< they come as long as this is held
  };
  struct Letter {
    std::size_t round;
    master::Delivery delivery;
  };
  /// What senders share with this, who may come late.
  struct Inbox {
    Inbox(std::size_t most_here, std::size_t most_in_all) : room(most_here), max_reply_bytes(most_in_all) {}

    /// False where it does not fit.
    bool take(const master::Return& ret);

    master::Mailbox<Letter> letters;
    std::atomic<std::size_t> room;  ///< bytes of returns that may still come
    std::atomic<bool> full = false;
    const std::size_t max_reply_bytes;
  };
  class Slot;

  Result<void> take_steps(SteadyTime now);
  Result<void> ask(Active& active, SteadyTime now);
  void give_up(Active& active, const std::vector<std::string>& minions);
  void finish(Active& active);
  Result<std::optional<Arrival>> open(Letter& letter);
  std::optional<Arrival> take_in(Active& active, const master::Return& ret);
  void note_answer(Active& active, const master::Return& ret);
  [[nodiscard]] SteadyTime due(SteadyTime now) const;
  [[nodiscard]] Error too_late() const;

  const Call call_;
  const Patience patience_;
  const std::shared_ptr<Inbox> inbox_;
  std::vector<Round> rounds_;
  std::list<Active> jobs_;          ///< all that were published; they stay where they are
  std::vector<Active*> active_;     ///< those that somebody still has to return to
  std::optional<Letter> letter_;    ///< the one that was opened last
  std::vector<Arrival> ready_;      ///< what needs no waiting for
  std::size_t handed_out_ = 0;      ///< of these
  std::optional<Error> too_large_;  ///< what comes behind them
};

/// Asks all minions of a call, and says whose answers are a yes, in the order in which they came. Errors: as
/// those of a Gatherer.
[[nodiscard]] Result<std::vector<std::string>> who_answers(const Call& call, master::Publication::What what,
                                                           bool (*is_yes)(const master::Return& ret));

}  // namespace rest_fcgi::client

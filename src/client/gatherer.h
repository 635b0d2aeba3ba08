// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/pending_job.h"
#include "rest_fcgi/client/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::client {

/// What came for one minion of a job.
struct Arrival {
  std::string minion;
  std::optional<master::Return> ret;  ///< absent: it will not return, as far as we can tell
  std::string_view jid;               ///< into the Gatherer
};

/// Publishes jobs under one permit and waits for their returns, one job or several at once. It tells whom it
/// waits for from strangers and duplicates, asks minions that take long whether they still run the job, and
/// gives up as Salt does (`PendingJob`), at the latest at the permit's deadline. Borrows all that it gets.
///
/// For one thread; only what reaches it through a mailbox comes from others.
class Gatherer {
 public:
  Gatherer(master::Master& master, const master::Permit& permit, const Options& options);
  Gatherer(const Gatherer&) = delete;  // jobs are pointed at
  Gatherer& operator=(const Gatherer&) = delete;

  /// Publishes a job whose returns `next` then gives. What is returned lives as long as this. Errors: the
  /// master's.
  Result<const master::Job*> publish(const master::Publication& publication);

  /// The next return; each minion of each job arrives once. Absent when nothing is waited for any more, or
  /// `until` has passed. Errors: timeout, naming the unfinished jobs, when the deadline has passed; the
  /// master's.
  Result<std::optional<Arrival>> next(SteadyTime until = SteadyTime::max());

 private:
  struct Active {
    master::Job job;
    PendingJob pending;
    std::optional<std::size_t> question{};  ///< the last one's round
  };
  /// What one publication's returns are about.
  struct Round {
    Active* about;
    bool is_question;                          ///< find_job; else the job itself
    std::shared_ptr<master::Returns> returns;  ///< they come as long as this is held
  };
  struct Letter {
    std::size_t round;
    master::Delivery delivery;
  };

  std::shared_ptr<master::Returns> new_round();

  Result<void> take_steps(SteadyTime now);
  Result<void> ask(Active& active, SteadyTime now);
  void give_up(Active& active, const std::vector<std::string>& minions);
  Result<std::optional<Arrival>> open(Letter letter);
  std::optional<Arrival> take_in(Active& active, master::Return ret);
  void note_answer(Active& active, const master::Return& ret);
  [[nodiscard]] SteadyTime due(SteadyTime now) const;
  [[nodiscard]] Error too_late() const;

  master::Master& master_;
  const master::Permit& permit_;
  Patience patience_;
  std::chrono::milliseconds request_timeout_;
  std::shared_ptr<master::Mailbox<Letter>> inbox_;  // shared with late senders
  std::vector<Round> rounds_;
  std::deque<Active> jobs_;       ///< all that were published; they stay where they are
  std::vector<Active*> active_;   ///< those that somebody still has to return to
  std::deque<Arrival> given_up_;  ///< not handed out yet
};

}  // namespace rest_fcgi::client

// SPDX-License-Identifier: MIT
#include "client/gatherer.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::client {
namespace {

using master::Publication;
using master::Return;

/// The least `gather_job_timeout` of a chunk, as of the configuration: an engine that answers find_job at
/// once would otherwise be asked again and again without a pause.
constexpr std::chrono::milliseconds kLeastPause{100};

Patience patience_for(const lowstate::LocalCall& call, const Options& options) {
  const auto gather =
      call.gather_job_timeout ? std::max(*call.gather_job_timeout, kLeastPause) : options.gather_job_timeout;
  return {call.timeout.value_or(options.timeout), gather, options.syndic_wait};
}

/// A minion that runs the job describes it; one that does not says `{}`, or, where find_job itself failed, a
/// text.
bool says_that_it_runs(const Return& answer) {
  const std::string& text = answer.ret.text();
  return text.size() > 2 && text.front() == '{' && text != R"({"return": {}})";
}

}  // namespace

Gatherer::Gatherer(master::Master& master, const master::Permit& permit, const Options& options)
    : master_(master),
      permit_(permit),
      patience_(patience_for(permit.chunk().local(), options)),
      request_timeout_(options.request_timeout),
      inbox_(std::make_shared<master::Mailbox<Letter>>()) {}

std::shared_ptr<master::Returns> Gatherer::new_round() {
  return std::make_shared<master::Returns>(
      [inbox = inbox_, round = rounds_.size()](master::Delivery delivery) {
        inbox->put({round, std::move(delivery)});
      });
}

Result<const master::Job*> Gatherer::publish(const Publication& publication) {
  auto returns = new_round();
  Result<master::Job> job = master_.publish(permit_, publication, returns);
  if (!job) return std::move(job).error();
  const SteadyTime now = system_clock().steady();
  PendingJob pending(job->minions, patience_, now);
  Active& active = jobs_.emplace_back(Active{*std::move(job), std::move(pending)});
  rounds_.push_back({&active, false, std::move(returns)});
  if (!active.job.jid.empty() && !active.pending.done(now)) active_.push_back(&active);
  return &active.job;
}

Result<std::optional<Arrival>> Gatherer::next(SteadyTime until) {
  while (true) {
    if (!given_up_.empty()) {
      std::optional<Arrival> arrival(std::move(given_up_.front()));
      given_up_.pop_front();
      return arrival;
    }
    if (active_.empty() && until == SteadyTime::max()) return std::optional<Arrival>();
    // What has come is looked at before the time is, so that a slow host does not give up what it has in its
    // hands.
    auto letter = inbox_->take(std::min({until, permit_.deadline(), due(system_clock().steady())}));
    const bool has_letter = letter.has_value();
    if (has_letter) {
      auto opened = open(*std::move(letter));
      if (!opened || opened->has_value()) return opened;
    }
    const SteadyTime now = system_clock().steady();
    if (now >= permit_.deadline()) return too_late();
    if (has_letter) continue;
    if (Result<void> stepped = take_steps(now); !stepped) return std::move(stepped).error();
    if (now >= until) return std::optional<Arrival>();
  }
}

Result<void> Gatherer::take_steps(SteadyTime now) {
  for (std::size_t i = active_.size(); i-- > 0;) {  // from the end, since give_up takes jobs out
    Active& job = *active_[i];
    switch (job.pending.step(now)) {
      case PendingJob::Step::wait:
        break;
      case PendingJob::Step::ask:
        if (Result<void> asked = ask(job, now); !asked) return asked;
        break;
      case PendingJob::Step::give_up:
        give_up(job, job.pending.waiting());
        break;
    }
  }
  return {};
}

Result<void> Gatherer::ask(Active& active, SteadyTime now) {
  const Publication question{Publication::What::find_job, active.pending.waiting(), active.job.jid};
  auto answers = new_round();
  Result<master::Job> asked = master_.publish(permit_, question, answers);
  if (!asked) {
    Error error = std::move(asked).error();
    error.jid = active.job.jid;
    return error;
  }
  // Who did not answer the last question is asked again by this one.
  if (active.question) rounds_[*active.question].returns.reset();
  active.question = rounds_.size();
  rounds_.push_back({&active, true, std::move(answers)});
  active.pending.asked(now);
  return {};
}

void Gatherer::give_up(Active& active, const std::vector<std::string>& minions) {
  for (const std::string& minion : minions) {
    if (!active.pending.returned(minion)) continue;
    given_up_.push_back({minion, std::nullopt, active.job.jid});
  }
  if (active.pending.done(system_clock().steady())) std::erase(active_, &active);
}

Result<std::optional<Arrival>> Gatherer::open(Letter letter) {
  const Round& round = rounds_[letter.round];
  Active& active = *round.about;
  if (auto* lost = std::get_if<Error>(&letter.delivery)) {
    lost->jid = active.job.jid;
    return std::move(*lost);
  }
  const SteadyTime now = system_clock().steady();
  if (const auto* more = std::get_if<master::MoreMinions>(&letter.delivery)) {
    if (!round.is_question) active.pending.expect(more->minions, more->syndics, now);
    return std::optional<Arrival>();
  }
  auto& ret = std::get<Return>(letter.delivery);
  if (!round.is_question) return take_in(active, std::move(ret));
  note_answer(active, ret);
  return std::optional<Arrival>();
}

std::optional<Arrival> Gatherer::take_in(Active& active, Return ret) {
  if (!active.pending.returned(ret.minion)) {
    log::debug(
        format("Job {}: ignored a return of {}, which was not waited for", active.job.jid, ret.minion));
    return std::nullopt;
  }
  if (active.pending.done(system_clock().steady())) std::erase(active_, &active);
  std::string minion = ret.minion;
  return Arrival{std::move(minion), std::move(ret), active.job.jid};
}

void Gatherer::note_answer(Active& active, const Return& answer) {
  if (answer.retcode > 0) {
    give_up(active, {answer.minion});  // it cannot even answer that
  } else if (says_that_it_runs(answer)) {
    active.pending.runs(answer.minion, system_clock().steady());
  }
}

SteadyTime Gatherer::due(SteadyTime now) const {
  SteadyTime due = SteadyTime::max();
  for (const Active* active : active_) due = std::min(due, active->pending.due(now));
  return due;
}

Error Gatherer::too_late() const {
  const double seconds = std::chrono::duration<double>(request_timeout_).count();
  if (active_.empty()) {
    return {ErrorKind::timeout,
            format("The chunk did not finish within {} seconds (request_timeout)", seconds)};
  }
  std::string jids;
  for (const Active* active : active_) jids.append(jids.empty() ? "" : ", ").append(active->job.jid);
  return {ErrorKind::timeout,
          format("Job '{}' did not finish within {} seconds (request_timeout)", jids, seconds),
          active_.front()->job.jid};
}

}  // namespace rest_fcgi::client

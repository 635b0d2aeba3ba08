// SPDX-License-Identifier: MIT
#include "client/gatherer.h"

#include <algorithm>
#include <iterator>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::client {
namespace {

using master::Publication;
using master::Return;

/// With a `gather_job_timeout` of 0, the loop would send `find_job` without a pause.
constexpr std::chrono::milliseconds kLeastPause{100};

Timeouts timeouts_for(const lowstate::LocalCall& call, const Options& options) {
  const auto gather =
      call.gather_job_timeout ? std::max(*call.gather_job_timeout, kLeastPause) : options.gather_job_timeout;
  return {call.timeout.value_or(options.timeout), gather, options.syndic_wait};
}

/// Returns whether the answer to `find_job` is an object with members, as from a minion that runs the job. As
/// in Salt's `LocalClient.get_iter_returns`, an empty member `return` means that the minion does not run it.
bool says_that_it_runs(const Return& answer) {
  const JsonDocument document = own_document(answer.ret);
  const JsonValue job = document.root();
  if (!job.is(JsonValue::Kind::object) || job.size() == 0) return false;
  const auto inner = job.find("return");
  return !inner || !(inner->is(JsonValue::Kind::object) && inner->size() == 0);
}

}  // namespace

Error reply_too_large(std::size_t max_reply_bytes) {
  return {ErrorKind::reply_too_large,
          format("The reply is too large: the returns have more than {} bytes (max_reply_bytes)",
                 max_reply_bytes)};
}

JobWait::JobWait(std::span<const std::string> minions, Timeouts timeouts, SteadyTime now)
    : timeouts_(timeouts), settled_(now + timeouts.syndic_wait), deadline_(now + timeouts.timeout) {
  for (const std::string& minion : minions) add(minion, deadline_);
}

bool JobWait::add(std::string_view minion, SteadyTime limit) {
  if (known_.count(minion) > 0) return false;
  const std::string& added = minions_.emplace_back(minion);
  known_.insert(added);
  limits_.emplace(added, limit);
  return true;
}

void JobWait::expect(const std::vector<std::string>& minions, const std::vector<std::string>& syndics,
                     SteadyTime now) {
  for (const std::string& syndic : syndics) {
    const auto found = limits_.find(syndic);
    if (found == limits_.end()) continue;
    syndics_.insert(found->first);
    limits_.erase(found);
  }
  for (const std::string& minion : minions) {
    if (add(minion, now + timeouts_.timeout)) continue;
    if (auto syndic = syndics_.extract(minion)) limits_.emplace(syndic.value(), now + timeouts_.timeout);
  }
}

std::optional<std::string_view> JobWait::returned(std::string_view minion) {
  if (const auto syndic = syndics_.extract(minion)) return syndic.value();
  // Adds an unknown minion, because minions below a syndic may return before the syndic names them.
  if (timeouts_.syndic_wait.count() > 0) add(minion, deadline_);
  const auto waited_for = limits_.extract(minion);
  return waited_for ? std::optional(waited_for.key()) : std::nullopt;
}

void JobWait::runs(std::string_view minion, SteadyTime now) {
  const auto limit = limits_.find(minion);
  if (limit == limits_.end()) return;
  limit->second = now + timeouts_.timeout;
  ask_ = true;
}

JobWait::Step JobWait::step(SteadyTime now) const {
  if (limits_.empty()) return now < settled_ ? Step::wait : Step::give_up;
  if (now < deadline_) return Step::wait;
  if (ask_) return Step::ask;
  return now < latest_limit() ? Step::wait : Step::give_up;
}

SteadyTime JobWait::due(SteadyTime now) const {
  if (limits_.empty()) return settled_;
  return ask_ || now < deadline_ ? deadline_ : latest_limit();
}

void JobWait::asked(SteadyTime now) {
  deadline_ = now + timeouts_.gather_job_timeout + timeouts_.syndic_wait;
  ask_ = false;
}

SteadyTime JobWait::latest_limit() const {
  SteadyTime latest = SteadyTime::min();
  for (const auto& [minion, limit] : limits_) latest = std::max(latest, limit);
  return latest;
}

std::vector<std::string> JobWait::waiting() const {
  std::vector<std::string> waiting;
  std::copy_if(minions_.begin(), minions_.end(), std::back_inserter(waiting),
               [this](const std::string& minion) { return limits_.count(minion) != 0; });
  return waiting;
}

Gatherer::Gatherer(const ChunkCall& call)
    : call_(call),
      timeouts_(timeouts_for(call.permit.chunk().local(), call.options)),
      inbox_(std::make_shared<Inbox>(call.room, call.options.max_reply_bytes)) {}

bool Gatherer::Inbox::take(const Return& ret) {
  const std::size_t bytes =
      ret.minion.size() + ret.ret.text().size() + (ret.event ? ret.event->text().size() : 0);
  std::size_t left = room;
  do {
    if (bytes > left) return false;
  } while (!room.compare_exchange_weak(left, left - bytes));
  return true;
}

/// Receives the returns of a published job or of `find_job`. If `counts` is true, the returns count towards
/// the limit of the reply. An Error replaces the first return beyond the limit, and later returns are
/// dropped.
class Gatherer::Slot final : public master::Addressee {
 public:
  Slot(std::shared_ptr<Inbox> inbox, std::size_t round, bool counts)
      : inbox_(std::move(inbox)), round_(round), counts_(counts) {}

  void put(master::Delivery delivery) override {
    const auto* ret = std::get_if<Return>(&delivery);
    if (counts_ && ret != nullptr && !inbox_->take(*ret)) {
      if (inbox_->full.exchange(true)) return;
      delivery = reply_too_large(inbox_->max_reply_bytes);
    }
    inbox_->messages.put({round_, std::move(delivery)});
  }

 private:
  const std::shared_ptr<Inbox> inbox_;
  const std::size_t round_;
  const bool counts_;
};

Result<const master::Job*> Gatherer::publish(const Publication& publication) {
  const bool counts = publication.what == Publication::What::call;
  const auto returns = std::make_shared<Slot>(inbox_, rounds_.size(), counts);
  // Only the first job of a chunk has the prepared id.
  std::optional<master::Permit> later;
  if (!rounds_.empty() && !call_.permit.jid().empty()) later.emplace(call_.permit).set_jid({});
  Result<master::Job> job = call_.master.publish(later ? *later : call_.permit, publication, returns);
  if (!job) return std::move(job).error();
  const SteadyTime now = call_.clock.steady();
  // Waits for all minions in `publication.only`. A master reports minions below its syndics as missing,
  // although these minions can return.
  const bool may_be_below = timeouts_.syndic_wait.count() > 0 && !job->jid.empty() && job->returned.empty();
  if (publication.only && may_be_below) job->minions = *publication.only;
  Active& active = jobs_.emplace_back(*std::move(job), timeouts_, now);
  ready_.reserve(ready_.size() + active.job.returned.size());
  for (const Return& ret : active.job.returned) {
    if (counts && !inbox_->take(ret)) {
      too_large_ = master::with_jid(reply_too_large(inbox_->max_reply_bytes), active.job.jid);
      break;
    }
    ready_.push_back({ret.minion, &ret, active.job.jid});
  }
  rounds_.push_back({&active, false, returns});
  if (active.job.jid.empty() || active.wait.done(now)) {
    active.is_over = true;
  } else {
    active_.push_back(&active);
  }
  return &active.job;
}

Result<std::optional<Arrival>> Gatherer::next(SteadyTime until) {
  while (true) {
    if (handed_out_ < ready_.size()) return std::optional(ready_[handed_out_++]);
    if (too_large_) return *too_large_;
    ready_.clear();
    handed_out_ = 0;
    if (active_.empty() && until == SteadyTime::max()) return std::optional<Arrival>();
    // Reads the mailbox before the check of the deadline, so that a slow host accepts a return that arrived
    // in time.
    message_ = inbox_->messages.take(std::min({until, call_.permit.deadline(), due(call_.clock.steady())}));
    if (message_) {
      auto opened = open(*message_);
      if (!opened || opened->has_value()) return opened;
    }
    const SteadyTime now = call_.clock.steady();
    if (now >= call_.permit.deadline()) return too_late();
    if (message_) continue;
    if (Result<void> stepped = take_steps(now); !stepped) return std::move(stepped).error();
    if (now >= until) return std::optional<Arrival>();
  }
}

Result<void> Gatherer::take_steps(SteadyTime now) {
  for (std::size_t i = active_.size(); i-- > 0;) {
    Active& job = *active_[i];
    switch (job.wait.step(now)) {
      case JobWait::Step::wait:
        break;
      case JobWait::Step::ask:
        if (Result<void> asked = ask(job, now); !asked) return asked;
        break;
      case JobWait::Step::give_up:
        give_up(job, job.wait.waiting());
        break;
    }
  }
  return {};
}

Result<void> Gatherer::ask(Active& active, SteadyTime now) {
  const Publication question{Publication::What::find_job, active.wait.waiting(), active.job.jid};
  const auto answers = std::make_shared<Slot>(inbox_, rounds_.size(), false);
  Result<master::Job> asked = call_.master.publish(call_.permit, question, answers);
  if (!asked) {
    Error error = std::move(asked).error();
    error.message = "the Salt master did not carry out saltutil.find_job.";
    return master::still_runs(std::move(error), active.job.jid);
  }
  if (active.question) rounds_[*active.question].returns.reset();
  active.question = rounds_.size();
  rounds_.push_back({&active, true, answers});
  active.wait.asked(now);
  for (const Return& answer : asked->returned) note_answer(active, answer);
  return {};
}

void Gatherer::give_up(Active& active, const std::vector<std::string>& minions) {
  for (const std::string& minion : minions) {
    if (const auto id = active.wait.returned(minion)) ready_.push_back({*id, nullptr, active.job.jid});
  }
  if (active.wait.done(call_.clock.steady())) finish(active);
}

void Gatherer::finish(Active& active) {
  active.is_over = true;
  std::erase(active_, &active);
}

Result<std::optional<Arrival>> Gatherer::open(Message& message) {
  const Round& round = rounds_[message.round];
  Active& active = *round.about;
  if (auto* lost = std::get_if<Error>(&message.delivery)) {
    // The Slot's own error about a large reply says all.
    if (lost->kind == ErrorKind::reply_too_large) return master::with_jid(std::move(*lost), active.job.jid);
    return master::still_runs(std::move(*lost), active.job.jid);
  }
  const SteadyTime now = call_.clock.steady();
  if (const auto* more = std::get_if<master::MoreMinions>(&message.delivery)) {
    if (!round.is_question) active.wait.expect(more->minions, more->syndics, now);
    return std::optional<Arrival>();
  }
  const auto& ret = std::get<Return>(message.delivery);
  if (!round.is_question) return take_in(active, ret);
  note_answer(active, ret);
  return std::optional<Arrival>();
}

std::optional<Arrival> Gatherer::take_in(Active& active, const Return& ret) {
  if (active.is_over || !active.wait.returned(ret.minion)) {
    log::debug(format("Job {}: ignored an unexpected return of minion {}", active.job.jid, ret.minion));
    return std::nullopt;
  }
  if (active.wait.done(call_.clock.steady())) finish(active);
  return Arrival{ret.minion, &ret, active.job.jid};
}

void Gatherer::note_answer(Active& active, const Return& answer) {
  if (answer.retcode > 0) {
    give_up(active, {answer.minion});
  } else if (says_that_it_runs(answer)) {
    active.wait.runs(answer.minion, call_.clock.steady());
  }
}

SteadyTime Gatherer::due(SteadyTime now) const {
  SteadyTime due = SteadyTime::max();
  for (const Active* active : active_) due = std::min(due, active->wait.due(now));
  return due;
}

Result<std::vector<std::string>> find_answering(const ChunkCall& call, Publication::What what,
                                                bool (*is_yes)(const Return& ret)) {
  Gatherer gatherer(call);
  const auto published = gatherer.publish({what, std::nullopt, {}});
  if (!published) return published.error();
  std::vector<std::string> minions;
  while (true) {
    Result<std::optional<Arrival>> next = gatherer.next();
    if (!next) return std::move(next).error();
    if (!next->has_value()) return minions;
    const Arrival& arrival = **next;
    if (arrival.ret != nullptr && is_yes(*arrival.ret)) minions.emplace_back(arrival.minion);
  }
}

Error Gatherer::too_late() const {
  const double seconds = std::chrono::duration<double>(call_.options.request_timeout).count();
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

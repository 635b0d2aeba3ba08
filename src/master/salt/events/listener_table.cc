// SPDX-License-Identifier: MIT
#include "master/salt/events/listener_table.h"

#include <iterator>
#include <optional>

#include "master/salt/release_series.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/waiting.h"

// Invariants of EarlyEvents: `events_` has ascending numbers, `by_job_` has one entry for each event, and
// `bytes_` is the sum of their `bytes()`, at most `max_bytes_`.
// Invariants of ListenerTable whenever `mutex_` is free:
// - `expectations_` has the number of each Expectation, and `claimed_` its jid, if the caller chose one.
// - `early_` has no event with a lower number than the first of `expectations_`, and none without them.
// - While `Job::replaying` is true, new events of the job go to `early_`, and `replay` passes them on. While
//   it is false, `early_` has no event that the listener needs. The listener gets its events in their order.

namespace rest_fcgi::salt {
namespace {

constexpr std::size_t kMostLosses = 1000;  // The largest number of jobs for which losses are recorded.

Error bus_lost() {
  return {ErrorKind::unavailable, "the connection to the Salt master's event bus was lost."};
}

Error stopping() {
  return {ErrorKind::unavailable,
          "rest_fcgi stops. The job goes on, and the runner jobs.lookup_jid shows its returns."};
}

Error events_lost(std::size_t most) {
  return {ErrorKind::unavailable,
          format("more than {} bytes of events arrived before the Salt master's reply to the publication.",
                 most)};
}

Error another_waits(std::string_view jid) {
  return {ErrorKind::unavailable, format("Another call already waits for the job {}.", jid)};
}

/// Callers do not get the exact reason, which is only in the log, for administrators.
Error for_callers(ErrorKind why) {
  if (why == ErrorKind::authorization) {
    return {ErrorKind::unavailable,
            "rest_fcgi cannot connect to the Salt master's event bus: its user has no permission for "
            "master_event_pub.ipc."};
  }
  if (why == ErrorKind::configuration) {
    return {
        ErrorKind::unavailable,
        "rest_fcgi cannot connect to the Salt master's event bus: the configured address cannot be used."};
  }
  return {ErrorKind::unavailable, kMasterNotAvailable};
}

}  // namespace

std::size_t EarlyEvents::Kept::bytes() const noexcept {
  constexpr std::size_t kHeap = 160;
  return sizeof(Kept) + kHeap + jid.size() + tag.size() + data.size();
}

std::size_t EarlyEvents::keep(Kept event) {
  bytes_ += event.bytes();
  events_.push_back(std::move(event));
  const auto kept = std::prev(events_.end());
  by_job_.emplace(std::pair(std::string_view(kept->jid), kept->number), kept);
  std::size_t dropped = 0;
  for (; bytes_ > max_bytes_; ++dropped) {
    note_loss(events_.front());
    drop_oldest();
  }
  return dropped;
}

void EarlyEvents::note_loss(const Kept& event) {
  losses_[event.jid] = event.number;
  if (losses_.size() <= kMostLosses) return;
  all_lost_ = event.number;
  losses_.clear();
}

bool EarlyEvents::has_lost(std::string_view jid, std::uint64_t since) const {
  const auto loss = losses_.find(jid);
  return since <= all_lost_ || (loss != losses_.end() && since <= loss->second);
}

std::list<EarlyEvents::Kept> EarlyEvents::take(std::string_view jid, std::uint64_t since) {
  std::list<Kept> taken;
  auto event = by_job_.lower_bound({jid, since});
  while (event != by_job_.end() && event->first.first == jid) {
    bytes_ -= event->second->bytes();
    taken.splice(taken.end(), events_, event->second);
    event = by_job_.erase(event);
  }
  return taken;
}

void EarlyEvents::drop_before(std::uint64_t number) {
  while (!events_.empty() && events_.front().number < number) drop_oldest();
  std::erase_if(losses_, [number](const auto& loss) { return loss.second < number; });
}

void EarlyEvents::clear() {
  by_job_.clear();
  events_.clear();
  losses_.clear();
  bytes_ = 0;
}

void EarlyEvents::drop_oldest() {
  const Kept& oldest = events_.front();
  bytes_ -= oldest.bytes();
  by_job_.erase(by_job_.lower_bound({oldest.jid, oldest.number}));
  events_.pop_front();
}

ListenerTable::ListenerTable(const BusOptions& options)
    : max_jobs_(options.max_jobs),
      max_early_bytes_(options.max_early_bytes),
      early_(options.max_early_bytes) {}

void ListenerTable::joined() {
  const MutexLock lock(mutex_);
  joined_ = true;
  changed_.notify_all();
}

void ListenerTable::not_joined(ErrorKind why) {
  std::vector<JobPtr> affected;
  std::optional<Error> error;
  {
    const MutexLock lock(mutex_);
    why_ = why;
    if (!joined_) return;
    error = closed_ ? stopping() : bus_lost();
    // `reserve` may throw, so it is called before the first change of a member.
    affected.reserve(jobs_.size());
    joined_ = false;
    ++losses_;
    early_.clear();
    dropping_early_ = false;
    for (const auto& [jid, job] : jobs_) {
      // While a job replays its kept events, the function `replay` reports the loss to the job's listener.
      if (!job->replaying) affected.push_back(job);
    }
  }
  for (const JobPtr& job : affected) job->listener->on_loss(*error);
}

void ListenerTable::close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return waiting_ == 0; });
  }
  not_joined(ErrorKind::unavailable);
}

void ListenerTable::on_event(const Event& event) {
  const auto topic = topic_of(event.tag);
  if (!topic) return;
  JobPtr dropped;  // The removed job. Its destructor runs after the lock is released.
  JobPtr job;
  {
    MutexLock lock(mutex_);
    // A listener that no caller needs any more is removed first, because it would take the event from the
    // next listener of the job.
    dropped = take_unneeded(topic->jid);
    const auto found = jobs_.find(topic->jid);
    if (found == jobs_.end() || found->second->replaying) return keep(*topic, event, lock);
    job = found->second;
  }
  job->listener->on_event(*topic, event.data);
  if (job->listener->is_needed()) return;
  JobPtr done;
  const MutexLock lock(mutex_);
  done = take_unneeded(topic->jid);
}

void ListenerTable::keep(const Topic& topic, const Event& event, MutexLock& lock) {
  if (expectations_.empty()) return;
  const std::size_t dropped =
      early_.keep({next_number_++, std::string(topic.jid), std::string(event.tag), std::string(event.data)});
  const bool must_log = dropped > 0 && !dropping_early_;
  dropping_early_ = dropping_early_ || dropped > 0;
  lock.unlock();
  if (!must_log) return;
  log::warning(
      format("the Salt master's event bus: more than {} bytes of events arrived for jobs without the "
             "master's reply to their publication; the oldest events are dropped, and their jobs fail",
             max_early_bytes_));
}

void ListenerTable::sweep() {
  std::vector<JobPtr> dropped;  // The removed jobs. Their destructors run after the lock is released.
  const MutexLock lock(mutex_);
  dropped = take_unneeded();
}

std::vector<ListenerTable::JobPtr> ListenerTable::take_unneeded() {
  std::vector<JobPtr> taken;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    if (at->second->is_unneeded()) {
      taken.push_back(std::move(at->second));
      at = jobs_.erase(at);
    } else {
      ++at;
    }
  }
  return taken;
}

ListenerTable::JobPtr ListenerTable::take_unneeded(std::string_view jid) {
  const auto found = jobs_.find(jid);
  if (found == jobs_.end() || !found->second->is_unneeded()) return nullptr;
  JobPtr taken = std::move(found->second);
  jobs_.erase(found);
  return taken;
}

Result<void> ListenerTable::wait_until_joined(SteadyTime until) {
  MutexLock lock(mutex_);
  ++waiting_;
  std::optional<Waiting> waiting;
  if (!joined_ && !closed_) waiting.emplace();
  changed_.wait_until(lock, until, [this]() REQUIRES(mutex_) { return joined_ || closed_; });
  --waiting_;
  if (closed_) changed_.notify_all();
  return closed_ || !joined_ ? for_callers(why_) : Result<void>();
}

Result<ListenerTable::Expectation> ListenerTable::expect(std::string_view jid) {
  std::vector<JobPtr> dropped;  // The removed jobs. Their destructors run after the lock is released.
  const MutexLock lock(mutex_);
  if (closed_ || !joined_) return for_callers(why_);
  const auto is_full = [this]() REQUIRES(mutex_) { return jobs_.size() + expectations_.size() >= max_jobs_; };
  if (is_full()) dropped = take_unneeded();
  if (is_full()) {
    return Error{
        ErrorKind::unavailable,
        format("{} jobs of the Salt master already wait for returns, which is the limit. Try again later.",
               max_jobs_)};
  }
  dropped.push_back(take_unneeded(jid));
  if (!jid.empty() && (jobs_.count(jid) > 0 || !claimed_.emplace(jid).second)) return another_waits(jid);
  Ticket ticket{next_number_++, losses_, std::string(jid)};
  expectations_.insert(ticket.number);
  return Expectation(*this, std::move(ticket));
}

void ListenerTable::forget(const Ticket& ticket) {
  const MutexLock lock(mutex_);
  if (!ticket.jid.empty()) claimed_.erase(ticket.jid);
  expectations_.erase(ticket.number);
  early_.drop_before(expectations_.empty() ? next_number_ : *expectations_.begin());
  if (early_.empty()) dropping_early_ = false;
}

Result<void> ListenerTable::listen(Ticket ticket, std::string_view jid, std::shared_ptr<Listener> listener) {
  JobPtr dropped;  // The removed job. Its destructor runs after the lock is released.
  MutexLock lock(mutex_);
  dropped = take_unneeded(jid);
  const auto job = std::make_shared<Job>(Job{std::string(jid), std::move(listener)});
  if (!jobs_.try_emplace(job->jid, job).second) return another_waits(jid);
  replay(std::move(ticket), *job, lock);
  return {};
}

void ListenerTable::replay(Ticket ticket, Job& job, MutexLock& lock) {
  while (true) {
    std::optional<Error> lost;
    std::list<EarlyEvents::Kept> kept;
    if (std::exchange(ticket.losses, losses_) != losses_) {
      lost = bus_lost();
    } else if (kept = early_.take(job.jid, ticket.number); kept.empty()) {
      if (early_.has_lost(job.jid, ticket.number)) lost = events_lost(max_early_bytes_);
      ticket.number = next_number_;
    }
    job.replaying = lost || !kept.empty();
    if (!job.replaying) return;
    lock.unlock();
    for (const EarlyEvents::Kept& event : kept) job.listener->on_event(*topic_of(event.tag), event.data);
    if (lost) job.listener->on_loss(*lost);
    lock.lock();
  }
}

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#include "master/salt/events/registry.h"

#include <utility>
#include <vector>

#include "master/salt/not_available.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::salt {
namespace {

/// For whoever listened when the bus was lost.
Error bus_lost() {
  return {ErrorKind::unavailable,
          format("{} Its event bus was lost while the job was under way: returns may be missing.",
                 kMasterNotAvailable)};
}

/// For whoever listened to a job that returned more than is kept until its publication is answered.
Error events_lost(std::size_t most) {
  return {ErrorKind::unavailable,
          format("More than {} bytes of events came before the Salt master had answered the publication: "
                 "returns may be missing.",
                 most)};
}

void tell(Listener& listener, const Topic& topic, std::string_view data, std::uint64_t too_large) {
  if (too_large == 0) {
    listener.hear(topic, data);
  } else {
    listener.hear_beginning(topic, data, too_large);
  }
}

/// What callers are told of a reason that is for administrators.
Error for_callers(ErrorKind why) {
  if (why == ErrorKind::authorization) {
    return {
        ErrorKind::unavailable,
        "The Salt master's event bus is closed to this responder: its user has no permission to connect to "
        "master_event_pub.ipc."};
  }
  if (why == ErrorKind::configuration) {
    return {ErrorKind::unavailable,
            "The Salt master's event bus has no address that this responder can connect to."};
  }
  return {ErrorKind::unavailable, kMasterNotAvailable};
}

}  // namespace

Registry::Registry(const BusOptions& options)
    : max_jobs_(options.max_jobs),
      max_early_bytes_(options.max_early_bytes),
      early_(options.max_early_bytes) {}

void Registry::joined() {
  const std::lock_guard lock(mutex_);
  joined_ = true;
  ++joins_;
  changed_.notify_all();
}

void Registry::not_joined(ErrorKind why) {
  std::vector<std::shared_ptr<Job>> told;
  {
    const std::lock_guard lock(mutex_);
    joined_ = false;
    why_ = why;
    early_.clear();
    dropping_early_ = false;
    for (auto& [jid, job] : std::exchange(jobs_, {})) {
      if (!job->replaying) told.push_back(std::move(job));  // else the thread that replays tells it
    }
  }
  for (const auto& job : told) job->listener->lost(bus_lost());
}

void Registry::close() {
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return waiting_ == 0; });
  }
  not_joined(ErrorKind::unavailable);
}

void Registry::hear(const Event& event) {
  const auto topic = topic_of(event.tag);
  if (!topic) return;
  std::shared_ptr<Job> job;
  {
    std::unique_lock lock(mutex_);
    const auto found = jobs_.find(topic->jid);
    if (found == jobs_.end() || found->second->replaying) return keep(*topic, event, lock);
    job = found->second;
  }
  if (job->listener->wanted()) tell(*job->listener, *topic, event.data, event.too_large);
  drop_if_unwanted(job);
}

void Registry::keep(const Topic& topic, const Event& event, std::unique_lock<std::mutex>& lock) {
  if (expectations_.empty()) return;
  const std::size_t dropped = early_.keep({next_number_++, std::string(topic.jid), std::string(event.tag),
                                           std::string(event.data), event.too_large});
  const bool tell = dropped > 0 && !dropping_early_;
  dropping_early_ = dropping_early_ || dropped > 0;
  lock.unlock();
  if (!tell) return;
  log::warning(
      format("the Salt master's event bus: more than {} bytes of events came for jobs whose publication is "
             "not answered yet: the oldest are dropped, and their jobs fail",
             max_early_bytes_));
}

void Registry::sweep() {
  std::vector<std::shared_ptr<Job>> jobs;
  {
    const std::lock_guard lock(mutex_);
    jobs.reserve(jobs_.size());
    for (const auto& [jid, job] : jobs_) jobs.push_back(job);
  }
  for (const auto& job : jobs) drop_if_unwanted(job);
}

void Registry::drop_if_unwanted(const std::shared_ptr<Job>& job) {
  if (job->listener->wanted()) return;
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(job->jid);
  // One that is being replayed stays until that has ended: else what is kept might go to two.
  if (found != jobs_.end() && found->second == job && !job->replaying) jobs_.erase(found);
}

void Registry::make_room(std::string_view jid) {
  std::shared_ptr<Job> same;
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = jobs_.find(jid); found != jobs_.end()) same = found->second;
    full = jobs_.size() >= max_jobs_;
  }
  if (same != nullptr) drop_if_unwanted(same);
  if (full) sweep();
}

Result<Registry::Ticket> Registry::expect(SteadyTime until) {
  std::unique_lock lock(mutex_);
  ++waiting_;
  changed_.wait_until(lock, until, [this] { return joined_ || closed_; });
  --waiting_;
  if (closed_) changed_.notify_all();
  if (closed_ || !joined_) return for_callers(why_);
  const Ticket ticket{next_number_++, joins_};
  expectations_.insert(ticket.number);
  return ticket;
}

void Registry::forget(const Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  expectations_.erase(ticket.number);
  early_.drop_before(expectations_.empty() ? next_number_ : *expectations_.begin());
  if (early_.empty()) dropping_early_ = false;
}

Result<void> Registry::listen(const Ticket& ticket, std::string_view jid,
                              std::shared_ptr<Listener> listener) {
  make_room(jid);
  std::unique_lock lock(mutex_);
  if (!is_good(ticket)) {
    lock.unlock();
    listener->lost(bus_lost());
    return {};
  }
  if (jobs_.size() >= max_jobs_) {
    return Error{ErrorKind::unavailable,
                 format("{} jobs of the Salt master are waited for: no more can be now.", max_jobs_)};
  }
  const auto job = std::make_shared<Job>(Job{std::string(jid), std::move(listener)});
  if (!jobs_.try_emplace(job->jid, job).second) {
    return Error{ErrorKind::unavailable, format("Another call waits for the job {} already.", jid)};
  }
  replay(ticket, *job, lock);
  return {};
}

void Registry::replay(const Ticket& ticket, Job& job, std::unique_lock<std::mutex>& lock) {
  while (is_good(ticket)) {
    const auto kept = early_.take(job.jid, ticket.number);
    if (kept.empty() && early_.lost(job.jid, ticket.number)) {
      jobs_.erase(job.jid);
      lock.unlock();
      return job.listener->lost(events_lost(max_early_bytes_));
    }
    job.replaying = !kept.empty();
    if (!job.replaying) return;
    lock.unlock();
    for (const EarlyEvents::Kept& event : kept) {
      tell(*job.listener, *topic_of(event.tag), event.data, event.too_large);
    }
    lock.lock();
  }
  lock.unlock();
  job.listener->lost(bus_lost());
}

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#include "rest_fcgi/netapi/stream_registry.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/mutex.h"

namespace rest_fcgi::netapi {
namespace {

constexpr std::chrono::milliseconds kCheckInterval{500};
/// The time that the check of one token waits for the master.
constexpr std::chrono::seconds kQuestionTimeout{1};
constexpr std::size_t kMaxQueuedCalls = 100;
constexpr const char* kLoggedOut = "The session has ended.";

void log_failure(std::string_view what, const std::exception& exception) noexcept {
  log::safely([&] { log::error(format("{}: {}", what, exception.what())); });
}

}  // namespace

/// A token and its streams. The mutex of StreamRegistry guards all members that can change.
struct StreamRegistry::TokenGroup {
  const Secret token;
  const std::string user;
  const WallTime expire;
  master::EventPermit permit;
  std::string end_reason{};
  std::vector<Subscription*> subscriptions{};
  /// Grows with each new permit, new answer and end of the streams.
  std::atomic<unsigned> changes{0};
};

StreamRegistry::~StreamRegistry() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  check_thread_.join();
  call_thread_.join();
}

void StreamRegistry::use(std::shared_ptr<const client::NetapiClient> client, StreamLimits limits) {
  const MutexLock lock(mutex_);
  client_ = std::move(client);
  limits_ = limits;
  check_now_ = true;
  changed_.notify_all();
}

void StreamRegistry::end_streams(SecretView token) {
  std::shared_ptr<TokenGroup> group;
  {
    const MutexLock lock(mutex_);
    group = find(token);
  }
  if (group) change_and_wake(*group, [&group] { group->end_reason = kLoggedOut; });
}

std::shared_ptr<StreamRegistry::TokenGroup> StreamRegistry::find(SecretView token) const {
  for (const std::shared_ptr<TokenGroup>& group : groups_) {
    if (group->end_reason.empty() && equal_in_constant_time(group->token.reveal().text, token.reveal()))
      return group;
  }
  return nullptr;
}

std::shared_ptr<StreamRegistry::TokenGroup> StreamRegistry::group_of(const master::Session& session,
                                                                     const master::EventPermit& permit) {
  if (auto group = find(session.token)) return group;
  return groups_.emplace_back(new TokenGroup{session.token.copy(), session.user, session.expire, permit});
}

Result<std::unique_ptr<StreamRegistry::Subscription>> StreamRegistry::open(
    const master::Session& session, const master::EventPermit& permit) {
  const MutexLock lock(mutex_);
  std::size_t of_user = 0;
  for (const std::shared_ptr<TokenGroup>& group : groups_) {
    if (group->user == session.user) of_user += group->subscriptions.size();
  }
  const auto too_many = [](std::string_view whose, std::size_t most, std::string_view key) {
    return Error{
        ErrorKind::unavailable,
        format("{}: {} event streams are open{}, which is the maximum; close some first", key, most, whose)};
  };
  if (open_ >= limits_.max_streams) return too_many("", limits_.max_streams, "max_streams");
  if (of_user >= limits_.max_streams_per_user) {
    return too_many(" for this user", limits_.max_streams_per_user, "max_streams_per_user");
  }
  if (auto started = start_threads(); !started) return std::move(started).error();
  const auto group = group_of(session, permit);
  std::unique_ptr<Subscription> subscription(new Subscription(shared_from_this(), group));
  // An existing group may have a newer permit than this session. `changes - 1` makes the first `poll` return
  // the permit of the group.
  subscription->changes_ = group->subscriptions.empty() ? group->changes.load() : group->changes - 1;
  group->subscriptions.push_back(subscription.get());
  ++open_;
  has_new_stream_ = true;
  changed_.notify_all();
  return subscription;
}

Result<void> StreamRegistry::start_threads() {
  if (!check_thread_.joinable()) {
    auto started = Thread::start(
        "streams", [this] { check_loop(); }, kSmallStack);
    if (!started) return std::move(started).error();
    check_thread_ = *std::move(started);
  }
  if (!call_thread_.joinable()) {
    auto started = Thread::start(
        "streams ask", [this] { call_loop(); }, kSmallStack);
    if (!started) return std::move(started).error();
    call_thread_ = *std::move(started);
  }
  return {};
}

StreamRegistry::Subscription::~Subscription() {
  const MutexLock lock(streams_->mutex_);
  std::erase(group_->subscriptions, this);
  for (QueuedCall& queued : streams_->queue_) {
    std::erase_if(queued.subscribers, [this](const auto& subscriber) { return subscriber.first == this; });
  }
  if (group_->subscriptions.empty()) std::erase(streams_->groups_, group_);
  --streams_->open_;
}

StreamRegistry::Subscription::Update StreamRegistry::Subscription::poll(const http::Wake& wake) {
  // Checks the expiry here, because the session may have expired since `check_loop` checked its token.
  if (streams_->clock_.wall() >= group_->expire) return {std::nullopt, kLoggedOut};
  if (wake == wake_ && group_->changes.load() == changes_) return {};
  const MutexLock lock(streams_->mutex_);
  wake_ = wake;
  if (group_->changes.load() == changes_) return {};
  changes_ = group_->changes;
  return {group_->permit, group_->end_reason, std::exchange(answers_, {})};
}

void StreamRegistry::Subscription::call(std::string chunk, Call call, std::string subject) {
  const MutexLock lock(streams_->mutex_);
  std::deque<QueuedCall>& queue = streams_->queue_;
  auto at = std::find_if(queue.begin(), queue.end(), [&](const QueuedCall& queued) {
    return queued.group == group_ && queued.chunk == chunk;
  });
  if (at == queue.end() && queue.size() >= kMaxQueuedCalls) {
    if (!std::exchange(streams_->has_dropped_calls_, true)) {
      log::warning("formatted_events: some replies are incomplete, because the master answers too slowly");
    }
    return;
  }
  if (at == queue.end()) at = queue.insert(at, {group_, std::move(chunk), std::move(call), {}});
  if (!subject.empty()) at->subscribers.emplace_back(this, std::move(subject));
  streams_->changed_.notify_all();
}

/// Calls `change`, and then wakes the streams of the group. REQUIRES: the caller does not hold `mutex_`.
void StreamRegistry::change_and_wake(TokenGroup& group, const std::function<void()>& change) {
  std::vector<http::Wake> wakes;
  {
    const MutexLock lock(mutex_);
    change();
    ++group.changes;
    for (const Subscription* const subscription : group.subscriptions) {
      const bool known = std::find(wakes.begin(), wakes.end(), subscription->wake_) != wakes.end();
      if (subscription->wake_ && !known) wakes.push_back(subscription->wake_);
    }
  }
  for (const http::Wake& wake : wakes) (*wake)();
}

/// Ends the streams of the group if the session has ended or if its user may see no events. Returns false if
/// the master did not answer.
bool StreamRegistry::check(const client::NetapiClient& client, TokenGroup& group, SteadyTime deadline) {
  const auto end = [&group](const std::string& why) { return [&group, why] { group.end_reason = why; }; };
  if (clock_.wall() >= group.expire) {
    change_and_wake(group, end(kLoggedOut));
    return true;
  }
  const auto session = client.master().session(group.token, deadline);
  if (!session) {
    if (session.error().kind != ErrorKind::authentication) return false;
    change_and_wake(group, end(kLoggedOut));
    return true;
  }
  const auto permit = client.admit_events(*session);
  if (!permit) {
    change_and_wake(group, end(permit.error().message));
  } else if (permit->scope != group.permit.scope || permit->user != group.permit.user) {
    change_and_wake(group, [&] { group.permit = *permit; });
  }
  return true;
}

void StreamRegistry::check_all(const client::NetapiClient& client) {
  std::vector<std::shared_ptr<TokenGroup>> groups;
  {
    const MutexLock lock(mutex_);
    std::copy_if(groups_.begin(), groups_.end(), std::back_inserter(groups),
                 [](const auto& group) { return group->end_reason.empty(); });
  }
  const auto unanswered = std::find(groups.begin(), groups.end(), unanswered_.lock());
  if (unanswered != groups.end()) std::rotate(groups.begin(), std::next(unanswered), groups.end());
  bool patient = true;
  for (const std::shared_ptr<TokenGroup>& group : groups) {
    // After one timeout, the remaining checks do not wait for the master.
    const SteadyTime now = clock_.steady();
    if (check(client, *group, patient ? now + kQuestionTimeout : now) || !patient) continue;
    patient = false;
    unanswered_ = group;
  }
}

/// Runs the first queued call, and releases `lock` while the call runs. REQUIRES: the queue is not empty.
void StreamRegistry::answer(MutexLock& lock) {
  // The running call stays in the queue, so that an equal call can share its answer.
  QueuedCall& queued = queue_.front();
  const std::shared_ptr<const client::NetapiClient> client = client_;
  Json answer;
  if (client != nullptr && queued.group->end_reason.empty() && !queued.group->subscriptions.empty()) {
    lock.unlock();
    try {
      // Checks the session before `queued.call`, because the master would count a revoked token in this call
      // as a failed login.
      const SecretView token = queued.group->token;
      if (client->master().session(token, clock_.steady() + kQuestionTimeout)) {
        answer = queued.call(*client, token, queued.chunk);
      }
    } catch (const std::exception& exception) {
      log_failure("event stream: a call of the master failed", exception);
    }
    lock.lock();
  }
  const QueuedCall done = std::move(queued);
  queue_.pop_front();
  has_dropped_calls_ = has_dropped_calls_ && !queue_.empty();
  if (done.subscribers.empty()) return;
  for (const auto& [subscription, subject] : done.subscribers)
    subscription->answers_.push_back({subject, answer});
  lock.unlock();
  change_and_wake(*done.group, [] {});
  lock.lock();
}

void StreamRegistry::call_loop() {
  MutexLock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    try {
      answer(lock);
    } catch (const std::exception& exception) {
      log_failure("event stream: the result of a call of the master was lost", exception);
      if (!lock.owns_lock()) lock.lock();
    }
  }
}

SteadyTime StreamRegistry::next_check() const {
  constexpr std::chrono::hours kNothingToDo{1};
  const SteadyTime now = clock_.steady();
  SteadyTime next = groups_.empty() ? now + kNothingToDo : last_check_ + kCheckInterval;
  for (const std::shared_ptr<TokenGroup>& group : groups_) {
    if (!group->end_reason.empty()) continue;
    next = std::min(next, now + std::chrono::ceil<std::chrono::milliseconds>(group->expire - clock_.wall()));
  }
  return next;
}

void StreamRegistry::check_loop() {
  while (true) {
    std::shared_ptr<const client::NetapiClient> client;
    bool is_due = false;
    {
      MutexLock lock(mutex_);
      const SteadyTime due = next_check();
      changed_.wait_until(lock, due,
                          [this]() REQUIRES(mutex_) { return stopping_ || check_now_ || has_new_stream_; });
      if (stopping_) return;
      is_due = check_now_ || clock_.steady() >= due;
      check_now_ = has_new_stream_ = false;
      if (is_due) last_check_ = clock_.steady();
      client = client_;
    }
    if (client == nullptr) continue;
    try {
      if (is_due) check_all(*client);
    } catch (const std::exception& exception) {
      log_failure("event streams: the check of the sessions failed", exception);
    }
  }
}

}  // namespace rest_fcgi::netapi

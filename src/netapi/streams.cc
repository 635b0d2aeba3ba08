// SPDX-License-Identifier: MIT
#include "rest_fcgi/netapi/streams.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::netapi {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{500};
/// With a master that is asked about one token.
constexpr std::chrono::seconds kLookPatience{1};
constexpr std::size_t kMostTasks = 100;
constexpr const char* kLoggedOut = "The session has ended.";

void log_failure(std::string_view what, const std::exception& exception) noexcept {
  log::safely([&] { log::error(format("{}: {}", what, exception.what())); });
}

}  // namespace

/// A token, and the streams that were opened with it. Guarded by the table's mutex, but for what never
/// changes.
struct Streams::Holder {
  const Secret token;
  const std::string user;
  const WallTime expire;
  master::EventPermit permit;
  std::string over{};
  std::vector<Seat*> seats{};
  std::atomic<unsigned> changes{0};  ///< of `permit` and `over`, and answers
};

Streams::~Streams() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  looking_.join();
  answering_.join();
}

void Streams::use(std::shared_ptr<const client::NetapiClient> client, StreamLimits limits) {
  const std::lock_guard lock(mutex_);
  client_ = std::move(client);
  limits_ = limits;
  look_now_ = true;
  changed_.notify_all();
}

void Streams::end(SecretView token) {
  std::shared_ptr<Holder> holder;
  {
    const std::lock_guard lock(mutex_);
    holder = find(token);
  }
  if (holder) tell(*holder, [&holder] { holder->over = kLoggedOut; });
}

/// REQUIRES: the mutex is held.
std::shared_ptr<Streams::Holder> Streams::find(SecretView token) const {
  for (const std::shared_ptr<Holder>& holder : holders_) {
    if (holder->over.empty() && equal_in_constant_time(holder->token.reveal().text, token.reveal()))
      return holder;
  }
  return nullptr;
}

std::shared_ptr<Streams::Holder> Streams::holder_of(const master::Session& session,
                                                    const master::EventPermit& permit) {
  if (auto holder = find(session.token)) return holder;
  return holders_.emplace_back(new Holder{session.token.copy(), session.user, session.expire, permit});
}

Result<std::unique_ptr<Streams::Seat>> Streams::open(const master::Session& session,
                                                     const master::EventPermit& permit) {
  const std::lock_guard lock(mutex_);
  std::size_t of_user = 0;
  for (const std::shared_ptr<Holder>& holder : holders_) {
    if (holder->user == session.user) of_user += holder->seats.size();
  }
  const auto too_many = [](std::string_view whose, std::size_t most, std::string_view key) {
    return Error{ErrorKind::unavailable,
                 format("{} {} streams of events are open; there may be no more ({})", whose, most, key)};
  };
  if (open_ >= limits_.max_streams) return too_many("All", limits_.max_streams, "max_streams");
  if (of_user >= limits_.max_streams_per_user) {
    return too_many("Your", limits_.max_streams_per_user, "max_streams_per_user");
  }
  if (auto started = start_threads(); !started) return std::move(started).error();
  const auto holder = holder_of(session, permit);
  std::unique_ptr<Seat> seat(new Seat(shared_from_this(), holder));
  // Of a holder that was there, the first news is what it may see now: `permit` may be older than that.
  seat->changes_ = holder->seats.empty() ? holder->changes.load() : holder->changes - 1;
  holder->seats.push_back(seat.get());
  ++open_;
  is_new_ = true;
  changed_.notify_all();
  return seat;
}

/// REQUIRES: the mutex is held.
Result<void> Streams::start_threads() {
  if (!looking_.joinable()) {
    auto started = Thread::start(
        "streams", [this] { look_on(); }, kSmallStack);
    if (!started) return std::move(started).error();
    looking_ = *std::move(started);
  }
  if (!answering_.joinable()) {
    auto started = Thread::start(
        "streams ask", [this] { answer_on(); }, kSmallStack);
    if (!started) return std::move(started).error();
    answering_ = *std::move(started);
  }
  return {};
}

Streams::Seat::~Seat() {
  const std::lock_guard lock(streams_->mutex_);
  std::erase(holder_->seats, this);
  for (Task& task : streams_->tasks_) {
    std::erase_if(task.askers, [this](const auto& asker) { return asker.first == this; });
  }
  if (holder_->seats.empty()) std::erase(streams_->holders_, holder_);
  --streams_->open_;
}

Streams::Seat::News Streams::Seat::news(const http::Wake& wake) {
  // Between two looks of the table: nothing goes out to somebody whose session has ended by itself.
  if (streams_->clock_.wall() >= holder_->expire) return {std::nullopt, kLoggedOut};
  if (wake == wake_ && holder_->changes.load() == changes_) return {};
  const std::lock_guard lock(streams_->mutex_);
  wake_ = wake;
  if (holder_->changes.load() == changes_) return {};
  changes_ = holder_->changes;
  return {holder_->permit, holder_->over, std::exchange(answers_, {})};
}

void Streams::Seat::ask(std::string question, Ask ask, std::string about) {
  const std::lock_guard lock(streams_->mutex_);
  std::deque<Task>& tasks = streams_->tasks_;
  auto at = std::find_if(tasks.begin(), tasks.end(), [&](const Task& task) {
    return task.holder == holder_ && task.question == question;
  });
  if (at == tasks.end() && tasks.size() >= kMostTasks) {
    if (!std::exchange(streams_->dropped_, true)) {
      log::warning(
          "Formatted views of events ask the master for more than it answers: they stay incomplete.");
    }
    return;
  }
  if (at == tasks.end()) at = tasks.insert(at, {holder_, std::move(question), std::move(ask), {}});
  if (!about.empty()) at->askers.emplace_back(this, std::move(about));
  streams_->changed_.notify_all();
}

/// REQUIRES: the mutex is held by nobody.
void Streams::tell(Holder& holder, const std::function<void()>& change) {
  std::vector<http::Wake> wakes;
  {
    const std::lock_guard lock(mutex_);
    change();
    ++holder.changes;
    for (const Seat* const seat : holder.seats) {
      const bool known = std::find(wakes.begin(), wakes.end(), seat->wake_) != wakes.end();
      if (seat->wake_ && !known) wakes.push_back(seat->wake_);
    }
  }
  for (const http::Wake& wake : wakes) (*wake)();
}

/// False: the master could not be asked.
bool Streams::look_at(const client::NetapiClient& client, Holder& holder, SteadyTime deadline) {
  const auto end = [&holder](const std::string& why) { return [&holder, why] { holder.over = why; }; };
  if (clock_.wall() >= holder.expire) {
    tell(holder, end(kLoggedOut));
    return true;
  }
  const auto session = client.master().session(holder.token, deadline);
  if (!session) {
    if (session.error().kind != ErrorKind::authentication) return false;
    tell(holder, end(kLoggedOut));
    return true;
  }
  const auto permit = client.admit_events(*session);
  if (!permit) {
    tell(holder, end(permit.error().message));
  } else if (permit->scope != holder.permit.scope || permit->user != holder.permit.user) {
    tell(holder, [&] { holder.permit = *permit; });
  }
  return true;
}

void Streams::look_at_all(const client::NetapiClient& client) {
  std::vector<std::shared_ptr<Holder>> holders;
  {
    const std::lock_guard lock(mutex_);
    std::copy_if(holders_.begin(), holders_.end(), std::back_inserter(holders),
                 [](const auto& holder) { return holder->over.empty(); });
  }
  // The one that has used up the patience of a round is not waited for again before all others.
  const auto unanswered = std::find(holders.begin(), holders.end(), unanswered_.lock());
  if (unanswered != holders.end()) std::rotate(holders.begin(), std::next(unanswered), holders.end());
  bool patient = true;
  for (const std::shared_ptr<Holder>& holder : holders) {
    // Where a master did not answer, about the others counts what is known without waiting.
    const SteadyTime now = clock_.steady();
    if (look_at(client, *holder, patient ? now + kLookPatience : now) || !patient) continue;
    patient = false;
    unanswered_ = holder;
  }
}

/// Asks what waits longest. REQUIRES: something waits; `lock`, of the mutex, is held, and is again
/// afterwards.
void Streams::answer(std::unique_lock<std::mutex>& lock) {
  Task& task = tasks_.front();  // stays there, so that others may join in
  const std::shared_ptr<const client::NetapiClient> client = client_;
  Json answer;
  if (client != nullptr && task.holder->over.empty() && !task.holder->seats.empty()) {
    lock.unlock();
    try {
      // A token that has ended elsewhere is not used: that would count as a guess.
      const SecretView token = task.holder->token;
      if (client->master().session(token, clock_.steady() + kLookPatience)) {
        answer = task.ask(*client, token, task.question);
      }
    } catch (const std::exception& exception) {
      log_failure("A stream of events could not ask the master", exception);
    }
    lock.lock();
  }
  const Task done = std::move(task);
  tasks_.pop_front();
  dropped_ = dropped_ && !tasks_.empty();
  if (done.askers.empty()) return;
  for (const auto& [seat, about] : done.askers) seat->answers_.push_back({about, answer});
  lock.unlock();
  tell(*done.holder, [] {});
  lock.lock();
}

void Streams::answer_on() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    try {
      answer(lock);
    } catch (const std::exception& exception) {  // memory is short
      log_failure("Not all streams of events heard the master's answer", exception);
      if (!lock.owns_lock()) lock.lock();
    }
  }
}

/// REQUIRES: the mutex is held.
SteadyTime Streams::next_look() const {
  constexpr std::chrono::hours kNothingToDo{1};
  const SteadyTime now = clock_.steady();
  SteadyTime next = holders_.empty() ? now + kNothingToDo : looked_ + kBetweenLooks;
  for (const std::shared_ptr<Holder>& holder : holders_) {
    if (!holder->over.empty()) continue;
    next = std::min(next, now + std::chrono::ceil<std::chrono::milliseconds>(holder->expire - clock_.wall()));
  }
  return next;
}

void Streams::look_on() {
  while (true) {
    std::shared_ptr<const client::NetapiClient> client;
    bool look = false;
    {
      std::unique_lock lock(mutex_);
      const SteadyTime due = next_look();
      changed_.wait_until(lock, due, [this] { return stopping_ || look_now_ || is_new_; });
      if (stopping_) return;
      look = look_now_ || clock_.steady() >= due;
      look_now_ = is_new_ = false;
      if (look) looked_ = clock_.steady();
      client = client_;
    }
    if (client == nullptr) continue;
    try {
      if (look) look_at_all(*client);
    } catch (const std::exception& exception) {
      log_failure("Open streams of events could not be looked at", exception);
    }
  }
}

}  // namespace rest_fcgi::netapi

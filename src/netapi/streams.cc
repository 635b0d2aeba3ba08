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
constexpr std::size_t kMostErrands = 100;
constexpr const char* kLoggedOut = "The session has ended.";

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
  std::atomic<unsigned> changes{0};  ///< of `permit` and `over`
};

Streams::~Streams() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Streams::use(std::shared_ptr<const client::NetapiClient> client, StreamLimits limits) {
  const std::lock_guard lock(mutex_);
  client_ = std::move(client);
  limits_ = limits;
  look_now_ = true;
  changed_.notify_all();
}

void Streams::look_again() {
  const std::lock_guard lock(mutex_);
  look_now_ = true;
  changed_.notify_all();
}

std::shared_ptr<Streams::Holder> Streams::holder_of(const master::Session& session,
                                                    const master::EventPermit& permit) {
  const std::string_view token = session.token.reveal().text;
  for (const std::shared_ptr<Holder>& holder : holders_) {
    if (holder->over.empty() && equal_in_constant_time(holder->token.reveal().text, token)) return holder;
  }
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
  if (!thread_.joinable()) {
    auto started = Thread::start(
        "streams", [this] { work(); }, kSmallStack);
    if (!started) return std::move(started).error();
    thread_ = *std::move(started);
  }
  const auto holder = holder_of(session, permit);
  std::unique_ptr<Seat> seat(new Seat(shared_from_this(), holder));
  seat->changes_ = holder->changes;
  holder->seats.push_back(seat.get());
  ++open_;
  is_new_ = true;
  changed_.notify_all();
  return seat;
}

Streams::Seat::~Seat() {
  const std::lock_guard lock(streams_->mutex_);
  std::erase(holder_->seats, this);
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
  return {holder_->permit, holder_->over};
}

void Streams::Seat::send(Errand errand) {
  const std::lock_guard lock(streams_->mutex_);
  if (streams_->tasks_.size() >= kMostErrands) return;
  streams_->tasks_.push_back({holder_, std::move(errand)});
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
bool Streams::look_at(const client::NetapiClient& client, Holder& holder) {
  const auto end = [&holder](std::string why) { return [&holder, why] { holder.over = why; }; };
  if (clock_.wall() >= holder.expire) {
    tell(holder, end(kLoggedOut));
    return true;
  }
  const auto session = client.session(holder.token, clock_.steady() + kLookPatience);
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
  bool answers = true;
  for (const std::shared_ptr<Holder>& holder : holders) {
    // A master that did not answer about one token is not waited for once more for each of the others.
    if (answers || clock_.wall() >= holder->expire) answers = look_at(client, *holder);
  }
}

void Streams::run_errands(const client::NetapiClient& client) {
  std::deque<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const Task& task : tasks) task.errand(client, task.holder->token);
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

void Streams::work() {
  while (true) {
    std::shared_ptr<const client::NetapiClient> client;
    bool look = false;
    {
      std::unique_lock lock(mutex_);
      const SteadyTime due = next_look();
      changed_.wait_until(lock, due, [this] { return stopping_ || look_now_ || is_new_ || !tasks_.empty(); });
      if (stopping_) return;
      look = look_now_ || clock_.steady() >= due;
      look_now_ = is_new_ = false;
      if (look) looked_ = clock_.steady();
      client = client_;
    }
    if (client == nullptr) continue;
    try {
      run_errands(*client);
      if (look) look_at_all(*client);
    } catch (const std::exception& exception) {
      log::error(format("Open streams of events could not be looked at: {}", exception.what()));
    }
  }
}

}  // namespace rest_fcgi::netapi

// SPDX-License-Identifier: MIT
#include "auth/login_guard.h"

#include <algorithm>
#include <utility>

#include "auth/digest.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/waiting.h"
#include "rest_fcgi/http/addresses.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kFirstDelay{100};
constexpr milliseconds kLongestDelay{2000};
constexpr std::chrono::hours kLongestRequest{24};
constexpr std::size_t kEnoughThreads = 5;
constexpr std::size_t kMaxLogged = 64;

Error throttled(microseconds time) {
  const auto retry_after = std::chrono::ceil<seconds>(time);
  Error error{ErrorKind::throttled,
              format("Too many failed logins; try again in {} seconds.", retry_after.count())};
  error.retry_after = retry_after;
  return error;
}

Error cannot_be_counted() {
  return {ErrorKind::unavailable,
          "Logins are refused for now, because failed logins cannot be counted; the log has the cause."};
}

constexpr std::string_view kProxyHint =
    ". If a web server on this host forwards requests without the client's address, all its clients count as "
    "one client. Set rest_fcgi: trusted_proxies, and in nginx: proxy_set_header X-Forwarded-For "
    "$remote_addr;";

/// Returns the key of a failure counter. The key is a hash, because users may type a password as their name.
std::string key_of(std::string_view what, std::string_view remote, std::string_view username = {}) {
  constexpr std::string_view kBorder("\0", 1);
  return sha256_digits({what, kBorder, username, kBorder, http::network_of(remote)});
}

}  // namespace

void LoginGuard::Attempt::leave() noexcept {
  if (!entered_.empty()) guard_->leave(std::exchange(entered_, {}));
}

void LoginGuard::Attempt::succeeded() {
  if (has_failed_) guard_->reset(who_);
}

void LoginGuard::reset(const Who& who) {
  // Ignores an error. If the store cannot be written, the user may log in nevertheless.
  static_cast<void>(table_.reset(key_of("user", who.remote, who.username)));
}

Result<void> LoginGuard::Attempt::failed() {
  if (guard_ == nullptr) return {};
  const Result<milliseconds> counted = guard_->count_failure(who_);
  leave();
  if (!counted) ++guard_->uncounted_;
  const milliseconds delay = counted ? *counted : kLongestDelay;
  const auto passed = std::chrono::duration_cast<milliseconds>(guard_->clock_.steady() - since_);
  const bool may_wait = guard_->delayed_.fetch_add(1) < guard_->options_.max_delayed;
  if (may_wait && delay > passed) guard_->sleep_(delay - passed);
  --guard_->delayed_;
  if (!counted) return cannot_be_counted();
  return may_wait ? Result<void>() : throttled(seconds(1));
}

LoginGuard::Buckets LoginGuard::buckets_of(const Who& who) const {
  return {
      {{key_of("user", who.remote, who.username), {options_.tries, options_.window, options_.refuse}, true},
       {key_of("address", who.remote), {options_.address_tries, options_.window, options_.refuse}, false}}};
}

Result<bool> LoginGuard::check(const Who& who) {
  if (is_off() || table_.is_quiet()) return false;
  microseconds refused_for{0};
  bool has_failed = false;
  for (const Bucket& bucket : buckets_of(who)) {
    const auto count = table_.find(bucket.key, bucket.limit);
    if (!count) return count.error();
    refused_for = std::max(refused_for, count->refused_for);
    has_failed = has_failed || (bucket.is_of_user && count->failures > 0);
  }
  return refused_for > microseconds(0) ? throttled(refused_for) : Result(has_failed);
}

Limiter::Limits LoginGuard::thread_limits(std::size_t threads) {
  Limiter::Limits limits{.what = "logins"};
  for (const std::size_t tenths : {7U, 8U, 9U}) {
    const std::size_t most = threads < kEnoughThreads ? Limiter::kUnlimited : threads * tenths / 10;
    limits.classes.push_back({.waiting = 0, .of_all = most});
  }
  return limits;
}

Result<Limiter::Pass> LoginGuard::keep_thread(Share share) {
  return threads_.enter(static_cast<std::size_t>(share), {}, SteadyTime());
}

Result<LoginGuard::Attempt> LoginGuard::begin(const Who& who, SteadyTime deadline) {
  Attempt attempt(is_off() ? nullptr : this, who, clock_.steady());
  auto thread = keep_thread(Share::password);
  if (!thread) return std::move(thread).error();
  attempt.thread_ = *std::move(thread);
  if (is_off()) return attempt;
  if (table_.is_writable()) {
    uncounted_ = 0;
  } else if (uncounted_ >= options_.tries) {
    return cannot_be_counted();
  }
  // Reads the failures again, because another process may have counted failures since this process read them.
  if (table_.is_quiet()) {
    if (Result<void> read = table_.refresh(); !read) return std::move(read).error();
    if (Result<bool> checked = check(who); !checked) return std::move(checked).error();
  }
  if (auto entered = enter(buckets_of(who), attempt, deadline); !entered) return std::move(entered).error();
  return attempt;
}

Result<void> LoginGuard::enter(const Buckets& buckets, Attempt& attempt, SteadyTime deadline) {
  microseconds refused_for{0};
  Result<void> read;
  const auto decided = [&]() REQUIRES(mutex_) {
    bool has_room = true;
    for (const Bucket& bucket : buckets) {
      const auto count = table_.find(bucket.key, bucket.limit);
      if (!count) {
        read = count.error();
        return true;
      }
      refused_for = std::max(refused_for, count->refused_for);
      // An attempt may begin if no other attempt with its key runs, or if the failures stay below the limit
      // even after each running attempt has failed.
      const auto found = under_way_.find(bucket.key);
      has_room =
          has_room && (found == under_way_.end() || found->second + count->failures < bucket.limit.tries);
      if (bucket.is_of_user) attempt.has_failed_ = count->failures > 0;
    }
    return refused_for > microseconds(0) || has_room;
  };
  MutexLock lock(mutex_);
  if (!decided()) {
    if (queued_ >= options_.max_queued)
      return Error{ErrorKind::unavailable, "Too many logins are waiting; try again in a moment."};
    ++queued_;
    const Waiting waiting;
    const auto left = std::min<SteadyTime::duration>(deadline - clock_.steady(), kLongestRequest);
    const bool is_in_time = left_.wait_for(lock, left, decided);
    --queued_;
    if (!is_in_time) {
      return Error{ErrorKind::timeout,
                   "Other logins of this user or from this address are being checked, and these checks did "
                   "not end in time; try again."};
    }
  }
  if (!read) return read;
  if (refused_for > microseconds(0)) return throttled(refused_for);
  for (const Bucket& bucket : buckets) {
    ++under_way_[bucket.key];
    attempt.entered_.push_back(bucket.key);
  }
  return {};
}

void LoginGuard::leave(const std::vector<std::string>& keys) noexcept {
  {
    const MutexLock lock(mutex_);
    for (const std::string& key : keys) {
      const auto found = under_way_.find(key);
      if (--found->second == 0) under_way_.erase(found);
    }
  }
  left_.notify_all();
}

milliseconds LoginGuard::delay_after(unsigned failures) const {
  milliseconds delay = kFirstDelay;
  for (unsigned step = 1; step < failures && delay < kLongestDelay; ++step) delay *= 2;
  return std::min(delay, kLongestDelay);
}

/// Counts a failed login and returns the delay of its answer. The delay also depends on the failures of all
/// users at the address, so that a guesser who tries many users is delayed.
Result<milliseconds> LoginGuard::count_failure(const Who& who) {
  unsigned steps = 0;
  for (const Bucket& bucket : buckets_of(who)) {
    const auto before = table_.find(bucket.key, bucket.limit);
    const auto after = before ? table_.add(bucket.key, bucket.limit) : before;
    if (!after) return after.error();
    if (after->refused_for > before->refused_for) {
      const std::string whom =
          bucket.is_of_user ? format("user \"{}\" at", for_log(who.username)) : "all users at";
      log::warning(format("login guard: {} \"{}\": refused for {} seconds after too many failed logins{}",
                          whom, for_log(who.remote), std::chrono::ceil<seconds>(after->refused_for).count(),
                          http::is_loopback(who.remote) ? kProxyHint : ""));
    }
    steps = std::max(steps, after->failures * options_.tries / bucket.limit.tries);
  }
  return delay_after(steps);
}

std::string_view for_log(std::string_view input) {
  return input.substr(0, kMaxLogged);
}

Error refused(std::string_view stage, std::string_view cause, const Credentials& credentials) {
  if (log::enabled(log::Level::info)) {
    const bool is_token = credentials.kind == Credentials::Kind::token;
    const std::string user = is_token ? std::string()
                                      : format("; eauth \"{}\", user \"{}\"", for_log(credentials.eauth),
                                               for_log(credentials.username));
    log::info(format("authentication refused at {}: {}{}", stage, cause, user));
  }
  return {ErrorKind::authentication, "Authorization error occurred."};
}

}  // namespace rest_fcgi::auth

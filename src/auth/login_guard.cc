// SPDX-License-Identifier: MIT
#include "auth/login_guard.h"

#include <algorithm>
#include <utility>

#include "auth/digest.h"
#include "auth/networks.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kFirstDelay{100};
constexpr milliseconds kLongestDelay{2000};
constexpr std::chrono::hours kLongestRequest{24};
constexpr std::size_t kEnoughThreads = 5;
/// Of refused addresses so many logins a second wait, in all processes. With mod_fcgid each process has one
/// request at a time, so that one address could keep all of them asleep.
constexpr FailureTable::Limit kRefusalsThatWait{4, seconds(1), seconds(1)};
constexpr const char* kRefusals = "refusals that wait";
constexpr unsigned kNetworksOfSite = 4;  // so many of a /48 may reach their limit before all are refused

constexpr std::size_t kMaxUsername = 256;
constexpr std::size_t kMaxPassword = 1024;
constexpr std::size_t kMaxLogged = 64;

Error throttled(microseconds time) {
  const auto retry_after = std::chrono::ceil<seconds>(time);
  Error error{ErrorKind::throttled, format("Too many failed logins; the next one is looked at in {} seconds.",
                                           retry_after.count())};
  error.retry_after = retry_after;
  return error;
}

Error too_many_threads() {
  return {ErrorKind::unavailable, "Too many logins are being checked, or wait; try again in a moment."};
}

Error turn_did_not_come() {
  return {ErrorKind::timeout,
          "Other logins of this user or address are being checked, and their turn did not end in time."};
}

Error cannot_be_counted() {
  return {ErrorKind::unavailable, "Failed logins cannot be counted now; the log has the cause."};
}

/// Follows where all clients of a web server may be refused as one.
constexpr std::string_view kHintOnProxies =
    ". If a web server on this host passes requests on, it does not say whose they are, and all its clients "
    "count as one: see trusted_proxies; nginx needs the line: proxy_set_header X-Forwarded-For $remote_addr;";

void log_refusal(const LoginGuard::Who& who, LoginGuard::Bucket::Of of, microseconds time) {
  using Of = LoginGuard::Bucket::Of;
  const std::string whom = of == Of::user      ? format("user \"{}\" at", for_log(who.username))
                           : of == Of::tokens  ? "tokens at"
                           : of == Of::address ? "everybody at"
                                               : "everybody in the /48 of";
  const bool is_loopback = who.remote.starts_with("127.") || who.remote == "::1";
  log::warning(format("login guard: {} \"{}\": refused for {} seconds after too many failures{}", whom,
                      for_log(who.remote), std::chrono::ceil<seconds>(time).count(),
                      is_loopback ? kHintOnProxies : ""));
}

/// A user name may be a password that its user typed in the wrong field: the store has a hash of it only.
std::string key_of(std::string_view what, std::string_view where, std::string_view username = {}) {
  constexpr std::string_view kBorder("\0", 1);
  return sha256_digits({what, kBorder, username, kBorder, where});
}

std::string key_of_user(const LoginGuard::Who& who) {
  return key_of("user", network_of(who.remote), who.username);
}

}  // namespace

void LoginGuard::Attempt::leave() noexcept {
  if (!entered_.empty()) guard_->leave(std::exchange(entered_, {}));
}

void LoginGuard::Attempt::succeeded() {
  if (guard_ == nullptr || who_.username.empty()) return;
  // A failure to write costs the user no login.
  static_cast<void>(guard_->table_.note_known(key_of_user(who_)));
  if (has_failed_) guard_->reset(who_);
}

Result<void> LoginGuard::Attempt::failed(bool is_guess) {
  if (guard_ == nullptr) return {};
  const Result<Answer> counted = guard_->answer_to_failure(who_, is_guess);
  leave();
  if (!counted) ++guard_->uncounted_;
  Answer answer = counted ? *counted : Answer{kLongestDelay};
  const auto passed = std::chrono::duration_cast<microseconds>(guard_->clock_.steady() - since_);
  // Others at this address get the time from when they began, and wait as long.
  answer.refused_for += answer.refused_for > microseconds(0) ? passed : microseconds(0);
  if (is_guess && others_refused_for_ > microseconds(0)) {
    answer = {guard_->delay_after(guard_->options_.tries), others_refused_for_};
  }
  const bool is_refused = answer.refused_for > microseconds(0);
  // A token may be tried without limit, so its refusal keeps no thread waiting.
  if (is_refused && who_.username.empty()) return throttled(answer.refused_for);
  const auto delay = answer.delay - std::chrono::duration_cast<milliseconds>(passed);
  auto waited = guard_->wait(delay, is_refused ? For::refusal : For::failure);
  if (!counted) return cannot_be_counted();
  return is_refused ? throttled(answer.refused_for) : std::move(waited);
}

Result<LoginGuard::Buckets> LoginGuard::buckets_of(const Who& who) {
  const std::string network = network_of(who.remote);
  const FailureTable::Limit of_user{options_.tries, options_.window, options_.refuse};
  FailureTable::Limit of_address{options_.address_tries, options_.window, options_.refuse};
  if (who.username.empty())
    return Buckets{{Bucket::Of::tokens, key_of("tokens", network), of_address, false}};
  const std::string user = key_of_user(who);
  const Result<bool> is_known = table_.is_known(user);
  if (!is_known) return is_known.error();
  Buckets buckets{{Bucket::Of::user, user, of_user},
                  {Bucket::Of::address, key_of("address", network), of_address, !*is_known}};
  if (const std::string site = site_of(who.remote); !site.empty()) {
    of_address.tries *= kNetworksOfSite;
    buckets.push_back({Bucket::Of::site, key_of("site", site), of_address, !*is_known});
  }
  return buckets;
}

Result<LoginGuard::Standing> LoginGuard::check(const Who& who) {
  if (is_off() || who.username.empty() || table_.is_quiet()) return Standing{};
  const Result<Buckets> buckets = buckets_of(who);
  if (!buckets) return buckets.error();
  Standing standing;
  microseconds as_user{0};
  microseconds as_all{0};
  bool is_refused = false;
  for (const Bucket& bucket : *buckets) {
    const auto count = table_.find(bucket.key, bucket.limit);
    if (!count) return count.error();
    const bool is_of_user = bucket.of == Bucket::Of::user;
    if (is_of_user) standing.has_failed = count->failures > 0;
    microseconds& longest = is_of_user ? as_user : as_all;
    longest = std::max(longest, count->refused_for);
    is_refused = is_refused || (bucket.refuses && count->refused_for > microseconds(0));
  }
  if (!is_refused) return standing;
  if (as_all == microseconds(0)) return throttled(as_user);
  // A known user is looked at, which takes time, and fails. What comes after the refusal must not tell others
  // from them. Those that did not wait are not counted: they could fill the table in no time.
  if (wait(delay_after(options_.tries), For::refusal)) static_cast<void>(answer_to_failure(who, true));
  return throttled(as_all);
}

bool LoginGuard::has_room(const Bucket& bucket, unsigned failures) const {
  const auto found = under_way_.find(bucket.key);
  // One try may go on in any case: by its end others know whether there is still room for them.
  return found == under_way_.end() || found->second + failures < bucket.limit.tries;
}

Result<LoginGuard::KeptThread> LoginGuard::keep_thread(Share share) {
  KeptThread thread(&kept_);
  const std::size_t before = kept_.fetch_add(1);
  const std::size_t most = options_.threads * static_cast<std::size_t>(share) / 10;
  if (options_.threads >= kEnoughThreads && before >= most) return too_many_threads();
  return thread;
}

Result<LoginGuard::Attempt> LoginGuard::begin(const Who& who, SteadyTime deadline) {
  Attempt attempt(is_off() ? nullptr : this, who, clock_.steady());
  if (who.username.empty()) return attempt;
  auto thread = keep_thread(Share::password);
  if (!thread) return std::move(thread).error();
  attempt.thread_ = *std::move(thread);
  if (is_off()) return attempt;
  if (table_.is_writable()) {
    uncounted_ = 0;
  } else if (uncounted_ >= options_.tries) {
    return cannot_be_counted();
  }
  // `check` may have been too early for what another process counted.
  if (table_.is_quiet()) {
    Result<void> read = table_.refresh();
    if (!read) return std::move(read).error();
    if (const auto standing = check(who); !standing) return standing.error();
  }
  Result<Buckets> buckets = buckets_of(who);
  if (!buckets) return std::move(buckets).error();
  for (const Bucket& bucket : *buckets) {
    if (bucket.refuses) continue;
    const auto count = table_.find(bucket.key, bucket.limit);
    if (!count) return count.error();
    attempt.others_refused_for_ = std::max(attempt.others_refused_for_, count->refused_for);
  }
  std::erase_if(*buckets, [](const Bucket& bucket) { return !bucket.refuses; });
  if (auto entered = enter(*buckets, attempt, deadline); !entered) return std::move(entered).error();
  return attempt;
}

Result<void> LoginGuard::enter(const Buckets& buckets, Attempt& attempt, SteadyTime deadline) {
  microseconds refused_for{0};
  Result<void> read;
  const auto decided = [&] {
    bool has_room_everywhere = true;
    for (const Bucket& bucket : buckets) {
      const auto count = table_.find(bucket.key, bucket.limit);
      if (!count) {
        read = count.error();
        return true;
      }
      refused_for = std::max(refused_for, count->refused_for);
      has_room_everywhere = has_room_everywhere && has_room(bucket, count->failures);
      if (bucket.of == Bucket::Of::user) attempt.has_failed_ = count->failures > 0;
    }
    return refused_for > microseconds(0) || has_room_everywhere;
  };
  std::unique_lock lock(mutex_);
  if (!decided()) {
    if (queued_ >= options_.max_queued) return too_many_threads();
    ++queued_;
    const auto left = std::min<SteadyTime::duration>(deadline - clock_.steady(), kLongestRequest);
    const bool in_time = left_.wait_for(lock, left, decided);
    --queued_;
    if (!in_time) return turn_did_not_come();
  }
  if (!read) return read;
  if (refused_for > microseconds(0)) return throttled(refused_for);
  for (const Bucket& bucket : buckets) ++under_way_[bucket.key];
  attempt.entered_ = buckets;
  return {};
}

void LoginGuard::leave(const Buckets& buckets) noexcept {
  {
    const std::lock_guard lock(mutex_);
    for (const Bucket& bucket : buckets) {
      const auto found = under_way_.find(bucket.key);
      if (--found->second == 0) under_way_.erase(found);
    }
  }
  left_.notify_all();
}

void LoginGuard::reset(const Who& who) {
  if (!is_off()) static_cast<void>(table_.reset(key_of_user(who)));
}

milliseconds LoginGuard::delay_after(unsigned failures) const {
  milliseconds delay = kFirstDelay;
  for (unsigned step = 1; step < failures && delay < kLongestDelay; ++step) delay *= 2;
  return std::min(delay, kLongestDelay);
}

/// An address that goes from user to user is slowed as far as one that stays with one user, measured by their
/// limits. A failure that is no guess is refused for nothing.
Result<LoginGuard::Answer> LoginGuard::answer_to_failure(const Who& who, bool is_guess) {
  const Result<Buckets> buckets = buckets_of(who);
  if (!buckets) return buckets.error();
  unsigned steps = 0;
  microseconds refused_for{0};
  for (const Bucket& bucket : *buckets) {
    const auto before = table_.find(bucket.key, bucket.limit);
    const auto after = is_guess && before ? table_.add(bucket.key, bucket.limit) : before;
    if (!after) return after.error();
    if (after->refused_for > before->refused_for) log_refusal(who, bucket.of, after->refused_for);
    steps = std::max(steps, after->failures * options_.tries / bucket.limit.tries);
    if (is_guess && bucket.of != Bucket::Of::user) refused_for = std::max(refused_for, before->refused_for);
  }
  return Answer{delay_after(steps), refused_for};
}

bool LoginGuard::may_wait_for_refusal() {
  const auto waited = table_.find(kRefusals, kRefusalsThatWait);
  return waited && waited->refused_for == microseconds(0) && table_.add(kRefusals, kRefusalsThatWait);
}

/// Refusals cost their senders nothing, so half of the threads that may wait are left to failures.
Result<void> LoginGuard::wait(milliseconds time, For what) {
  const bool is_refusal = what == For::refusal;
  const std::size_t most = is_refusal ? options_.max_delayed / 2 : options_.max_delayed;
  const auto thread = keep_thread(Share::password);
  const bool may_wait = delayed_.fetch_add(1) < most && thread && (!is_refusal || may_wait_for_refusal());
  if (may_wait && time > milliseconds(0)) sleep_(time);
  --delayed_;
  return may_wait ? Result<void>() : throttled(seconds(1));
}

std::string_view for_log(std::string_view input) {
  return input.substr(0, kMaxLogged);
}

Error refused(std::string_view stage, std::string_view cause, const Credentials& credentials) {
  if (log::enabled(log::Level::info)) {
    if (credentials.kind == Credentials::Kind::token) {
      log::info(format("authentication refused at {}: {}", stage, cause));
    } else {
      log::info(format("authentication refused at {}: {}; eauth \"{}\", user \"{}\"", stage, cause,
                       for_log(credentials.eauth), for_log(credentials.username)));
    }
  }
  return {ErrorKind::authentication, "Authorization error occurred."};
}

std::string_view beyond_limits(const Credentials& credentials) {
  const std::string_view username = credentials.username;
  const std::string_view password = credentials.password.reveal();
  if (username.empty()) return "the user name is empty";
  if (username.size() > kMaxUsername) return "the user name is longer than 256 bytes";
  if (password.size() > kMaxPassword) return "the password is longer than 1024 bytes";
  if (username.find('\0') != std::string_view::npos) return "the user name holds a NUL";
  if (password.find('\0') != std::string_view::npos) return "the password holds a NUL";
  return {};
}

LoginGuard::Who who_of(const Credentials& credentials) {
  const bool is_token = credentials.kind == Credentials::Kind::token;
  return {is_token ? std::string_view() : credentials.username, credentials.remote};
}

}  // namespace rest_fcgi::auth

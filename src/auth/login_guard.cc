// SPDX-License-Identifier: MIT
#include "auth/login_guard.h"

#include <algorithm>
#include <string>
#include <thread>

#include "auth/guard_table.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kFirstDelay{100};
constexpr milliseconds kLongestDelay{2000};
constexpr std::chrono::hours kLongestRequest{24};

Error throttled(seconds retry_after) {
  Error error{ErrorKind::throttled, format("Too many failed logins; the next one is looked at in {} seconds.",
                                           retry_after.count())};
  error.retry_after = retry_after;
  return error;
}

Error too_many_queue() {
  return {ErrorKind::unavailable, "Too many logins wait for others to end; try again in a moment."};
}

Error turn_did_not_come() {
  return {ErrorKind::timeout,
          "Other logins of this user or address are being checked, and their turn did not end in time."};
}

std::uint64_t unix_seconds(WallTime time) {
  const auto count = std::chrono::floor<seconds>(time).time_since_epoch().count();
  return static_cast<std::uint64_t>(std::max<decltype(count)>(count, 0));
}

void log_refusal(const LoginGuard::Who& who, bool whole_address, seconds time) {
  const std::string whom = who.username.empty() ? "tokens"
                           : whole_address      ? "everybody"
                                                : format("user \"{}\"", who.username.substr(0, 64));
  log::warning(format("login guard: {} at \"{}\": refused for {} seconds after too many failures", whom,
                      who.remote.substr(0, 64), time.count()));
}

constexpr std::size_t kMaxUsername = 256;
constexpr std::size_t kMaxPassword = 1024;
constexpr std::size_t kMaxLogged = 64;

}  // namespace

LoginGuard::Attempt::Attempt(Attempt&& other) noexcept
    : guard_(std::exchange(other.guard_, nullptr)),
      who_(other.who_),
      since_(other.since_),
      entered_(other.entered_) {}

void LoginGuard::Attempt::leave() noexcept {
  LoginGuard* const guard = std::exchange(guard_, nullptr);
  if (guard != nullptr && entered_) guard->leave(*entered_);
}

Result<void> LoginGuard::Attempt::failed() {
  LoginGuard* const guard = guard_;
  if (guard == nullptr) return {};
  const Failures failures = guard->count_failure(who_);
  leave();
  const auto passed = std::chrono::duration_cast<milliseconds>(guard->clock_.steady() - since_);
  return guard->wait(guard->delay_after(who_, failures) - passed);
}

Result<std::shared_ptr<const LoginMemory>> open_login_memory(const LoginGuardOptions& options) {
  const bool alone = options.file.empty() || options.tries == 0;
  auto memory = alone ? GuardMemory::alone() : GuardMemory::shared(options.file);
  if (!memory && options.file_is_default) {
    log::warning(format("failed logins are counted by each process alone: {}", memory.error().message));
    memory = GuardMemory::alone();
  }
  if (!memory) return std::move(memory).error();
  auto gate = std::make_shared<HashGate>(
      HashGate::Limits{.memory = options.hash_memory, .waiting = options.max_queued});
  return std::make_shared<const LoginMemory>(LoginMemory{*std::move(memory), std::move(gate)});
}

LoginGuard::LoginGuard(const LoginGuardOptions& options, std::shared_ptr<const LoginMemory> memory,
                       const Clock& clock, Sleep sleep)
    : options_(options),
      memory_(std::move(memory)),
      clock_(clock),
      sleep_(std::move(sleep)),
      table_(memory_->guard.words().slots) {}

bool LoginGuard::is_quiet(WallTime now) const {
  return memory_->guard.words().active_until.load(std::memory_order_relaxed) <= unix_seconds(now);
}

LoginGuard::Keys LoginGuard::keys_of(const Who& who) const {
  const std::string network = network_of(who.remote);
  const auto key = [this](std::string_view what, std::string_view of, std::string_view at = {}) {
    return GuardTable::Key{DigestHash()(memory_->guard.digest().of(what, of, at))};
  };
  if (who.username.empty()) return {key("tokens", network), key("tokens", network)};
  return {key("user", who.username, network), key("address", network)};
}

GuardTable::Limit LoginGuard::limit_of(const Who& who) const {
  return {who.username.empty() ? options_.address_tries : options_.tries, options_.window, options_.refuse};
}

GuardTable::Limit LoginGuard::address_limit() const {
  return {options_.address_tries, options_.window, options_.refuse};
}

LoginGuard::Failures LoginGuard::failures_of(const Who& who, const Keys& keys) const {
  const WallTime now = clock_.wall();
  return {table_.find(keys.who, limit_of(who), now), table_.find(keys.address, address_limit(), now)};
}

seconds LoginGuard::Failures::refused_for() const {
  return std::max(who.refused_for, address.refused_for);
}

Result<LoginGuard::Standing> LoginGuard::check(const Who& who) const {
  if (is_off() || is_quiet(clock_.wall())) return Standing{};
  const Failures failures = failures_of(who, keys_of(who));
  if (failures.refused_for() > seconds(0)) return throttled(failures.refused_for());
  return Standing{failures.who.failures > 0};
}

bool LoginGuard::has_room(GuardTable::Key key, unsigned failures, unsigned tries) const {
  const auto found = under_way_.find(key);
  // One try may go on in any case: by its end others know whether there is still room for them.
  return found == under_way_.end() || found->second + failures < tries;
}

Result<LoginGuard::Attempt> LoginGuard::begin(const Who& who, SteadyTime deadline) {
  const SteadyTime since = clock_.steady();
  if (is_off()) return Attempt(nullptr, who, since, std::nullopt);
  // A token is too long to be guessed, even with as many tries beyond the limit as there are threads. So good
  // ones need not meet at one lock; after the first failure, which is counted in any case, they do.
  if (who.username.empty() && is_quiet(clock_.wall())) return Attempt(this, who, since, std::nullopt);
  const Keys keys = keys_of(who);
  if (auto entered = enter(who, keys, deadline); !entered) return std::move(entered).error();
  return Attempt(this, who, since, keys);
}

Result<void> LoginGuard::enter(const Who& who, const Keys& keys, SteadyTime deadline) {
  seconds refused_for{0};
  const auto decided = [&] {
    const Failures failures = failures_of(who, keys);
    refused_for = failures.refused_for();
    return refused_for > seconds(0) ||
           (has_room(keys.who, failures.who.failures, limit_of(who).tries) &&
            has_room(keys.address, failures.address.failures, options_.address_tries));
  };
  std::unique_lock lock(mutex_);
  if (!decided()) {
    if (queued_ >= options_.max_queued) return too_many_queue();
    ++queued_;
    const auto left = std::min<SteadyTime::duration>(deadline - clock_.steady(), kLongestRequest);
    const bool in_time = left_.wait_for(lock, left, decided);
    --queued_;
    if (!in_time) return turn_did_not_come();
  }
  if (refused_for > seconds(0)) return throttled(refused_for);
  ++under_way_[keys.who];
  if (keys.address != keys.who) ++under_way_[keys.address];
  return {};
}

void LoginGuard::leave(const Keys& keys) noexcept {
  {
    const std::lock_guard lock(mutex_);
    leave(keys.who);
    if (keys.address != keys.who) leave(keys.address);
  }
  left_.notify_all();
}

void LoginGuard::leave(GuardTable::Key key) noexcept {
  const auto found = under_way_.find(key);
  if (--found->second == 0) under_way_.erase(found);
}

void LoginGuard::forgive(const Who& who) {
  if (is_off() || is_quiet(clock_.wall())) return;
  table_.forget(keys_of(who).who);
}

LoginGuard::Failures LoginGuard::count_failure(const Who& who) {
  const WallTime now = clock_.wall();
  const Keys keys = keys_of(who);
  const Failures before = failures_of(who, keys);
  keep_active(now);
  Failures after;
  after.who = table_.add(keys.who, limit_of(who), now);
  if (after.who.refused_for > before.who.refused_for) log_refusal(who, false, after.who.refused_for);
  if (keys.address == keys.who) return after;
  after.address = table_.add(keys.address, address_limit(), now);
  if (after.address.refused_for > before.address.refused_for) {
    log_refusal(who, true, after.address.refused_for);
  }
  return after;
}

void LoginGuard::keep_active(WallTime now) {
  const std::uint64_t until = unix_seconds(now + std::max(options_.window, options_.refuse)) + 1;
  GuardWords::Word& word = memory_->guard.words().active_until;
  std::uint64_t known = word.load();
  while (known < until && !word.compare_exchange_weak(known, until)) {
  }
}

milliseconds LoginGuard::delay_after(const Who& who, const Failures& failures) const {
  // Who goes from user to user is slowed as far as who stays with one, measured by their limits.
  const unsigned steps = std::max(failures.who.failures * options_.tries / limit_of(who).tries,
                                  failures.address.failures * options_.tries / options_.address_tries);
  milliseconds delay = kFirstDelay;
  for (unsigned step = 1; step < steps && delay < kLongestDelay; ++step) delay *= 2;
  return std::min(delay, kLongestDelay);
}

Result<void> LoginGuard::wait(milliseconds time) {
  const bool may_wait = delayed_.fetch_add(1) < options_.max_delayed;
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
  const bool token = credentials.kind == Credentials::Kind::token;
  return {token ? std::string_view() : credentials.username, credentials.remote};
}

}  // namespace rest_fcgi::auth

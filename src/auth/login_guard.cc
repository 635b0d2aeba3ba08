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
constexpr std::size_t kEnoughThreads = 5;
constexpr unsigned kRefusalsThatWait = 4;  // each second, of all processes

Error throttled(seconds retry_after) {
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

std::uint64_t unix_seconds(WallTime time) {
  const auto count = std::chrono::floor<seconds>(time).time_since_epoch().count();
  return static_cast<std::uint64_t>(std::max<decltype(count)>(count, 0));
}

/// Follows where all clients of a web server may be refused as one.
constexpr std::string_view kHintOnProxies =
    ". If a web server on this host passes requests on, it does not say whose they are, and all its clients "
    "count as "
    "one: see trusted_proxies; nginx needs the line: proxy_set_header X-Forwarded-For $remote_addr;";

void log_refusal(const LoginGuard::Who& who, LoginGuard::Tier::Of of, seconds time) {
  const std::string whom = [&]() -> std::string {
    switch (of) {
      case LoginGuard::Tier::Of::user:
        return format("user \"{}\" at", who.username.substr(0, 64));
      case LoginGuard::Tier::Of::tokens:
        return "tokens at";
      case LoginGuard::Tier::Of::address:
        return "everybody at";
      case LoginGuard::Tier::Of::site:
        break;
    }
    return "everybody in the /48 of";
  }();
  const bool is_loopback = who.remote.starts_with("127.") || who.remote == "::1";
  log::warning(format("login guard: {} \"{}\": refused for {} seconds after too many failures{}", whom,
                      who.remote.substr(0, 64), time.count(), is_loopback ? kHintOnProxies : ""));
}

/// How long a pair of user and address is known. It never reaches the limit.
constexpr GuardTable::Limit kKnown{GuardTable::kMostFailures + 1, std::chrono::hours(7 * 24), seconds(0)};
constexpr unsigned kNetworksOfSite = 4;  // as many of a /48 may reach their limit before all are refused

constexpr std::size_t kMaxUsername = 256;
constexpr std::size_t kMaxPassword = 1024;
constexpr std::size_t kMaxLogged = 64;

}  // namespace

void LoginGuard::Attempt::leave() noexcept {
  if (!entered_.empty()) guard_->leave(std::exchange(entered_, {}));
}

void LoginGuard::Attempt::succeeded() {
  if (guard_ == nullptr || who_.username.empty()) return;
  const GuardTable::Key key = guard_->key_of_user(who_, network_of(who_.remote));
  guard_->known_.forget(key);  // so that its time begins anew
  guard_->known_.add(key, kKnown, guard_->clock_.wall());
}

Result<void> LoginGuard::Attempt::failed(bool is_guess) {
  if (guard_ == nullptr) return {};
  const Answer answer = guard_->answer_to_failure(who_, is_guess, guard_->clock_.wall());
  leave();
  const bool is_refused = answer.refused_for > seconds(0);
  // Nobody is kept waiting who may come as often as they like.
  if (is_refused && who_.username.empty()) return throttled(answer.refused_for);
  const auto passed = std::chrono::duration_cast<milliseconds>(guard_->clock_.steady() - since_);
  auto waited = guard_->wait(answer.delay - passed, is_refused ? For::refusal : For::failure);
  return is_refused ? throttled(answer.refused_for) : std::move(waited);
}

Result<std::shared_ptr<const LoginMemory>> open_login_memory(const LoginGuardOptions& options) {
  const auto folder = options.file_is_default ? GuardMemory::Folder::own : GuardMemory::Folder::any;
  auto memory = options.file.empty() ? GuardMemory::alone() : GuardMemory::shared(options.file, folder);
  if (!memory && options.file_is_default) {
    log::warning(format("failed logins are counted by each process alone: {}", memory.error().message));
    memory = GuardMemory::alone();
  }
  if (!memory) return std::move(memory).error();
  auto gate = std::make_shared<PasswordGate>(
      PasswordGate::Limits{.memory = options.hash_memory, .waiting = options.max_queued});
  return std::make_shared<const LoginMemory>(LoginMemory{*std::move(memory), std::move(gate)});
}

LoginGuard::LoginGuard(const LoginGuardOptions& options, std::shared_ptr<const LoginMemory> memory,
                       const Clock& clock, Sleep sleep)
    : options_(options),
      memory_(std::move(memory)),
      clock_(clock),
      sleep_(std::move(sleep)),
      table_(memory_->guard.words().slots),
      known_(memory_->guard.words().known) {}

bool LoginGuard::is_quiet(WallTime now) const {
  return memory_->guard.words().active_until.load(std::memory_order_relaxed) <= unix_seconds(now);
}

GuardTable::Key LoginGuard::key_of_user(const Who& who, std::string_view network) const {
  return DigestHash()(memory_->guard.digest().of("user", who.username, network));
}

LoginGuard::Tiers LoginGuard::tiers_of(const Who& who) const {
  const std::string network = network_of(who.remote);
  const auto key = [this](std::string_view what, std::string_view where) {
    return GuardTable::Key{DigestHash()(memory_->guard.digest().of(what, where))};
  };
  const GuardTable::Limit of_user{options_.tries, options_.window, options_.refuse};
  const GuardTable::Limit of_address{options_.address_tries, options_.window, options_.refuse};
  if (who.username.empty()) return {{Tier::Of::tokens, key("tokens", network), of_address, false}};
  const GuardTable::Key user = key_of_user(who, network);
  const bool is_known = known_.find(user, kKnown, clock_.wall()).failures > 0;
  Tiers tiers{{Tier::Of::user, user, of_user},
              {Tier::Of::address, key("address", network), of_address, !is_known}};
  if (const std::string site = site_of(who.remote); !site.empty()) {
    GuardTable::Limit of_site = of_address;
    of_site.tries = std::min(kNetworksOfSite * options_.address_tries, GuardTable::kMostFailures);
    tiers.push_back({Tier::Of::site, key("site", site), of_site, !is_known});
  }
  return tiers;
}

Result<LoginGuard::Standing> LoginGuard::check(const Who& who) {
  const WallTime now = clock_.wall();
  if (is_off() || who.username.empty() || is_quiet(now)) return Standing{};
  Standing standing;
  seconds as_user{0};
  seconds as_all{0};
  bool is_refused = false;
  for (const Tier& tier : tiers_of(who)) {
    const GuardTable::Count count = table_.find(tier.key, tier.limit, now);
    const bool is_of_user = tier.of == Tier::Of::user;
    if (is_of_user) standing.has_failed = count.failures > 0;
    seconds& longest = is_of_user ? as_user : as_all;
    longest = std::max(longest, count.refused_for);
    is_refused = is_refused || (tier.refuses && count.refused_for > seconds(0));
  }
  if (!is_refused) return standing;
  if (as_all == seconds(0)) return throttled(as_user);
  // Who logged in from here is looked at, which takes time, and fails: what comes after the refusal must not
  // tell them apart either. Who did not wait could fill the table in no time.
  if (wait(delay_after(options_.tries), For::refusal)) static_cast<void>(answer_to_failure(who, true, now));
  return throttled(as_all);
}

bool LoginGuard::has_room(const Tier& tier, unsigned failures) const {
  const auto found = under_way_.find(tier.key);
  // One try may go on in any case: by its end others know whether there is still room for them.
  return found == under_way_.end() || found->second + failures < tier.limit.tries;
}

Result<LoginGuard::KeptThread> LoginGuard::keep_thread(Share share) {
  KeptThread thread(&kept_);
  const std::size_t before = kept_.fetch_add(1);
  const std::size_t most = options_.threads * static_cast<std::size_t>(share) / 10;
  if (options_.threads >= kEnoughThreads && before >= most) return too_many_threads();
  return thread;
}

Result<LoginGuard::Attempt> LoginGuard::begin(const Who& who, SteadyTime deadline) {
  const SteadyTime since = clock_.steady();
  Attempt attempt(is_off() ? nullptr : this, who, since);
  if (who.username.empty()) return attempt;
  auto thread = keep_thread(Share::password);
  if (!thread) return std::move(thread).error();
  attempt.thread_ = *std::move(thread);
  if (is_off()) return attempt;
  Tiers tiers = tiers_of(who);
  std::erase_if(tiers, [](const Tier& tier) { return !tier.refuses; });
  if (auto entered = enter(tiers, attempt.entered_, deadline); !entered) return std::move(entered).error();
  return attempt;
}

/// `entered` grows with each tier: where memory ends before the last one, its owner leaves those before.
Result<void> LoginGuard::enter(const Tiers& tiers, Tiers& entered, SteadyTime deadline) {
  seconds refused_for{0};
  const auto decided = [&] {
    bool has_room_everywhere = true;
    for (const Tier& tier : tiers) {
      const GuardTable::Count count = table_.find(tier.key, tier.limit, clock_.wall());
      refused_for = std::max(refused_for, count.refused_for);
      has_room_everywhere = has_room_everywhere && has_room(tier, count.failures);
    }
    return refused_for > seconds(0) || has_room_everywhere;
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
  if (refused_for > seconds(0)) return throttled(refused_for);
  entered.reserve(tiers.size());
  for (const Tier& tier : tiers) {
    ++under_way_[tier.key];
    entered.push_back(tier);
  }
  return {};
}

void LoginGuard::leave(const Tiers& tiers) noexcept {
  {
    const std::lock_guard lock(mutex_);
    for (const Tier& tier : tiers) {
      const auto found = under_way_.find(tier.key);
      if (--found->second == 0) under_way_.erase(found);
    }
  }
  left_.notify_all();
}

void LoginGuard::forgive(const Who& who) {
  if (is_off() || is_quiet(clock_.wall())) return;
  table_.forget(key_of_user(who, network_of(who.remote)));
}

milliseconds LoginGuard::delay_after(unsigned failures) const {
  milliseconds delay = kFirstDelay;
  for (unsigned step = 1; step < failures && delay < kLongestDelay; ++step) delay *= 2;
  return std::min(delay, kLongestDelay);
}

/// Who goes from user to user is slowed as far as who stays with one, measured by their limits. A failure
/// that is known to be no guess is refused by nobody.
LoginGuard::Answer LoginGuard::answer_to_failure(const Who& who, bool is_guess, WallTime now) {
  if (is_guess) keep_active(now);
  unsigned steps = 0;
  seconds refused_for{0};
  for (const Tier& tier : tiers_of(who)) {
    const GuardTable::Count before = table_.find(tier.key, tier.limit, now);
    const GuardTable::Count after = is_guess ? table_.add(tier.key, tier.limit, now) : before;
    if (after.refused_for > before.refused_for) log_refusal(who, tier.of, after.refused_for);
    steps = std::max(steps, after.failures * options_.tries / tier.limit.tries);
    if (is_guess && tier.of != Tier::Of::user) refused_for = std::max(refused_for, before.refused_for);
  }
  return {delay_after(steps), refused_for};
}

void LoginGuard::keep_active(WallTime now) {
  const std::uint64_t until = unix_seconds(now + std::max(options_.window, options_.refuse)) + 1;
  GuardWords::Word& word = memory_->guard.words().active_until;
  std::uint64_t known = word.load();
  while (known < until && !word.compare_exchange_weak(known, until)) {
  }
}

/// With mod_fcgid each process has one request at a time, so that a refused address could keep all of them
/// asleep. A count of those asleep would never fall again where one is killed.
bool LoginGuard::may_wait_for_refusal() {
  constexpr unsigned kCountBits = 16;
  const std::uint64_t none = unix_seconds(clock_.wall()) << kCountBits;
  GuardWords::Word& word = memory_->guard.words().refusals;
  std::uint64_t before = word.load();
  for (;;) {
    const std::uint64_t count = before >> kCountBits << kCountBits == none ? before - none : 0;
    if (count >= kRefusalsThatWait) return false;
    if (word.compare_exchange_weak(before, none + count + 1)) return true;
  }
}

/// Refusals cost who brings them nothing, so half of the threads that may wait are left to failures.
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
  const bool token = credentials.kind == Credentials::Kind::token;
  return {token ? std::string_view() : credentials.username, credentials.remote};
}

}  // namespace rest_fcgi::auth

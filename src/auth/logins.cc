// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/logins.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "auth/digest.h"
#include "auth/grant_table.h"
#include "auth/login_guard.h"
#include "auth/never_back.h"
#include "rest_fcgi/auth/logged_out.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::size_t kMaxEauth = 64;
constexpr std::size_t kMinToken = 32;   // Salt's `hash_type: md5`
constexpr std::size_t kMaxToken = 128;  // `hash_type: sha512`
constexpr std::size_t kMaxRefused = 4096;
constexpr std::chrono::seconds kRefusedFor{5};
constexpr std::size_t kMaxKnown = 8192;
constexpr std::chrono::hours kKnownFor{48};  // as long as a token of 24 hours, and a day after its end

using Outcome = Result<std::shared_ptr<const Grant>>;

/// A check that is under way, and what came of it. Shared by all who wait for it; guarded by their mutex.
struct Flight {
  explicit Flight(SteadyTime until) : deadline(until) {}

  std::condition_variable landed;
  bool has_landed = false;
  SteadyTime deadline;  // the latest of all whose request it is for
  Outcome outcome = Error{ErrorKind::internal, "The login was given up."};
};

bool has_form_of_token(std::string_view text) {
  return text.size() >= kMinToken && text.size() <= kMaxToken && only_of(text, kHexDigits);
}

constexpr std::string_view kRevoked = "the tokens of its user were ended";

/// What nobody should be asked about; empty where there is nothing of that kind.
std::string_view not_to_be_asked(const Credentials& credentials) {
  if (credentials.kind == Credentials::Kind::token) {
    return has_form_of_token(credentials.token.reveal()) ? ""
                                                         : "the token is not 32 to 128 hexadecimal digits";
  }
  if (credentials.eauth.empty()) return "the name of the back end is empty";
  if (credentials.eauth.size() > kMaxEauth) return "the name of the back end is longer than 64 bytes";
  if (credentials.eauth.find('\0') != std::string_view::npos) return "the name of the back end holds a NUL";
  return beyond_limits(credentials);
}

/// Credentials of which something is known for a while. Where it is full, it begins anew. Not synchronized.
class KnownCredentials {
 public:
  KnownCredentials(std::size_t most, std::chrono::seconds time) : most_(most), time_(time) {}

  [[nodiscard]] bool has(const GrantTable::Key& key, SteadyTime now) const {
    const auto found = until_.find(key);
    return found != until_.end() && now < found->second;
  }

  void add(const GrantTable::Key& key, SteadyTime now) {
    if (until_.size() >= most_) until_.clear();
    until_.insert_or_assign(key, now + time_);
  }

 private:
  const std::size_t most_;
  const std::chrono::seconds time_;
  std::unordered_map<GrantTable::Key, SteadyTime, DigestHash> until_;
};

class GuardedLogins final : public Logins {
 public:
  GuardedLogins(std::unique_ptr<LoginGuard> guard, KeyedDigest digest, std::chrono::seconds ttl,
                const Clock& clock, std::shared_ptr<const LoginMemory> memory,
                std::shared_ptr<LoggedOut> logged_out)
      : guard_(std::move(guard)),
        digest_(std::move(digest)),
        clock_(clock),
        memory_(std::move(memory)),
        latest_(clock, memory_->guard.words().latest),
        logged_out_(std::move(logged_out)),
        grants_(ttl, clock) {}

  Outcome login(const Credentials& credentials, const Check& check, SteadyTime deadline,
                std::string_view stamp) override;
  Outcome login_anew(const Credentials& credentials, const Check& check, SteadyTime deadline) override;
  Outcome holder(const Credentials& credentials, const Check& check, SteadyTime deadline) override;
  Result<void> guarded(const Credentials& credentials, const Try& try_them, SteadyTime deadline) override;
  Result<void> log_out(const Credentials& credentials, const Grant& grant) override;
  void forget(const Credentials& credentials, const Grant& grant) override;

 private:
  class Lead;
  [[nodiscard]] GrantTable::Key key_of(const Credentials& credentials, std::string_view stamp = {}) const;
  using Ask = std::function<Outcome()>;
  Outcome find_or_ask(const Credentials& credentials, const GrantTable::Key& key, SteadyTime deadline,
                      const Ask& ask_now);
  [[nodiscard]] Result<void> still_good(const Credentials& credentials) const;
  Result<LoginGuard::KeptThread> keep_thread(bool is_bounded, LoginGuard::Share share);
  static Outcome wait(Flight& flight, std::unique_lock<std::mutex>& lock, SteadyTime::duration left);
  Outcome ask(const Credentials& credentials, const Check& check, SteadyTime deadline);
  Outcome ask_for_holder(const Credentials& credentials, const Check& check);
  [[nodiscard]] Result<LoginGuard::Standing> stand(const Credentials& credentials) const;
  [[nodiscard]] Error failed(LoginGuard::Attempt& attempt, Error error, const Credentials& credentials);
  [[nodiscard]] Outcome given(const Credentials& credentials, Grant grant);
  [[nodiscard]] bool was_good(const Credentials& credentials);
  [[nodiscard]] Result<bool> is_revoked(const Grant& grant) const;
  void forgive(const Credentials& credentials, const LoginGuard::Standing& standing);

  // constant after construction; what they point to synchronizes itself
  const std::unique_ptr<LoginGuard> guard_;
  const KeyedDigest digest_;
  const Clock& clock_;
  const std::shared_ptr<const LoginMemory> memory_;
  const NeverBack latest_;
  const std::shared_ptr<LoggedOut> logged_out_;
  std::mutex mutex_;
  /// Nobody held them a moment ago: a client that comes again and again with one costs whoever decides
  /// little.
  KnownCredentials refused_{kMaxRefused, kRefusedFor};  // guarded by mutex_
  /// Somebody held them once: who brings such a token guesses nothing, though whoever decides does not say it
  /// has ended; and who waits for a check of them takes as long as a good one does.
  KnownCredentials once_good_{kMaxKnown, kKnownFor};                                  // guarded by mutex_
  GrantTable grants_;                                                                 // guarded by mutex_
  std::unordered_map<GrantTable::Key, std::shared_ptr<Flight>, DigestHash> flights_;  // guarded by mutex_
};

/// Held by the thread that asks: when it goes, however that comes, the threads that wait are told.
class GuardedLogins::Lead {
 public:
  Lead(GuardedLogins& logins, const GrantTable::Key& key, Flight& flight)
      : logins_(logins), key_(key), flight_(flight) {}
  Lead(const Lead&) = delete;
  Lead& operator=(const Lead&) = delete;

  /// Under one lock: else a thread could find neither the flight nor the grant that came of it, and ask
  /// again.
  void land(const Outcome& outcome) {
    const std::lock_guard lock(logins_.mutex_);
    flight_.outcome = outcome;
    if (outcome) logins_.grants_.remember(key_, *outcome, flight_.deadline);
    end();
  }

  ~Lead() {
    if (has_ended_) return;
    const std::lock_guard lock(logins_.mutex_);
    end();
  }

 private:
  void end() {
    has_ended_ = true;
    flight_.has_landed = true;
    flight_.landed.notify_all();
    logins_.flights_.erase(key_);
  }

  GuardedLogins& logins_;
  const GrantTable::Key key_;
  Flight& flight_;
  bool has_ended_ = false;
};

/// Is called before the table of grants is looked at: a grant from there would tell somebody who is refused
/// that the password was right.
Result<LoginGuard::Standing> GuardedLogins::stand(const Credentials& credentials) const {
  const std::string_view beyond = not_to_be_asked(credentials);
  if (!beyond.empty()) return refused("limits", beyond, credentials);
  return guard_->check(who_of(credentials));
}

Outcome GuardedLogins::login(const Credentials& credentials, const Check& check, SteadyTime deadline,
                             std::string_view stamp) {
  if (credentials.kind == Credentials::Kind::none) {
    return refused("form", "there are no credentials", credentials);
  }
  const auto standing = stand(credentials);
  if (!standing) return standing.error();
  const GrantTable::Key key = key_of(credentials, stamp);
  const Ask ask_now = [&] { return ask(credentials, check, deadline); };
  auto grant = find_or_ask(credentials, key, deadline, ask_now);
  auto revoked = grant ? is_revoked(**grant) : false;
  if (!revoked) return std::move(revoked).error();
  if (*revoked) {
    forget(credentials, **grant);
    if (credentials.kind == Credentials::Kind::token) return refused("token", kRevoked, credentials);
    grant = find_or_ask(credentials, key, deadline, ask_now);
  }
  if (grant) forgive(credentials, *standing);
  return grant;
}

Outcome GuardedLogins::login_anew(const Credentials& credentials, const Check& check, SteadyTime deadline) {
  const auto standing = stand(credentials);
  if (!standing) return standing.error();
  auto grant = ask(credentials, check, deadline);
  if (grant) forgive(credentials, *standing);
  return grant;
}

Outcome GuardedLogins::holder(const Credentials& credentials, const Check& check, SteadyTime deadline) {
  const std::string_view beyond = not_to_be_asked(credentials);
  if (!beyond.empty()) return refused("limits", beyond, credentials);
  auto grant = find_or_ask(credentials, key_of(credentials), deadline,
                           [&] { return ask_for_holder(credentials, check); });
  auto revoked = grant ? is_revoked(**grant) : false;
  if (!revoked) return std::move(revoked).error();
  return *revoked ? refused("token", kRevoked, credentials) : std::move(grant);
}

/// Whether its user's tokens were ended since it was made, of which another process may have been told.
Result<bool> GuardedLogins::is_revoked(const Grant& grant) const {
  return logged_out_ == nullptr ? false : logged_out_->has_ended(grant.eauth, grant.name, grant.start);
}

/// Keeps in mind what was good once: that which was brought, and the token that a password was given.
/// Whoever ends its user's tokens, another process maybe, has to know how late it was when it was given.
Outcome GuardedLogins::given(const Credentials& credentials, Grant grant) {
  static_cast<void>(latest_.wall());
  const SteadyTime now = clock_.steady();
  const GrantTable::Key brought = key_of(credentials);
  const GrantTable::Key token = digest_.of({}, {}, grant.token.reveal().text);
  const std::lock_guard lock(mutex_);
  once_good_.add(brought, now);
  if (!grant.token.empty()) once_good_.add(token, now);
  return std::make_shared<const Grant>(std::move(grant));
}

bool GuardedLogins::was_good(const Credentials& credentials) {
  const GrantTable::Key key = key_of(credentials);
  const std::lock_guard lock(mutex_);
  return once_good_.has(key, clock_.steady());
}

Outcome GuardedLogins::ask_for_holder(const Credentials& credentials, const Check& check) {
  const GrantTable::Key key = key_of(credentials);
  std::unique_lock lock(mutex_);
  const bool was_refused = refused_.has(key, clock_.steady());
  lock.unlock();
  if (was_refused) return refused("token", "it was refused just now", credentials);
  auto grant = check(credentials);
  if (grant) return given(credentials, *std::move(grant));
  if (grant.error().kind != ErrorKind::authentication) return std::move(grant).error();
  lock.lock();
  refused_.add(key, clock_.steady());
  lock.unlock();
  return refused("token", grant.error().message, credentials);
}

GrantTable::Key GuardedLogins::key_of(const Credentials& credentials, std::string_view stamp) const {
  // No user's name is empty, so that no token is mistaken for somebody's password.
  if (credentials.kind == Credentials::Kind::token) return digest_.of({}, {}, credentials.token.reveal());
  return digest_.of({credentials.eauth, credentials.username, stamp, credentials.password.reveal()});
}

/// Whatever is remembered of a token, and whoever would take it: not after its logout, of which another
/// process may have been told.
Result<void> GuardedLogins::still_good(const Credentials& credentials) const {
  if (logged_out_ == nullptr || credentials.kind != Credentials::Kind::token) return {};
  const auto ended = logged_out_->has(credentials.token);
  if (!ended) return ended.error();
  return *ended ? refused("token", "it was logged out", credentials) : Result<void>();
}

Result<void> GuardedLogins::log_out(const Credentials& credentials, const Grant& grant) {
  auto ended = logged_out_->add(credentials.token, grant.expire);
  if (ended) forget(credentials, grant);
  return ended;
}

Outcome GuardedLogins::find_or_ask(const Credentials& credentials, const GrantTable::Key& key,
                                   SteadyTime deadline, const Ask& ask_now) {
  if (auto good = still_good(credentials); !good) return std::move(good).error();
  std::shared_ptr<Flight> flight;
  {
    std::unique_lock lock(mutex_);
    if (auto grant = grants_.find(key, deadline)) return grant;
    for (auto found = flights_.find(key); found != flights_.end(); found = flights_.find(key)) {
      flight = found->second;
      const SteadyTime now = clock_.steady();
      const bool were_good = once_good_.has(key_of(credentials), now);
      const auto waiting = keep_thread(!were_good, LoginGuard::Share::others_check);
      if (!waiting) return waiting.error();
      flight->deadline = std::max(flight->deadline, deadline);
      Outcome outcome = wait(*flight, lock, deadline - now);
      // It is the thread that asked whose time was up: one that has more time asks again.
      const bool may_ask =
          !outcome && outcome.error().kind == ErrorKind::timeout && clock_.steady() < deadline;
      if (!may_ask) return outcome;
    }
    flight = std::make_shared<Flight>(deadline);
    flights_.emplace(key, flight);
  }
  Lead lead(*this, key, *flight);
  const auto asking = keep_thread(credentials.kind == Credentials::Kind::token, LoginGuard::Share::token);
  Outcome outcome = asking ? ask_now() : asking.error();
  lead.land(outcome);
  return outcome;
}

Result<LoginGuard::KeptThread> GuardedLogins::keep_thread(bool is_bounded, LoginGuard::Share share) {
  return is_bounded ? guard_->keep_thread(share) : LoginGuard::KeptThread();
}

Outcome GuardedLogins::wait(Flight& flight, std::unique_lock<std::mutex>& lock, SteadyTime::duration left) {
  if (!flight.landed.wait_for(lock, left, [&] { return flight.has_landed; })) {
    return Error{ErrorKind::timeout, "These credentials are being checked, and no answer came in time."};
  }
  return flight.outcome;
}

Outcome GuardedLogins::ask(const Credentials& credentials, const Check& check, SteadyTime deadline) {
  auto attempt = guard_->begin(who_of(credentials), deadline);
  if (!attempt) return std::move(attempt).error();
  auto grant = check(credentials);
  if (grant) {
    attempt->succeeded();
    return given(credentials, *std::move(grant));
  }
  return failed(*attempt, std::move(grant).error(), credentials);
}

/// Also what breaks in whoever decides counts as a guess, and is answered as late: it may break for wrong
/// passwords alone.
Error GuardedLogins::failed(LoginGuard::Attempt& attempt, Error error, const Credentials& credentials) {
  const bool is_token = credentials.kind == Credentials::Kind::token;
  const bool guessed = error.kind == ErrorKind::authentication ||
                       (!is_token && (error.kind == ErrorKind::internal || error.counts_as_guess));
  if (is_token && error.kind == ErrorKind::not_found) {
    auto waited = attempt.failed(false);
    return waited ? std::move(error) : std::move(waited).error();
  }
  if (!guessed) return error;
  const bool is_guess = !is_token || !was_good(credentials);
  if (auto waited = attempt.failed(is_guess); !waited) return std::move(waited).error();
  if (error.kind != ErrorKind::authentication) return error;
  return refused(is_token ? "token" : "verification", error.message, credentials);
}

/// A good token says nothing about other tokens that were tried from its address.
void GuardedLogins::forgive(const Credentials& credentials, const LoginGuard::Standing& standing) {
  if (standing.has_failed && credentials.kind == Credentials::Kind::eauth) {
    guard_->forgive(who_of(credentials));
  }
}

Result<void> GuardedLogins::guarded(const Credentials& credentials, const Try& try_them,
                                    SteadyTime deadline) {
  const auto standing = stand(credentials);
  if (!standing) return standing.error();
  auto attempt = guard_->begin(who_of(credentials), deadline);
  if (!attempt) return std::move(attempt).error();
  Result<void> taken = try_them();
  // A call may break for reasons of its own, which say nothing about who made it.
  const bool is_refusal = !taken && (taken.error().kind == ErrorKind::authentication ||
                                     taken.error().kind == ErrorKind::not_found);
  if (!taken && !is_refusal) return taken;
  if (!taken) return failed(*attempt, std::move(taken).error(), credentials);
  attempt->succeeded();
  forgive(credentials, *standing);
  return {};
}

void GuardedLogins::forget(const Credentials& credentials, const Grant& grant) {
  const GrantTable::Key key = key_of(credentials);
  const std::lock_guard lock(mutex_);
  grants_.forget(key, grant);
}

}  // namespace

Result<std::unique_ptr<Logins>> Logins::make(const LoginGuardOptions& guard, std::chrono::seconds ttl,
                                             const Clock& clock, std::shared_ptr<const LoginMemory> memory,
                                             std::shared_ptr<LoggedOut> logged_out) {
  auto digest = KeyedDigest::make();
  if (!digest) return std::move(digest).error();
  auto made = std::make_unique<LoginGuard>(
      guard, memory, clock, [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); });
  return std::unique_ptr<Logins>(std::make_unique<GuardedLogins>(
      std::move(made), *std::move(digest), ttl, clock, std::move(memory), std::move(logged_out)));
}

Result<WallTime> latest_time(const LoginGuardOptions& guard, const Clock& clock) {
  auto seen = GuardMemory::latest_in(guard.file);
  if (!seen) return std::move(seen).error();
  std::atomic<std::uint64_t> latest = *seen;
  return NeverBack(clock, latest).wall();
}

}  // namespace rest_fcgi::auth

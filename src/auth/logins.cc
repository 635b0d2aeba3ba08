// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/logins.h"

#include <algorithm>
#include <future>
#include <thread>
#include <unordered_map>
#include <utility>

#include "auth/digest.h"
#include "auth/login_guard.h"
#include "rest_fcgi/auth/revocation_list.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::auth {
namespace {

using Outcome = Logins::Outcome;
using Key = KeyedDigest::Value;

constexpr std::size_t kMaxEauth = 64;
constexpr std::size_t kMaxUsername = 256;
constexpr std::size_t kMaxPassword = 1024;
constexpr std::size_t kMinToken = 32;   // `kMinToken` is a token's length with Salt's `hash_type: md5`.
constexpr std::size_t kMaxToken = 128;  // `kMaxToken` is a token's length with Salt's `hash_type: sha512`.
constexpr std::size_t kMaxLoginToken = 16384;
constexpr std::size_t kMaxRemembered = 4096;
constexpr std::chrono::hours kLongestWait{24};

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

/// Returns an empty text if the credentials have to be checked.
std::string_view beyond_limits(const Credentials& credentials) {
  const std::string_view token = credentials.token.reveal();
  const std::string_view password = credentials.password.reveal();
  switch (credentials.kind) {
    case Credentials::Kind::none:
      return "there are no credentials";
    case Credentials::Kind::token: {
      const bool has_form =
          token.size() >= kMinToken && token.size() <= kMaxToken && only_of(token, kHexDigits);
      return has_form ? "" : "the token is malformed: expected 32 to 128 hexadecimal digits";
    }
    case Credentials::Kind::eauth:
      break;
  }
  if (credentials.eauth.empty()) return "the name of the back end is empty";
  if (credentials.eauth.size() > kMaxEauth) return "the name of the back end is longer than 64 bytes";
  if (has_nul(credentials.eauth)) return "the name of the back end contains a NUL byte";
  if (credentials.username.empty()) return "the user name is empty";
  if (credentials.username.size() > kMaxUsername) return "the user name is longer than 256 bytes";
  if (password.size() > kMaxPassword) return "the password is longer than 1024 bytes";
  if (has_nul(credentials.username)) return "the user name contains a NUL byte";
  if (has_nul(password)) return "the password contains a NUL byte";
  if (token.size() > kMaxLoginToken) return "the token for the back end is longer than 16384 bytes";
  if (has_nul(token)) return "the token for the back end contains a NUL byte";
  return {};
}

LoginGuard::Who who_of(const Credentials& credentials) {
  return {credentials.username, credentials.remote};
}

template <class Done>
LoginCounts::What count_of(const Done& done) {
  if (done) return LoginCounts::What::accepted;
  if (done.error().kind == ErrorKind::authentication) return LoginCounts::What::refused;
  return done.error().kind == ErrorKind::throttled ? LoginCounts::What::throttled : LoginCounts::What::failed;
}

template <class Value>
using Table = std::unordered_map<Key, Value, DigestHash>;

}  // namespace

struct Logins::State {
  /// The result of a successful check, which later logins with the same credentials use. Every request may
  /// use the grant until `end`. A request that began before the check ended may use the grant until
  /// `deadline`, the deadline of the request that made the check.
  struct Remembered {
    std::shared_ptr<const Grant> grant;
    SteadyTime checked;
    SteadyTime end;
    SteadyTime deadline;

    [[nodiscard]] bool is_for(SteadyTime now, SteadyTime request_start) const {
      return now < end || (request_start <= checked && now < deadline);
    }
  };

  /// One thread makes a check. Other threads with the same credentials wait for its result.
  using Flight = std::promise<Outcome>;

  /// Returns whether earlier failed logins of the user still count. Callers look for a remembered grant only
  /// after this check. Otherwise a guesser beyond the limit would learn that a password is right.
  Result<bool> admit(const Credentials& credentials) {
    const std::string_view beyond = beyond_limits(credentials);
    if (!beyond.empty()) return refused("limits", beyond, credentials);
    const bool is_user = credentials.kind == Credentials::Kind::eauth;
    return is_user ? guard.check(who_of(credentials)) : false;
  }

  /// Counts the result of a login with a password for the metrics. Returns `done` unchanged.
  template <class Done>
  Done counted(const Credentials& credentials, Done done) {
    if (counts != nullptr && credentials.kind == Credentials::Kind::eauth) counts->note(count_of(done));
    return done;
  }

  Outcome login_uncounted(const Credentials& credentials, const Check& check, SteadyTime deadline,
                          std::string_view stamp) {
    const Result<bool> has_failed = admit(credentials);
    if (!has_failed) return has_failed.error();
    Outcome grant = find_unrevoked(credentials, key_of(credentials, stamp), check, deadline);
    if (grant && *has_failed) guard.reset(who_of(credentials));
    return grant;
  }

  Outcome find_unrevoked(const Credentials& credentials, const Key& key, const Check& check,
                         SteadyTime deadline) {
    const bool is_token = credentials.kind == Credentials::Kind::token;
    if (revocations == nullptr) return find_or_check(credentials, key, check, deadline);
    const Result<bool> is_revoked = is_token ? revocations->has(credentials.token) : false;
    if (!is_revoked) return is_revoked.error();
    if (*is_revoked) return refused("token", "the token was revoked by a logout", credentials);
    Outcome grant = find_or_check(credentials, key, check, deadline);
    if (!grant) return grant;
    const Result<bool> is_user_revoked =
        revocations->has_user((*grant)->eauth, (*grant)->name, (*grant)->start);
    if (!is_user_revoked) return is_user_revoked.error();
    if (!*is_user_revoked) return grant;
    forget(credentials, **grant);
    if (is_token) return refused("token", "all tokens of its user were revoked", credentials);
    return find_or_check(credentials, key, check, deadline);
  }

  [[nodiscard]] Key key_of(const Credentials& credentials, std::string_view stamp = {}) const {
    if (credentials.kind == Credentials::Kind::token) return digest.of({{}, {}, credentials.token.reveal()});
    return digest.of({credentials.eauth, credentials.username, stamp, credentials.password.reveal()});
  }

  [[nodiscard]] std::shared_ptr<const Grant> remembered(const Key& key, SteadyTime now,
                                                        SteadyTime request_start) const REQUIRES(mutex) {
    const auto found = grants.find(key);
    const bool is_good = found != grants.end() && found->second.is_for(now, request_start) &&
                         clock.wall() < found->second.grant->expire;
    return is_good ? found->second.grant : nullptr;
  }

  Outcome find_or_check(const Credentials& credentials, const Key& key, const Check& check,
                        SteadyTime deadline) {
    for (;;) {
      MutexLock lock(mutex);
      const SteadyTime now = clock.steady();
      if (auto grant = remembered(key, now, credentials.request_start)) return grant;
      const auto found = flights.find(key);
      if (found == flights.end()) {
        Flight flight;
        flights.emplace(key, flight.get_future().share());
        lock.unlock();
        return check_for_all(credentials, key, check, deadline, flight);
      }
      const std::shared_future<Outcome> flight = found->second;
      const bool was_good = grants.contains(key);
      lock.unlock();
      const auto kept = was_good ? Limiter::Pass() : guard.keep_thread(LoginGuard::Share::others_check);
      if (!kept) return kept.error();
      const Waiting waiting;
      if (flight.wait_for(std::min<SteadyTime::duration>(deadline - now, kLongestWait)) !=
          std::future_status::ready) {
        return Error{ErrorKind::timeout,
                     "Another request is checking the same credentials, and this check did not end in time; "
                     "try again."};
      }
      // The other thread may have had an earlier deadline. If its check timed out before `deadline`, this
      // thread checks the credentials itself.
      const Outcome& outcome = flight.get();
      const bool may_check = !outcome && outcome.error().kind == ErrorKind::timeout;
      if (!may_check || clock.steady() >= deadline) return outcome;
    }
  }

  /// If `grants` is full, removes the grants that no request may use any more. If all grants are in use,
  /// removes all grants.
  void make_room(SteadyTime now) REQUIRES(mutex) {
    if (grants.size() < kMaxRemembered) return;
    std::erase_if(grants, [now](const auto& entry) { return !entry.second.is_for(now, SteadyTime::min()); });
    if (grants.size() >= kMaxRemembered) grants.clear();
  }

  /// Gives the outcome also to the threads that wait for this check, even after an exception. Stores the
  /// grant and removes the running check from `flights` under one lock, so that each other thread finds one
  /// of the two.
  Outcome check_for_all(const Credentials& credentials, const Key& key, const Check& check,
                        SteadyTime deadline, Flight& flight) {
    const auto land = [&](const Outcome& outcome) {
      const MutexLock lock(mutex);
      if (outcome) {
        const SteadyTime now = clock.steady();
        make_room(now);
        grants.insert_or_assign(key,
                                Remembered{*outcome, now, now + std::min(ttl, (*outcome)->keep), deadline});
      }
      flights.erase(key);
      flight.set_value(outcome);
    };
    try {
      const bool is_token = credentials.kind == Credentials::Kind::token;
      Outcome outcome = is_token ? check_token(credentials, check) : check_user(credentials, check, deadline);
      land(outcome);
      return outcome;
    } catch (...) {
      land(Error{ErrorKind::internal, "An exception ended the check of these credentials."});
      throw;
    }
  }

  Outcome check_token(const Credentials& credentials, const Check& check) {
    const auto thread = guard.keep_thread(LoginGuard::Share::token);
    if (!thread) return thread.error();
    auto grant = check(credentials);
    if (grant) return std::make_shared<const Grant>(*std::move(grant));
    if (grant.error().kind != ErrorKind::authentication) return std::move(grant).error();
    return refused("token", grant.error().message, credentials);
  }

  Outcome check_user(const Credentials& credentials, const Check& check, SteadyTime deadline) {
    auto attempt = guard.begin(who_of(credentials), deadline);
    if (!attempt) return std::move(attempt).error();
    auto grant = check(credentials);
    if (grant) {
      attempt->succeeded();
      return std::make_shared<const Grant>(*std::move(grant));
    }
    const Error& error = grant.error();
    const bool is_guess =
        error.kind == ErrorKind::authentication || error.kind == ErrorKind::internal || error.counts_as_guess;
    return is_guess ? failed(*attempt, error, credentials) : error;
  }

  static Error failed(LoginGuard::Attempt& attempt, Error error, const Credentials& credentials) {
    if (auto waited = attempt.failed(); !waited) return std::move(waited).error();
    const bool is_refusal = error.kind == ErrorKind::authentication;
    return is_refusal ? refused("verification", error.message, credentials) : std::move(error);
  }

  Result<void> guarded_uncounted(const Credentials& credentials, const std::function<Result<void>()>& attempt,
                                 SteadyTime deadline) {
    if (auto admitted = admit(credentials); !admitted) return std::move(admitted).error();
    auto begun = guard.begin(who_of(credentials), deadline);
    if (!begun) return std::move(begun).error();
    Result<void> done = attempt();
    // Only an authentication error counts as a wrong password. Other errors say nothing about the password.
    if (done) begun->succeeded();
    if (done || done.error().kind != ErrorKind::authentication) return done;
    return failed(*begun, std::move(done).error(), credentials);
  }

  void forget(const Credentials& credentials, const Grant& grant) {
    const Key key = key_of(credentials);
    const MutexLock lock(mutex);
    const auto found = grants.find(key);
    if (found != grants.end() && found->second.grant.get() == &grant) grants.erase(found);
  }

  LoginGuard guard;
  const std::chrono::seconds ttl;
  const Clock& clock;
  const std::shared_ptr<RevocationList> revocations;
  const std::shared_ptr<LoginCounts> counts;
  const KeyedDigest digest{};
  Mutex mutex{};
  Table<Remembered> grants GUARDED_BY(mutex){};
  Table<std::shared_future<Outcome>> flights GUARDED_BY(mutex){};
};

Logins::Logins(const LoginGuardOptions& guard, std::chrono::seconds ttl, const Clock& clock,
               std::shared_ptr<store::Store> store, std::shared_ptr<RevocationList> revocations,
               std::shared_ptr<LoginCounts> counts)
    : state_(new State{LoginGuard(guard, std::move(store), clock,
                                  [](std::chrono::milliseconds time) {
                                    const Waiting waiting;
                                    std::this_thread::sleep_for(time);
                                  }),
                       ttl, clock, std::move(revocations), std::move(counts)}) {}

Logins::~Logins() = default;

Outcome Logins::login(const Credentials& credentials, const Check& check, SteadyTime deadline,
                      std::string_view stamp) {
  return state_->counted(credentials, state_->login_uncounted(credentials, check, deadline, stamp));
}

Outcome Logins::login_anew(const Credentials& credentials, const Check& check, SteadyTime deadline) {
  const Result<bool> admitted = state_->admit(credentials);
  return state_->counted(
      credentials, admitted ? state_->check_user(credentials, check, deadline) : Outcome(admitted.error()));
}

Result<void> Logins::log_out(const Credentials& credentials, const Grant& grant) {
  auto revoked = state_->revocations->add(credentials.token, grant.expire);
  if (revoked) forget(credentials, grant);
  return revoked;
}

Result<void> Logins::guarded(const Credentials& credentials, const std::function<Result<void>()>& attempt,
                             SteadyTime deadline) {
  return state_->counted(credentials, state_->guarded_uncounted(credentials, attempt, deadline));
}

void Logins::forget(const Credentials& credentials, const Grant& grant) {
  state_->forget(credentials, grant);
}

}  // namespace rest_fcgi::auth

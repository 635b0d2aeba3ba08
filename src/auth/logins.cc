// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/logins.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "auth/digest.h"
#include "auth/login_guard.h"
#include "rest_fcgi/auth/revocation_list.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::auth {
namespace {

using Outcome = Result<std::shared_ptr<const Grant>>;
using Key = KeyedDigest::Value;

constexpr std::size_t kMaxEauth = 64;
constexpr std::size_t kMinToken = 32;   // Salt's `hash_type: md5`
constexpr std::size_t kMaxToken = 128;  // `hash_type: sha512`
constexpr std::size_t kMaxGrants = 4096;
constexpr std::size_t kMaxRefused = 4096;
constexpr std::chrono::seconds kRefusedFor{5};
constexpr std::chrono::seconds kForOthers{5};
constexpr std::size_t kMaxKnown = 8192;
constexpr std::chrono::hours kOnceGoodFor{48};  // as long as a token of 24 hours, and a day after its end
constexpr std::string_view kRevoked = "the tokens of its user were revoked";

/// A check that is under way. Shared by all threads that wait for it; guarded by their mutex.
struct Flight {
  std::condition_variable landed;
  bool has_landed = false;
  Outcome outcome = Error{ErrorKind::internal, "The login was given up."};
};

/// Returns why nothing has to be asked about these credentials; empty where nothing is wrong.
std::string_view not_to_be_asked(const Credentials& credentials) {
  if (credentials.kind == Credentials::Kind::token) {
    const std::string_view token = credentials.token.reveal();
    const bool has_form =
        token.size() >= kMinToken && token.size() <= kMaxToken && only_of(token, kHexDigits);
    return has_form ? "" : "the token is not 32 to 128 hexadecimal digits";
  }
  if (credentials.eauth.empty()) return "the name of the back end is empty";
  if (credentials.eauth.size() > kMaxEauth) return "the name of the back end is longer than 64 bytes";
  if (credentials.eauth.find('\0') != std::string_view::npos) return "the name of the back end holds a NUL";
  return beyond_limits(credentials);
}

/// Values that are known for a while. Where the memory is full, it begins anew. Not synchronized.
template <class Value>
class Memory {
 public:
  explicit Memory(std::size_t most) : most_(most) {}

  [[nodiscard]] const Value* find(const Key& key, SteadyTime now) const {
    const auto found = entries_.find(key);
    return found != entries_.end() && now < found->second.first ? &found->second.second : nullptr;
  }
  void put(const Key& key, SteadyTime now, SteadyTime end, Value value) {
    if (entries_.size() >= most_)
      std::erase_if(entries_, [now](const auto& e) { return e.second.first <= now; });
    if (entries_.size() >= most_) entries_.clear();
    entries_.insert_or_assign(key, std::pair(end, std::move(value)));
  }
  void erase(const Key& key) { entries_.erase(key); }

 private:
  const std::size_t most_;
  std::unordered_map<Key, std::pair<SteadyTime, Value>, DigestHash> entries_;
};

/// A grant for all requests until `end`, and for its own request until `deadline`. For `kForOthers` it is
/// also for requests with an earlier deadline: most of these are parts of the same request.
struct Remembered {
  std::shared_ptr<const Grant> grant;
  SteadyTime since;
  SteadyTime end;
  SteadyTime deadline;
};

class GuardedLogins final : public Logins {
 public:
  GuardedLogins(const LoginGuardOptions& guard, KeyedDigest digest, std::chrono::seconds ttl,
                const Clock& clock, std::shared_ptr<store::Store> store,
                std::shared_ptr<RevocationList> revocations)
      : guard_(guard, std::move(store), clock,
               [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }),
        digest_(std::move(digest)),
        ttl_(ttl),
        clock_(clock),
        revocations_(std::move(revocations)) {}

  Outcome login(const Credentials& credentials, const Check& check, SteadyTime deadline,
                std::string_view stamp) override;
  Outcome login_anew(const Credentials& credentials, const Check& check, SteadyTime deadline) override;
  Outcome holder(const Credentials& credentials, const Check& check, SteadyTime deadline) override;
  Result<void> guarded(const Credentials& credentials, const Try& try_them, SteadyTime deadline) override;
  Result<void> log_out(const Credentials& credentials, const Grant& grant) override;
  void forget(const Credentials& credentials, const Grant& grant) override;

 private:
  class Lead;
  using Ask = std::function<Outcome()>;
  [[nodiscard]] Key key_of(const Credentials& credentials, std::string_view stamp = {}) const;
  Outcome find_or_ask(const Credentials& credentials, const Key& key, SteadyTime deadline,
                      const Ask& ask_now);
  [[nodiscard]] std::shared_ptr<const Grant> remembered(const Key& key, SteadyTime now,
                                                        SteadyTime deadline) const;
  Outcome wait(Flight& flight, std::unique_lock<std::mutex>& lock, bool were_good, SteadyTime::duration left);
  Outcome ask(const Credentials& credentials, const Check& check, SteadyTime deadline);
  Outcome ask_for_holder(const Credentials& credentials, const Check& check);
  Result<LoginGuard::Standing> stand(const Credentials& credentials);
  [[nodiscard]] Error failed(LoginGuard::Attempt& attempt, Error error, const Credentials& credentials);
  [[nodiscard]] Outcome given(const Credentials& credentials, Grant grant);
  [[nodiscard]] bool was_good(const Credentials& credentials);
  [[nodiscard]] bool is_revoked(const Grant& grant) const;
  void reset(const Credentials& credentials, const LoginGuard::Standing& standing);

  LoginGuard guard_;  // synchronizes itself
  const KeyedDigest digest_;
  const std::chrono::seconds ttl_;
  const Clock& clock_;
  const std::shared_ptr<RevocationList> revocations_;  // may be null
  std::mutex mutex_;
  /// A client that comes again and again with a refused token costs the master little.
  Memory<bool> refused_{kMaxRefused};  // guarded by mutex_, as all below
  /// A token that was good once is no guess when it has ended. A thread that waits for a check of credentials
  /// that were good waits as long as a good check takes.
  Memory<bool> once_good_{kMaxKnown};
  Memory<Remembered> grants_{kMaxGrants};
  std::unordered_map<Key, std::shared_ptr<Flight>, DigestHash> flights_;
};

/// Held by the thread that checks. When it goes, however that comes, the threads that wait are told.
class GuardedLogins::Lead {
 public:
  Lead(GuardedLogins& logins, const Key& key, Flight& flight) : logins_(logins), key_(key), flight_(flight) {}
  Lead(const Lead&) = delete;
  Lead& operator=(const Lead&) = delete;
  ~Lead() {
    if (flight_.has_landed) return;
    const std::lock_guard lock(logins_.mutex_);
    end();
  }

  /// Under one lock: else a thread could find neither the flight nor its grant, and check again.
  void land(const Outcome& outcome, SteadyTime deadline) {
    const std::lock_guard lock(logins_.mutex_);
    flight_.outcome = outcome;
    if (outcome) {
      const SteadyTime now = logins_.clock_.steady();
      const SteadyTime end = now + std::min(logins_.ttl_, (*outcome)->keep);
      logins_.grants_.put(key_, now, std::max(end, deadline), {*outcome, now, end, deadline});
    }
    end();
  }

 private:
  void end() {
    flight_.has_landed = true;
    flight_.landed.notify_all();
    logins_.flights_.erase(key_);
  }

  GuardedLogins& logins_;
  const Key key_;
  Flight& flight_;
};

/// Comes before the remembered grants: one of these would tell a refused caller that the password was right.
Result<LoginGuard::Standing> GuardedLogins::stand(const Credentials& credentials) {
  const std::string_view beyond = not_to_be_asked(credentials);
  if (!beyond.empty()) return refused("limits", beyond, credentials);
  return guard_.check(who_of(credentials));
}

Outcome GuardedLogins::login(const Credentials& credentials, const Check& check, SteadyTime deadline,
                             std::string_view stamp) {
  if (credentials.kind == Credentials::Kind::none) {
    return refused("form", "there are no credentials", credentials);
  }
  const auto standing = stand(credentials);
  if (!standing) return standing.error();
  const Key key = key_of(credentials, stamp);
  const Ask ask_now = [&] { return ask(credentials, check, deadline); };
  auto grant = find_or_ask(credentials, key, deadline, ask_now);
  if (grant && is_revoked(**grant)) {
    forget(credentials, **grant);
    if (credentials.kind == Credentials::Kind::token) return refused("token", kRevoked, credentials);
    grant = find_or_ask(credentials, key, deadline, ask_now);
  }
  if (grant) reset(credentials, *standing);
  return grant;
}

Outcome GuardedLogins::login_anew(const Credentials& credentials, const Check& check, SteadyTime deadline) {
  const auto standing = stand(credentials);
  return standing ? ask(credentials, check, deadline) : Outcome(standing.error());
}

Outcome GuardedLogins::holder(const Credentials& credentials, const Check& check, SteadyTime deadline) {
  const std::string_view beyond = not_to_be_asked(credentials);
  if (!beyond.empty()) return refused("limits", beyond, credentials);
  auto grant = find_or_ask(credentials, key_of(credentials), deadline,
                           [&] { return ask_for_holder(credentials, check); });
  if (grant && is_revoked(**grant)) return refused("token", kRevoked, credentials);
  return grant;
}

bool GuardedLogins::is_revoked(const Grant& grant) const {
  return revocations_ != nullptr && revocations_->has_user(grant.eauth, grant.name, grant.start);
}

/// Notes that these credentials, and the token that they were traded for, were good once.
Outcome GuardedLogins::given(const Credentials& credentials, Grant grant) {
  const SteadyTime now = clock_.steady();
  const Key brought = key_of(credentials);
  const Key token = digest_.of({}, {}, grant.token.reveal().text);
  const std::lock_guard lock(mutex_);
  once_good_.put(brought, now, now + kOnceGoodFor, true);
  if (!grant.token.empty()) once_good_.put(token, now, now + kOnceGoodFor, true);
  return std::make_shared<const Grant>(std::move(grant));
}

bool GuardedLogins::was_good(const Credentials& credentials) {
  const Key key = key_of(credentials);
  const std::lock_guard lock(mutex_);
  return once_good_.find(key, clock_.steady()) != nullptr;
}

Outcome GuardedLogins::ask_for_holder(const Credentials& credentials, const Check& check) {
  const Key key = key_of(credentials);
  std::unique_lock lock(mutex_);
  const bool was_refused = refused_.find(key, clock_.steady()) != nullptr;
  lock.unlock();
  if (was_refused) return refused("token", "it was refused just now", credentials);
  auto grant = check(credentials);
  if (grant) return given(credentials, *std::move(grant));
  if (grant.error().kind != ErrorKind::authentication) return std::move(grant).error();
  lock.lock();
  const SteadyTime now = clock_.steady();
  refused_.put(key, now, now + kRefusedFor, true);
  return refused("token", grant.error().message, credentials);
}

Key GuardedLogins::key_of(const Credentials& credentials, std::string_view stamp) const {
  // No user's name is empty, so that no token is mistaken for a password.
  if (credentials.kind == Credentials::Kind::token) return digest_.of({}, {}, credentials.token.reveal());
  return digest_.of({credentials.eauth, credentials.username, stamp, credentials.password.reveal()});
}

Result<void> GuardedLogins::log_out(const Credentials& credentials, const Grant& grant) {
  auto revoked = revocations_->add(credentials.token, grant.expire);
  if (revoked) forget(credentials, grant);
  return revoked;
}

std::shared_ptr<const Grant> GuardedLogins::remembered(const Key& key, SteadyTime now,
                                                       SteadyTime deadline) const {
  const Remembered* const found = grants_.find(key, now);
  if (found == nullptr || clock_.wall() >= found->grant->expire) return nullptr;
  const bool is_part = deadline < found->deadline && now < found->since + kForOthers;
  return now < found->end || deadline == found->deadline || is_part ? found->grant : nullptr;
}

Outcome GuardedLogins::find_or_ask(const Credentials& credentials, const Key& key, SteadyTime deadline,
                                   const Ask& ask_now) {
  const bool is_token = credentials.kind == Credentials::Kind::token;
  if (is_token && revocations_ != nullptr && revocations_->has(credentials.token)) {
    return refused("token", "it was logged out", credentials);
  }
  std::shared_ptr<Flight> flight;
  {
    std::unique_lock lock(mutex_);
    SteadyTime now = clock_.steady();
    if (auto grant = remembered(key, now, deadline)) return grant;
    for (auto found = flights_.find(key); found != flights_.end(); found = flights_.find(key)) {
      flight = found->second;
      const bool were_good = once_good_.find(key_of(credentials), now) != nullptr;
      Outcome outcome = wait(*flight, lock, were_good, deadline - now);
      now = clock_.steady();
      // The thread that checked may have had less time than this one, which then checks again.
      const bool may_ask = !outcome && outcome.error().kind == ErrorKind::timeout && now < deadline;
      if (!may_ask) return outcome;
    }
    flight = std::make_shared<Flight>();
    flights_.emplace(key, flight);
  }
  Lead lead(*this, key, *flight);
  const auto kept = is_token ? guard_.keep_thread(LoginGuard::Share::token) : LoginGuard::KeptThread();
  Outcome outcome = kept ? ask_now() : kept.error();
  lead.land(outcome, deadline);
  return outcome;
}

Outcome GuardedLogins::wait(Flight& flight, std::unique_lock<std::mutex>& lock, bool were_good,
                            SteadyTime::duration left) {
  const auto kept =
      were_good ? LoginGuard::KeptThread() : guard_.keep_thread(LoginGuard::Share::others_check);
  if (!kept) return kept.error();
  if (flight.landed.wait_for(lock, left, [&] { return flight.has_landed; })) {
    return flight.outcome;
  }
  return Error{ErrorKind::timeout, "These credentials are being checked, and no answer came in time."};
}

Outcome GuardedLogins::ask(const Credentials& credentials, const Check& check, SteadyTime deadline) {
  auto attempt = guard_.begin(who_of(credentials), deadline);
  if (!attempt) return std::move(attempt).error();
  auto grant = check(credentials);
  if (!grant) return failed(*attempt, std::move(grant).error(), credentials);
  attempt->succeeded();
  return given(credentials, *std::move(grant));
}

/// Failures of a back end count as guesses, and are answered as late: it may break for wrong passwords only.
Error GuardedLogins::failed(LoginGuard::Attempt& attempt, Error error, const Credentials& credentials) {
  const bool is_token = credentials.kind == Credentials::Kind::token;
  const bool has_ended = is_token && error.kind == ErrorKind::not_found;
  const bool is_refusal = error.kind == ErrorKind::authentication;
  const bool may_be_guess =
      is_refusal || (!is_token && (error.kind == ErrorKind::internal || error.counts_as_guess));
  if (!may_be_guess && !has_ended) return error;
  const bool is_guess = !has_ended && (!is_token || !was_good(credentials));
  if (auto waited = attempt.failed(is_guess); !waited) return std::move(waited).error();
  return is_refusal ? refused(is_token ? "token" : "verification", error.message, credentials)
                    : std::move(error);
}

/// A good token says nothing about other tokens that were tried from its address.
void GuardedLogins::reset(const Credentials& credentials, const LoginGuard::Standing& standing) {
  if (standing.has_failed && credentials.kind == Credentials::Kind::eauth) guard_.reset(who_of(credentials));
}

Result<void> GuardedLogins::guarded(const Credentials& credentials, const Try& try_them,
                                    SteadyTime deadline) {
  const auto standing = stand(credentials);
  if (!standing) return standing.error();
  auto attempt = guard_.begin(who_of(credentials), deadline);
  if (!attempt) return std::move(attempt).error();
  Result<void> taken = try_them();
  if (taken) {
    attempt->succeeded();
    return taken;
  }
  // A call may break for reasons of its own, which say nothing about its caller.
  const ErrorKind kind = taken.error().kind;
  if (kind != ErrorKind::authentication && kind != ErrorKind::not_found) return taken;
  return failed(*attempt, std::move(taken).error(), credentials);
}

void GuardedLogins::forget(const Credentials& credentials, const Grant& grant) {
  const Key key = key_of(credentials);
  const std::lock_guard lock(mutex_);
  const Remembered* const found = grants_.find(key, clock_.steady());
  if (found != nullptr && found->grant.get() == &grant) grants_.erase(key);
}

}  // namespace

Result<std::unique_ptr<Logins>> Logins::make(const LoginGuardOptions& guard, std::chrono::seconds ttl,
                                             const Clock& clock, std::shared_ptr<store::Store> store,
                                             std::shared_ptr<RevocationList> revocations) {
  auto digest = KeyedDigest::make();
  if (!digest) return std::move(digest).error();
  return std::unique_ptr<Logins>(std::make_unique<GuardedLogins>(guard, *std::move(digest), ttl, clock,
                                                                 std::move(store), std::move(revocations)));
}

}  // namespace rest_fcgi::auth

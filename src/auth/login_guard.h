// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "auth/guard_table.h"
#include "auth/password_gate.h"
#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// What of logins outlives a reload. Its parts synchronize themselves.
struct LoginMemory {
  GuardMemory guard;
  std::shared_ptr<PasswordGate> gate;
};

/// Makes guessing slow. It counts failures of each pair of user and address, so that nobody can lock a user
/// out from elsewhere, those of each address over all users, and those of an IPv6 address's network of 48
/// bits. A failure is answered the later the more there were; at the limit, tries are refused without a look
/// at the credentials. Pairs that logged in lately are refused for their own failures alone: else one guesser
/// behind a NAT would lock out all others there. They are looked at, but a failure of theirs reads as the
/// refusal of all others, and takes as long. Beyond that it knows no users: those that exist and those that
/// do not are treated alike. Tokens, which nobody can guess, are looked at whatever failed before: at the
/// limit those that fail are refused. Thread-safe.
class LoginGuard {
 public:
  using Sleep = std::function<void(std::chrono::milliseconds)>;

  /// Who tries, and from where. Borrows.
  struct Who {
    std::string_view username;  ///< empty: a token, whose failures count for those of its address alone
    std::string_view remote;    ///< empty, too, is an address of its own
  };

  /// Something that failures are counted for.
  struct Tier {
    enum class Of { user, tokens, address, site } of;
    GuardTable::Key key;
    GuardTable::Limit limit;
    bool refuses = true;  ///< else they are only counted
  };
  using Tiers = std::vector<Tier>;

  /// Who keeps a thread: the tenths of `threads` that logins may hold in all before this kind is refused one.
  /// A tenth stays free for requests that need none of this. Where there are fewer than five threads nobody
  /// is refused one.
  enum class Share {
    others_check = 7,  ///< who waits for a check of the same credentials that another thread makes
    password = 8,      ///< who brings one to be checked, until it is answered; and who waits to be refused
    token = 9,         ///< who brings one that somebody else has to be asked about
  };
  struct Free {
    void operator()(std::atomic<std::size_t>* kept) const noexcept { --*kept; }
  };
  using KeptThread = std::unique_ptr<std::atomic<std::size_t>, Free>;  ///< counts until it goes

  /// A try that is under way. As many as could fail before the limit is reached go on at the same time;
  /// others wait for their turn, so that many tries at once get no further than one after the other. Moves;
  /// used by one thread.
  class Attempt {
   public:
    Attempt(Attempt&& other) noexcept = default;
    Attempt& operator=(Attempt&&) = delete;
    ~Attempt() { leave(); }

    /// Counts a failure that is a guess, then waits in any case: the answer takes the same time, whatever was
    /// wrong. Errors: throttled, where too many threads wait already, or a token failed at the limit: then it
    /// does not wait; or where others at this address are refused.
    [[nodiscard]] Result<void> failed(bool is_guess = true);

    /// Their credentials were good: for a week they are known at this address.
    void succeeded();

   private:
    friend class LoginGuard;
    Attempt(LoginGuard* guard, const Who& who, SteadyTime since) : guard_(guard), who_(who), since_(since) {}
    void leave() noexcept;

    LoginGuard* guard_;  // null where it is off
    Who who_;
    SteadyTime since_;
    KeptThread thread_;
    Tiers entered_;  // where others wait for it
  };

  /// `clock` has to outlive it.
  LoginGuard(const LoginGuardOptions& options, std::shared_ptr<const LoginMemory> memory, const Clock& clock,
             Sleep sleep);

  /// What is known of somebody who may try.
  struct Standing {
    bool has_failed = false;  ///< and was not forgiven since
  };

  /// May they try? Costs next to nothing as long as nobody fails. Errors: throttled; where it is the address
  /// that is refused as late as a failure, for a few each second.
  [[nodiscard]] Result<Standing> check(const Who& who);

  /// Counts this thread, whoever's it is, as one that logins keep. Errors: unavailable, where it would be one
  /// too many.
  [[nodiscard]] Result<KeptThread> keep_thread(Share share);

  /// Waits for their turn; tokens need none. Errors: throttled, where their limit was reached meanwhile;
  /// unavailable, where too many threads wait already; timeout, where it did not come until `deadline`.
  [[nodiscard]] Result<Attempt> begin(const Who& who, SteadyTime deadline = SteadyTime::max());

  /// Their credentials were good: forgets the failures of this user at this address.
  void forgive(const Who& who);

 private:
  [[nodiscard]] bool is_off() const noexcept { return options_.tries == 0; }
  [[nodiscard]] bool is_quiet(WallTime now) const;
  [[nodiscard]] Tiers tiers_of(const Who& who) const;
  [[nodiscard]] GuardTable::Key key_of_user(const Who& who, std::string_view network) const;
  [[nodiscard]] bool has_room(const Tier& tier, unsigned failures) const;  // with mutex_ held
  [[nodiscard]] Result<void> enter(const Tiers& tiers, Tiers& entered, SteadyTime deadline);
  void leave(const Tiers& tiers) noexcept;
  void keep_active(WallTime now);
  [[nodiscard]] std::chrono::milliseconds delay_after(unsigned failures) const;
  struct Answer {
    std::chrono::milliseconds delay;
    std::chrono::seconds refused_for{0};  // as others at this address are
  };
  [[nodiscard]] Answer answer_to_failure(const Who& who, bool is_guess, WallTime now);
  enum class For { failure, refusal };
  [[nodiscard]] bool may_wait_for_refusal();
  [[nodiscard]] Result<void> wait(std::chrono::milliseconds time, For what);

  // constant after construction
  LoginGuardOptions options_;
  std::shared_ptr<const LoginMemory> memory_;
  const Clock& clock_;
  Sleep sleep_;
  // synchronizes itself
  GuardTable table_;
  GuardTable known_;                      // an entry for each pair of user and address that logged in
  std::atomic<std::size_t> kept_ = 0;     // threads, with those that wait to answer a failure a second time
  std::atomic<std::size_t> delayed_ = 0;  // threads that wait before they answer a failure
  // tries under way in this process
  std::mutex mutex_;
  std::condition_variable left_;
  std::unordered_map<GuardTable::Key, unsigned> under_way_;  // guarded by mutex_
  std::size_t queued_ = 0;                                   // threads; guarded by mutex_
};

/// As much of something that a caller chose as a log line shows.
[[nodiscard]] std::string_view for_log(std::string_view input);

/// What every caller gets to see, whatever was wrong; the log has the stage and the cause.
[[nodiscard]] Error refused(std::string_view stage, std::string_view cause, const Credentials& credentials);

/// What no back end should have to see of a user's credentials, nor any hash; empty where there is nothing of
/// that kind.
[[nodiscard]] std::string_view beyond_limits(const Credentials& credentials);

/// Under what a failure of these credentials is counted. Borrows.
[[nodiscard]] LoginGuard::Who who_of(const Credentials& credentials);

}  // namespace rest_fcgi::auth

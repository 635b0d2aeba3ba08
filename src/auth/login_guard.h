// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "auth/failure_table.h"
#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// A limit on password guesses. It counts the failures of each pair of user and address, so that nobody can
/// lock a user out from elsewhere, those of each address, and those of an IPv6 address's network of 48 bits.
/// Each failure is answered later than the one before. At the limit, logins are refused without a look at the
/// credentials. Pairs that logged in lately are refused for their own failures only: else one guesser behind
/// a NAT would lock out all others there. A failure of such a pair reads as the refusal of all others, and
/// takes as long. Users that do not exist are treated as others. Tokens cannot be guessed, so each is looked
/// at; at the limit those that fail are refused. Thread-safe.
class LoginGuard {
 public:
  using Sleep = std::function<void(std::chrono::milliseconds)>;

  /// Who logs in, and from where. Borrows.
  struct Who {
    std::string_view username;  ///< empty: a token
    std::string_view remote;    ///< empty is an address of its own
  };

  /// Something that failures are counted for.
  struct Bucket {
    enum class Of { user, tokens, address, site } of;
    std::string key;
    FailureTable::Limit limit;
    bool refuses = true;  ///< else failures are only counted
  };
  using Buckets = std::vector<Bucket>;

  /// The tenths of `threads` that logins may hold in all before this kind is refused a thread. A tenth stays
  /// free for requests that need no check. With fewer than five threads no login is refused one.
  enum class Share {
    others_check = 7,  ///< waits for a check of the same credentials that another thread makes
    password = 8,      ///< has a password checked, or waits to be refused
    token = 9,         ///< has a token checked by a Salt master
  };
  struct Free {
    void operator()(std::atomic<std::size_t>* kept) const noexcept { --*kept; }
  };
  using KeptThread = std::unique_ptr<std::atomic<std::size_t>, Free>;  ///< counts until it goes

  /// A try that is under way. As many as could fail before the limit go on at a time; others wait for their
  /// turn. So many tries at once get no further than one after the other. Used by one thread.
  class Attempt {
   public:
    Attempt(Attempt&& other) noexcept = default;
    Attempt& operator=(Attempt&&) = delete;
    ~Attempt() { leave(); }

    /// Counts a failure that is a guess, then waits in any case. Errors: throttled, where too many threads
    /// wait, a token failed at the limit, or others at this address are refused; unavailable, where the
    /// failure cannot be counted.
    [[nodiscard]] Result<void> failed(bool is_guess = true);

    /// Notes that the credentials were good. Forgets the failures of this user at this address.
    void succeeded();

   private:
    friend class LoginGuard;
    Attempt(LoginGuard* guard, const Who& who, SteadyTime since) : guard_(guard), who_(who), since_(since) {}
    void leave() noexcept;

    LoginGuard* guard_;  // null where the guard is off
    Who who_;
    SteadyTime since_;
    KeptThread thread_;
    Buckets entered_;  // where others wait for it
    bool has_failed_ = false;
    std::chrono::microseconds others_refused_for_{0};  // when this attempt began
  };

  /// `clock` must outlive the guard.
  LoginGuard(const LoginGuardOptions& options, std::shared_ptr<store::Store> store, const Clock& clock,
             Sleep sleep)
      : options_(options), clock_(clock), sleep_(std::move(sleep)), table_(std::move(store), clock) {}

  /// The record of a user that is not refused.
  struct Standing {
    bool has_failed = false;
  };

  /// Checks whether a user may try. Does not read the store while no login fails. Errors: throttled, where
  /// the address is refused after the wait of a failure; unavailable.
  [[nodiscard]] Result<Standing> check(const Who& who);

  /// Counts this thread as one that logins keep. Errors: unavailable, where that is one too many.
  [[nodiscard]] Result<KeptThread> keep_thread(Share share);

  /// Waits for a turn; tokens need none. Errors: throttled, where the limit was reached meanwhile;
  /// unavailable, where too many threads wait; timeout, where the turn did not come until `deadline`.
  [[nodiscard]] Result<Attempt> begin(const Who& who, SteadyTime deadline = SteadyTime::max());

  /// Forgets the failures of this user at this address.
  void reset(const Who& who);

 private:
  [[nodiscard]] bool is_off() const noexcept { return options_.tries == 0; }
  [[nodiscard]] Result<Buckets> buckets_of(const Who& who);
  [[nodiscard]] bool has_room(const Bucket& bucket, unsigned failures) const;  // with mutex_ held
  [[nodiscard]] Result<void> enter(const Buckets& buckets, Attempt& attempt, SteadyTime deadline);
  void leave(const Buckets& buckets) noexcept;
  [[nodiscard]] std::chrono::milliseconds delay_after(unsigned failures) const;
  struct Answer {
    std::chrono::milliseconds delay;
    std::chrono::microseconds refused_for{0};  // as others at this address are
  };
  [[nodiscard]] Result<Answer> answer_to_failure(const Who& who, bool is_guess);
  enum class For { failure, refusal };
  [[nodiscard]] bool may_wait_for_refusal();
  [[nodiscard]] Result<void> wait(std::chrono::milliseconds time, For what);

  const LoginGuardOptions options_;
  const Clock& clock_;
  const Sleep sleep_;
  FailureTable table_;                    // synchronizes itself
  std::atomic<std::size_t> kept_ = 0;     // threads, with those that wait to answer a failure
  std::atomic<std::size_t> delayed_ = 0;  // threads that wait before they answer a failure
  std::atomic<unsigned> uncounted_ = 0;   // failures since the store can not be written
  std::mutex mutex_;
  std::condition_variable left_;
  std::unordered_map<std::string, unsigned> under_way_;  // tries of this process; guarded by mutex_
  std::size_t queued_ = 0;                               // threads; guarded by mutex_
};

/// Returns as much of a caller's text as a log line shows.
[[nodiscard]] std::string_view for_log(std::string_view input);

/// Logs the stage and the cause. Returns the error that all refused callers get.
[[nodiscard]] Error refused(std::string_view stage, std::string_view cause, const Credentials& credentials);

/// Returns why no back end has to see these credentials of a user; empty where nothing is wrong.
[[nodiscard]] std::string_view beyond_limits(const Credentials& credentials);

/// Returns whom failures of these credentials are counted for. Borrows.
[[nodiscard]] LoginGuard::Who who_of(const Credentials& credentials);

}  // namespace rest_fcgi::auth

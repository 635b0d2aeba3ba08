// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "auth/failure_table.h"
#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/limiter.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// Limits password guesses. Counts the failed logins of each client address, and of each user at an address.
/// A guesser therefore cannot lock out a user who logs in from another address. Each failure lengthens the
/// delay before the answer to the next failed login. After too many failures, logins are refused without a
/// check of the password. A LoginGuard is thread-safe.
class LoginGuard {
 public:
  using Sleep = std::function<void(std::chrono::milliseconds)>;

  struct Who {
    std::string_view username;
    /// The client's address. All unknown addresses count as one address.
    std::string_view remote;
  };

  /// The kinds of logins. A login begins only if all logins together occupy less than the share of its kind
  /// of the process's threads. If the process has fewer than five threads, there is no limit.
  enum class Share {
    others_check,  ///< 70 %. The login waits while another thread checks the same credentials.
    password,      ///< 80 %.
    token,         ///< 90 %. The login asks a Salt master to check a token.
  };

  /// A running check of a password. If the limit is N failures away, at most N Attempts run at the same time.
  /// Concurrent guesses therefore cannot exceed the limit. An Attempt is not thread-safe.
  class Attempt {
   public:
    Attempt(Attempt&& other) noexcept = default;
    Attempt& operator=(Attempt&&) = delete;
    ~Attempt() { leave(); }

    /// Counts a wrong password, and sleeps for the delay before the answer. Errors: throttled, if too many
    /// threads sleep; unavailable, if the store cannot count the failure.
    Result<void> failed();

    void succeeded();

   private:
    friend class LoginGuard;
    Attempt(LoginGuard* guard, const Who& who, SteadyTime since) : guard_(guard), who_(who), since_(since) {}
    void leave() noexcept;

    LoginGuard* guard_;  // Null if the settings turn off the limits.
    Who who_;
    SteadyTime since_;
    Limiter::Pass thread_;
    std::vector<std::string> entered_;  // The keys in `under_way_`.
    bool has_failed_ = false;
  };

  LoginGuard(const LoginGuardOptions& options, std::shared_ptr<store::Store> store, const Clock& clock,
             Sleep sleep)
      : options_(options), clock_(clock), sleep_(std::move(sleep)), table_(std::move(store), clock) {}

  /// Checks whether a user may try to log in. Returns whether earlier failed logins of this user still count.
  /// In this case, the caller calls `reset` after a good login. Errors: throttled, after too many failures;
  /// unavailable.
  Result<bool> check(const Who& who);

  void reset(const Who& who);

  /// Counts the calling thread as occupied by a login while the Pass exists. Errors: unavailable, if logins
  /// occupy too many threads.
  Result<Limiter::Pass> keep_thread(Share share);

  /// Waits until a check of the user's password may begin. Errors: throttled, if the failures have reached
  /// the limit; unavailable, if too many threads wait; timeout, at `deadline`.
  Result<Attempt> begin(const Who& who, SteadyTime deadline = SteadyTime::max());

 private:
  struct Bucket {
    std::string key;
    FailureTable::Limit limit;
    bool is_of_user;
  };
  using Buckets = std::array<Bucket, 2>;

  /// Returns the limits of each `Share`.
  [[nodiscard]] static Limiter::Limits thread_limits(std::size_t threads);
  [[nodiscard]] bool is_off() const noexcept { return options_.tries == 0; }
  [[nodiscard]] Buckets buckets_of(const Who& who) const;
  Result<void> enter(const Buckets& buckets, Attempt& attempt, SteadyTime deadline);
  void leave(const std::vector<std::string>& keys) noexcept;
  [[nodiscard]] std::chrono::milliseconds delay_after(unsigned failures) const;
  Result<std::chrono::milliseconds> count_failure(const Who& who);

  const LoginGuardOptions options_;
  const Clock& clock_;
  const Sleep sleep_;
  FailureTable table_;
  Limiter threads_{thread_limits(options_.threads)};  // Limits the threads that logins occupy.
  // `delayed_` is the number of threads that wait before they answer a failed login.
  std::atomic<std::size_t> delayed_ = 0;
  // The number of failures that could not be written to the store.
  std::atomic<unsigned> uncounted_ = 0;
  Mutex mutex_;
  std::condition_variable left_;
  // The running attempts of each key.
  std::unordered_map<std::string, unsigned> under_way_ GUARDED_BY(mutex_);
  std::size_t queued_ GUARDED_BY(mutex_) = 0;
};

/// Returns the start of a client's text, short enough for a log line.
[[nodiscard]] std::string_view for_log(std::string_view input);

[[nodiscard]] Error refused(std::string_view stage, std::string_view cause, const Credentials& credentials);

}  // namespace rest_fcgi::auth

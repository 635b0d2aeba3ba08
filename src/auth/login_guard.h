// SPDX-License-Identifier: MIT
#pragma once

#include <array>
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

/// Limits password guesses. The guard counts the failures of each address, and of each pair of user and
/// address. The pair keeps a guesser from locking out a user at other addresses. The more failures, the later
/// the guard answers. At the limit it refuses logins without a check of the password. Unknown users are
/// treated like existing users. Tokens cannot be guessed, so the guard does not count them. Thread-safe.
class LoginGuard {
 public:
  using Sleep = std::function<void(std::chrono::milliseconds)>;

  /// The user who logs in and the client's address. Borrows its texts.
  struct Who {
    std::string_view username;
    /// the client's address; all unknown addresses are empty and count as one address
    std::string_view remote;
  };

  /// The largest numbers of threads that logins may occupy, in tenths of `threads`. A login begins only while
  /// all logins together occupy fewer threads than the number for its kind. A tenth of the threads stays free
  /// for requests without a check. With fewer than five threads there is no limit.
  enum class Share {
    others_check = 7,  ///< the login waits for another thread's check of the same credentials
    password = 8,      ///< the login checks a password
    token = 9,         ///< the login asks a Salt master to check a token
  };
  struct ReleaseThread {
    void operator()(std::atomic<std::size_t>* kept) const noexcept { --*kept; }
  };
  /// the thread counts as occupied until this object is destroyed
  using KeptThread = std::unique_ptr<std::atomic<std::size_t>, ReleaseThread>;

  /// One check of a password. The number of concurrent attempts is at most the number of failures that are
  /// left until the limit. Concurrent guesses therefore get no more tries than sequential guesses. Used by
  /// one thread.
  class Attempt {
   public:
    Attempt(Attempt&& other) noexcept = default;
    Attempt& operator=(Attempt&&) = delete;
    ~Attempt() { leave(); }

    /// Counts a failure, then waits before it returns. Errors: throttled, if too many threads already wait
    /// here; unavailable, if the store cannot count the failure.
    [[nodiscard]] Result<void> failed();

    /// Says that the credentials were good. Resets the failures of this user at this address.
    void succeeded();

   private:
    friend class LoginGuard;
    Attempt(LoginGuard* guard, const Who& who, SteadyTime since) : guard_(guard), who_(who), since_(since) {}
    void leave() noexcept;

    LoginGuard* guard_;  // null if the settings turn the guard off
    Who who_;
    SteadyTime since_;
    KeptThread thread_;
    std::vector<std::string> entered_;  // the keys that this attempt counts for in under_way_
    bool has_failed_ = false;
  };

  /// `clock` must outlive the guard.
  LoginGuard(const LoginGuardOptions& options, std::shared_ptr<store::Store> store, const Clock& clock,
             Sleep sleep)
      : options_(options), clock_(clock), sleep_(std::move(sleep)), table_(std::move(store), clock) {}

  /// Checks whether a user may try to log in. Returns whether the user has failures that a good login resets.
  /// Does not read the store as long as no login fails. Errors: throttled; unavailable.
  [[nodiscard]] Result<bool> check(const Who& who);

  /// Resets the failures of this user at this address.
  void reset(const Who& who);

  /// Counts this thread as occupied by a login. Errors: unavailable, if logins occupy too many threads.
  [[nodiscard]] Result<KeptThread> keep_thread(Share share);

  /// Waits until a check of a password may begin. Errors: throttled, if the failures reached the limit
  /// meanwhile; unavailable, if too many threads wait; timeout, at `deadline`.
  [[nodiscard]] Result<Attempt> begin(const Who& who, SteadyTime deadline = SteadyTime::max());

 private:
  /// A counter of failures.
  struct Bucket {
    std::string key;
    FailureTable::Limit limit;
    bool is_of_user;  // false: counts the failures of an address for all users together
  };
  using Buckets = std::array<Bucket, 2>;

  [[nodiscard]] bool is_off() const noexcept { return options_.tries == 0; }
  [[nodiscard]] Buckets buckets_of(const Who& who) const;
  [[nodiscard]] Result<void> enter(const Buckets& buckets, Attempt& attempt, SteadyTime deadline);
  void leave(const std::vector<std::string>& keys) noexcept;
  [[nodiscard]] std::chrono::milliseconds delay_after(unsigned failures) const;
  [[nodiscard]] Result<std::chrono::milliseconds> count_failure(const Who& who);

  const LoginGuardOptions options_;
  const Clock& clock_;
  const Sleep sleep_;
  FailureTable table_;                    // synchronizes itself
  std::atomic<std::size_t> kept_ = 0;     // threads that logins occupy now
  std::atomic<std::size_t> delayed_ = 0;  // threads that wait before they answer a failure
  std::atomic<unsigned> uncounted_ = 0;   // failures that the store could not count since it became read-only
  std::mutex mutex_;
  std::condition_variable left_;
  std::unordered_map<std::string, unsigned> under_way_;  // attempts that run now, by key; guarded by mutex_
  std::size_t queued_ = 0;                               // threads that wait in `enter`; guarded by mutex_
};

/// Returns the network that counts as one address. This is an IPv4 address, or the 64-bit network of an IPv6
/// address. IPv6 addresses in ::ffff:0:0/96 and 64:ff9b::/96 (NAT64, RFC 6052) stand for IPv4 addresses.
/// Returns any other text unchanged.
[[nodiscard]] std::string network_of(std::string_view remote);

/// Returns the first part of a client's text, as long as a log line may show.
[[nodiscard]] std::string_view for_log(std::string_view input);

/// Logs at which stage and why a login was refused. Returns the error that every refused client gets.
[[nodiscard]] Error refused(std::string_view stage, std::string_view cause, const Credentials& credentials);

}  // namespace rest_fcgi::auth

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

/// A limit on password guesses. It counts the failures of each pair of user and address, so that a guesser
/// cannot lock out a user elsewhere, and those of each address. Each failure is answered later than the one
/// before. At the limit, logins are refused without a check of the password. Unknown users are treated like
/// existing users. Tokens cannot be guessed and are not counted. Thread-safe.
class LoginGuard {
 public:
  using Sleep = std::function<void(std::chrono::milliseconds)>;

  /// Who logs in, and from where. Borrows.
  struct Who {
    std::string_view username;
    std::string_view remote;  ///< if unknown: empty, which counts as one address
  };

  /// How many tenths of `threads` logins may occupy together when another one of this kind begins. A tenth
  /// stays free for requests that need no check. With fewer than five threads there is no limit.
  enum class Share {
    others_check = 7,  ///< waits for another thread's check of the same credentials
    password = 8,      ///< checks a password
    token = 9,         ///< has a Salt master check a token
  };
  struct ReleaseThread {
    void operator()(std::atomic<std::size_t>* kept) const noexcept { --*kept; }
  };
  using KeptThread = std::unique_ptr<std::atomic<std::size_t>, ReleaseThread>;  ///< counts until destroyed

  /// One check of a password. The number of concurrent attempts is bounded by the failures that are left
  /// until the limit, so that concurrent guesses get no further than sequential ones. Used by one thread.
  class Attempt {
   public:
    Attempt(Attempt&& other) noexcept = default;
    Attempt& operator=(Attempt&&) = delete;
    ~Attempt() { leave(); }

    /// Counts a failure, then waits. Errors: throttled, if too many threads wait; unavailable, if the failure
    /// cannot be counted.
    [[nodiscard]] Result<void> failed();

    /// Notes that the credentials were good. Resets the failures of this user at this address.
    void succeeded();

   private:
    friend class LoginGuard;
    Attempt(LoginGuard* guard, const Who& who, SteadyTime since) : guard_(guard), who_(who), since_(since) {}
    void leave() noexcept;

    LoginGuard* guard_;  // null if the guard is off
    Who who_;
    SteadyTime since_;
    KeptThread thread_;
    std::vector<std::string> entered_;  // keys in under_way_
    bool has_failed_ = false;
  };

  /// `clock` must outlive the guard.
  LoginGuard(const LoginGuardOptions& options, std::shared_ptr<store::Store> store, const Clock& clock,
             Sleep sleep)
      : options_(options), clock_(clock), sleep_(std::move(sleep)), table_(std::move(store), clock) {}

  /// Checks whether a user may try to log in. Returns whether the user has failures to reset. Does not read
  /// the store while no login fails. Errors: throttled; unavailable.
  [[nodiscard]] Result<bool> check(const Who& who);

  /// Resets the failures of this user at this address.
  void reset(const Who& who);

  /// Counts this thread as occupied by a login. Errors: unavailable, at the limit.
  [[nodiscard]] Result<KeptThread> keep_thread(Share share);

  /// Waits until an attempt may begin. Errors: throttled, if the limit was reached meanwhile; unavailable, if
  /// too many threads wait; timeout, at `deadline`.
  [[nodiscard]] Result<Attempt> begin(const Who& who, SteadyTime deadline = SteadyTime::max());

 private:
  /// A counter of failures.
  struct Bucket {
    std::string key;
    FailureTable::Limit limit;
    bool is_of_user;  // else of the address
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
  std::atomic<std::size_t> kept_ = 0;     // threads that logins occupy
  std::atomic<std::size_t> delayed_ = 0;  // threads that wait before they answer a failure
  std::atomic<unsigned> uncounted_ = 0;   // failures since the store cannot be written
  std::mutex mutex_;
  std::condition_variable left_;
  std::unordered_map<std::string, unsigned> under_way_;  // attempts by key; guarded by mutex_
  std::size_t queued_ = 0;                               // threads; guarded by mutex_
};

/// Returns what counts as one address: an IPv4 address, or the 64-bit network of an IPv6 address. IPv6
/// addresses in ::ffff:0:0/96 and 64:ff9b::/96 (NAT64, RFC 6052) stand for IPv4 addresses. Returns any other
/// text unchanged.
[[nodiscard]] std::string network_of(std::string_view remote);

/// Returns as much of a client's text as a log line shows.
[[nodiscard]] std::string_view for_log(std::string_view input);

/// Logs the stage and the cause of a refusal. Returns the error that all refused clients get.
[[nodiscard]] Error refused(std::string_view stage, std::string_view cause, const Credentials& credentials);

}  // namespace rest_fcgi::auth

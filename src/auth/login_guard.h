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

/// Limits password guesses. Counts the failures of each address, and of each user at an address. A guesser
/// therefore cannot lock out a user at another address. Each failure delays later answers more, until logins
/// are refused without a check. A LoginGuard is thread-safe.
class LoginGuard {
 public:
  using Sleep = std::function<void(std::chrono::milliseconds)>;

  struct Who {
    std::string_view username;
    /// The client's address. All unknown addresses count as one address.
    std::string_view remote;
  };

  /// The kinds of logins, each with a share of the process's threads in tenths. A login begins only if logins
  /// occupy less than the share of its kind. With fewer than five threads there is no limit.
  enum class Share {
    others_check = 7,  ///< The login waits for another thread's check of the same credentials.
    password = 8,
    token = 9,  ///< The login asks a Salt master to check a token.
  };
  struct ReleaseThread {
    void operator()(std::atomic<std::size_t>* kept) const noexcept { --*kept; }
  };
  /// Counts a thread as occupied by a login until this object is destroyed.
  using KeptThread = std::unique_ptr<std::atomic<std::size_t>, ReleaseThread>;

  /// A check of a password. Only as many Attempts run at the same time as failures are left until the limit,
  /// so that concurrent guesses cannot exceed the limit. An Attempt is not thread-safe.
  class Attempt {
   public:
    Attempt(Attempt&& other) noexcept = default;
    Attempt& operator=(Attempt&&) = delete;
    ~Attempt() { leave(); }

    /// Counts a failure, and sleeps before the caller may answer. Errors: throttled, if too many threads
    /// wait; unavailable, if the store cannot count the failure.
    [[nodiscard]] Result<void> failed();

    void succeeded();

   private:
    friend class LoginGuard;
    Attempt(LoginGuard* guard, const Who& who, SteadyTime since) : guard_(guard), who_(who), since_(since) {}
    void leave() noexcept;

    LoginGuard* guard_;  // The guard. Null if the settings turn the limits off.
    Who who_;
    SteadyTime since_;
    KeptThread thread_;
    std::vector<std::string> entered_;  // The keys at which `under_way_` counts this attempt.
    bool has_failed_ = false;
  };

  LoginGuard(const LoginGuardOptions& options, std::shared_ptr<store::Store> store, const Clock& clock,
             Sleep sleep)
      : options_(options), clock_(clock), sleep_(std::move(sleep)), table_(std::move(store), clock) {}

  /// Checks whether a user may try to log in. Returns whether the user has failures that a good login resets.
  /// Errors: throttled, after too many failures; unavailable.
  [[nodiscard]] Result<bool> check(const Who& who);

  void reset(const Who& who);

  /// Counts this thread as occupied by a login. Errors: unavailable, if logins occupy too many threads.
  [[nodiscard]] Result<KeptThread> keep_thread(Share share);

  /// Waits until a check of a password may begin. Errors: throttled, if the failures reached the limit;
  /// unavailable, if too many threads wait; timeout, at `deadline`.
  [[nodiscard]] Result<Attempt> begin(const Who& who, SteadyTime deadline = SteadyTime::max());

 private:
  struct Bucket {
    std::string key;
    FailureTable::Limit limit;
    // Whether `key` stands for a user at an address. Otherwise it stands for all users of the address.
    bool is_of_user;
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
  FailureTable table_;
  std::atomic<std::size_t> kept_ = 0;     // The number of threads that logins occupy.
  std::atomic<std::size_t> delayed_ = 0;  // The number of threads that wait before they answer a failure.
  std::atomic<unsigned> uncounted_ = 0;   // The number of failures that a read-only store did not count.
  std::mutex mutex_;
  std::condition_variable left_;
  // The number of running attempts by key, guarded by `mutex_`.
  std::unordered_map<std::string, unsigned> under_way_;
  std::size_t queued_ = 0;  // The number of threads that wait in `enter`, guarded by `mutex_`.
};

/// Returns the network that counts as one address: an IPv4 address, or the 64-bit network of an IPv6 address.
/// IPv6 addresses in ::ffff:0:0/96 and 64:ff9b::/96 (NAT64, RFC 6052) stand for IPv4 addresses. Returns other
/// texts unchanged.
[[nodiscard]] std::string network_of(std::string_view remote);

/// Returns the start of a client's text, short enough for a log line.
[[nodiscard]] std::string_view for_log(std::string_view input);

[[nodiscard]] Error refused(std::string_view stage, std::string_view cause, const Credentials& credentials);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/gateway_error.h"
#include "etcd/transport.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

/// Errors: configuration, for an endpoint that is none or that goes without what the other options ask for,
/// for a username without a password, or the other way round.
[[nodiscard]] Result<void> check_options(const Options& options);

/// The members of a cluster, and what is known of each. Members are named by their index. Thread-safe.
class Endpoints {
 public:
  /// For how long one that failed is not asked, as long as others are there.
  static constexpr std::chrono::seconds kSkipped{3};

  /// REQUIRES: urls is not empty.
  explicit Endpoints(const std::vector<std::string>& urls);

  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  [[nodiscard]] const std::string& url(std::size_t member) const { return members_[member].url; }

  /// Who is asked next: the one that answered last, or the next one that has not failed of late; where all
  /// have, the one whose failure is longest ago.
  [[nodiscard]] std::size_t choose(SteadyTime now) const;

  void answered(std::size_t member);

  /// It also has to be asked anew which API it has: perhaps another version is started there.
  void failed(std::size_t member, SteadyTime now);

  /// The prefix of its API, such as `/v3`; empty: not known.
  [[nodiscard]] std::string prefix(std::size_t member) const;
  void set_prefix(std::size_t member, std::string prefix);

  /// A member told of which cluster it is; 0 tells nothing. True where it was of another one before: the
  /// cluster was made anew, and nothing that it gave out holds. Errors: configuration, where another member
  /// is of another cluster.
  [[nodiscard]] Result<bool> set_cluster(std::size_t member, std::uint64_t cluster_id);

 private:
  struct Member {
    std::string url;
    SteadyTime failed_at{};
    bool failed = false;
    std::string prefix{};
    std::uint64_t cluster_id = 0;  // stays known when it fails, or another cluster could slip in
  };

  mutable std::mutex mutex_;
  std::vector<Member> members_;  // all but the URLs is guarded by mutex_
  std::size_t current_ = 0;      // guarded by mutex_
};

/// The tries of one call that failed. Not synchronized.
class Attempts {
 public:
  explicit Attempts(std::size_t members) : last_words_(members) {}

  /// What a try that was `cut_off` tells is its end alone: where the member had told more, that is kept.
  void add(std::size_t member, const Failure& failure, bool cut_off);

  /// How long to wait before the next try: some 100 ms, 200 ms, then 400 ms, so that callers who failed
  /// together do not come back together.
  [[nodiscard]] std::chrono::milliseconds pause() const;

  /// What the caller is told, with what each member said last: timeout where the call `writes` and may have
  /// been carried out, else unavailable.
  [[nodiscard]] Error error(bool writes) const;

 private:
  std::vector<std::string> last_words_;  // empty: not asked
  std::size_t count_ = 0;
  bool outcome_known_ = true;
};

/// What a call does to the store, which decides what may be tried again.
enum class Effect {
  none,        ///< it reads
  repeatable,  ///< twice is the same as once
  once,        ///< where it may have been carried out, the caller has to know
};

/// One try of a call at a member; nothing where it succeeded.
using Try = std::function<std::optional<Failure>(std::size_t member)>;

/// Tries at one member after the other, until one takes it, or it is worth no more, or time is up. Blocks.
[[nodiscard]] Result<void> retry(Endpoints& endpoints, Effect effect, Deadline deadline, const Try& attempt);

/// What a member tells anybody.
struct Probed {
  std::string prefix;            ///< of its API
  std::uint64_t cluster_id = 0;  ///< 0: it does not tell it to anybody
};

/// Asks a member for its status, below each prefix that there is, the newest first.
[[nodiscard]] Tried<Probed> probe(Transport& transport, const std::string& url, Deadline deadline);

}  // namespace rest_fcgi::etcd

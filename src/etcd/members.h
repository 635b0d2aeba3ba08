// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "etcd/failure.h"
#include "etcd/transport.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

/// Checks the options. Errors: configuration, for malformed endpoints, for TLS files together with `http:`
/// endpoints, and for a username without a password or the reverse.
[[nodiscard]] Result<void> check_options(const Options& options);

/// The members of a cluster and their known state. A member's index is its position in the list of URLs.
/// Thread-safe.
class Members {
 public:
  /// How long a failed member is skipped, unless all members failed.
  static constexpr std::chrono::seconds kSkipped{3};

  /// REQUIRES: urls is not empty.
  explicit Members(const std::vector<std::string>& urls);

  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  [[nodiscard]] const std::string& url(std::size_t member) const { return members_[member].url; }

  /// Returns the member to ask. This is the member that answered last, or the next member without a recent
  /// failure. If all members failed recently, returns the member whose failure is the oldest.
  [[nodiscard]] std::size_t choose(SteadyTime now) const;

  void note_answer(std::size_t member);

  /// Notes that the member failed. Forgets the member's prefix, because the member may return with another
  /// version of etcd.
  void note_failure(std::size_t member, SteadyTime now);

  /// Returns the path prefix of the member's API, such as `/v3`; empty if the prefix is not known.
  [[nodiscard]] std::string prefix(std::size_t member) const;
  void set_prefix(std::size_t member, std::string prefix);

  /// Notes the ID of the cluster that a member reported. 0 means that the member reported no ID. Returns
  /// whether the member belonged to another cluster before. In that case the cluster was replaced, and its
  /// tokens are invalid. Errors: configuration, if another member reported another cluster.
  [[nodiscard]] Result<bool> set_cluster(std::size_t member, std::uint64_t cluster_id);

 private:
  struct Member {
    std::string url;
    std::optional<SteadyTime> failed_at{};
    std::string prefix{};
    std::uint64_t cluster_id = 0;  // is kept when the member fails
  };

  mutable std::mutex mutex_;
  std::vector<Member> members_;  // guarded by mutex_, except the URLs, which do not change
  std::size_t current_ = 0;      // guarded by mutex_
};

/// How a request changes data. This decides whether a request is repeated that may have been executed.
enum class Effect {
  reads,
  writes,       ///< changes data, and may be executed twice
  writes_once,  ///< changes data, and is not repeated if it may have been executed
};

/// One attempt of a request at a member. Absent means success.
using Attempt = std::function<std::optional<Failure>(std::size_t member)>;

/// Attempts a request at one member after another. Stops when an attempt succeeds, when other members cannot
/// help, or at the deadline. Blocks.
[[nodiscard]] Result<void> retry(Members& members, Effect effect, Deadline deadline, const Attempt& attempt);

struct Probed {
  std::string prefix;            ///< the path prefix of the member's API
  std::uint64_t cluster_id = 0;  ///< 0 if the member reports its cluster only after a login
};

/// Asks a member for its status below each known API prefix, the newest prefix first.
[[nodiscard]] Tried<Probed> probe(Transport& transport, const std::string& url, Deadline deadline);

}  // namespace rest_fcgi::etcd

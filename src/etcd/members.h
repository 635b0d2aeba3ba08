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

/// Checks the options. Errors: configuration, for malformed endpoints, TLS files with `http:` endpoints, and
/// a username without a password or the reverse.
[[nodiscard]] Result<void> check_options(const Options& options);

/// The members of a cluster and their known state. Members is thread-safe.
class Members {
 public:
  /// How long `choose` skips a failed member, unless all members failed.
  static constexpr std::chrono::seconds kSkipped{3};

  explicit Members(const std::vector<std::string>& urls);

  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  [[nodiscard]] const std::string& url(std::size_t member) const { return members_[member].url; }

  /// Returns the member that answered last. If it failed recently, returns the next member without a recent
  /// failure. If all failed recently, returns the member with the oldest failure.
  [[nodiscard]] std::size_t choose(SteadyTime now) const;

  void note_answer(std::size_t member);

  /// Notes that the member failed. Forgets the member's API prefix, because the member may come back with
  /// another version of etcd.
  void note_failure(std::size_t member, SteadyTime now);

  /// Returns the path prefix of the member's API, such as `/v3`, or an empty text for an unknown prefix.
  [[nodiscard]] std::string prefix(std::size_t member) const;
  void set_prefix(std::size_t member, std::string prefix);

  /// Notes the cluster ID of a member, or 0 for no ID. Returns true if the cluster was replaced, which makes
  /// tokens invalid. Errors: configuration, if another member reported another cluster.
  [[nodiscard]] Result<bool> set_cluster(std::size_t member, std::uint64_t cluster_id);

 private:
  struct Member {
    std::string url;
    std::optional<SteadyTime> failed_at{};
    std::string prefix{};
    std::uint64_t cluster_id = 0;  // The ID of the member's cluster. `note_failure` does not reset it.
  };

  mutable std::mutex mutex_;
  std::vector<Member> members_;  // The members of the cluster. `mutex_` guards all but the URLs.
  std::size_t current_ = 0;      // The index of the current member, guarded by `mutex_`.
};

/// The effect of a request on data.
enum class Effect {
  reads,
  writes,       ///< The request changes data, and the client may repeat it.
  writes_once,  ///< The request changes data, and the client must not repeat it.
};

/// Sends a request to a member once. Returns std::nullopt for success.
using Attempt = std::function<std::optional<Failure>(std::size_t member)>;

/// Calls `attempt` for one member after another until a success, a failure of all members or the deadline.
[[nodiscard]] Result<void> retry(Members& members, Effect effect, Deadline deadline, const Attempt& attempt);

struct Probed {
  std::string prefix;
  std::uint64_t cluster_id = 0;  ///< The cluster's ID, or 0 if the member reports it only after a login.
};

/// Asks a member for its status below each known API prefix, the newest prefix first.
[[nodiscard]] Tried<Probed> probe(Transport& transport, const std::string& url, Deadline deadline);

}  // namespace rest_fcgi::etcd

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "etcd/failure.h"
#include "etcd/transport.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

/// Checks the options. Errors: configuration, for a malformed endpoint, for TLS files with an `http:`
/// endpoint, for a user name without a password, and for a password without a user name.
Result<void> check_options(const Options& options);

/// The members of an etcd cluster, with what the client knows about each member. Members is thread-safe.
class Members {
 public:
  /// `choose` skips a failed member for the time `kSkipped`. If all members failed, `choose` skips no member.
  static constexpr std::chrono::seconds kSkipped{3};

  explicit Members(const std::vector<std::string>& urls);

  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  [[nodiscard]] const std::string& url(std::size_t member) const { return members_[member].url; }

  /// Returns the index of the member that answered last. If this member failed within the last `kSkipped`
  /// seconds, returns the next member without such a failure. If all members have one, returns the member
  /// whose failure is the oldest.
  [[nodiscard]] std::size_t choose(SteadyTime now) const;

  void note_answer(std::size_t member);

  /// Records that a member failed. Forgets the member's API prefix, because the member may restart with
  /// another version of etcd.
  void note_failure(std::size_t member, SteadyTime now);

  /// Returns the path prefix of the member's API, such as `/v3`. Returns an empty text if the prefix is not
  /// known yet.
  [[nodiscard]] std::string prefix(std::size_t member) const;
  void set_prefix(std::size_t member, std::string prefix);

  /// Records the cluster ID in a member's reply, or nothing if `cluster_id` is 0. Returns true if the same
  /// member reported a different ID before: a new cluster has replaced the old cluster, and all tokens are
  /// invalid. Errors: configuration, if the IDs of two members differ.
  Result<bool> set_cluster(std::size_t member, std::uint64_t cluster_id);

 private:
  struct Member {
    std::string url;
    std::optional<SteadyTime> failed_at{};
    std::string prefix{};
    // The member's cluster ID, or 0 if unknown. `note_failure` keeps the ID, so that `set_cluster` can detect
    // a replaced cluster.
    std::uint64_t cluster_id = 0;
  };

  mutable Mutex mutex_;
  std::vector<Member> members_;  // `mutex_` guards all fields of the members except `url`.
  std::size_t current_ GUARDED_BY(mutex_) = 0;
};

/// The effect of a request on data.
enum class Effect {
  reads,
  writes,       ///< `writes` means a change that the client may repeat.
  writes_once,  ///< `writes_once` means a change that the client must not repeat.
};

/// Sends a request to a member once. Returns std::nullopt for success.
using Attempt = std::function<std::optional<Failure>(std::size_t member)>;

/// Calls `attempt` for one member after another until an attempt succeeds, all members have failed, another
/// attempt cannot help, or the deadline has passed.
Result<void> retry(Members& members, Effect effect, Deadline deadline, const Attempt& attempt);

struct Probed {
  std::string prefix;
  /// The ID of the member's cluster. The ID is 0 if the member shows it only after a login.
  std::uint64_t cluster_id = 0;
};

/// Finds the API prefix of a member. Asks the member for its status below each known prefix, beginning with
/// the newest prefix.
[[nodiscard]] Tried<Probed> probe(Transport& transport, const std::string& url, Deadline deadline);

}  // namespace rest_fcgi::etcd

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

/// Errors: configuration, for malformed endpoints, files of TLS with `http:`, and a username without a
/// password or a password without a username.
[[nodiscard]] Result<void> check_options(const Options& options);

/// The members of a cluster, by their index, and what is known of each. Thread-safe.
class Members {
 public:
  /// How long a failed member is not asked, unless all have failed.
  static constexpr std::chrono::seconds kSkipped{3};

  /// REQUIRES: urls is not empty.
  explicit Members(const std::vector<std::string>& urls);

  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  [[nodiscard]] const std::string& url(std::size_t member) const { return members_[member].url; }

  /// Returns the member to ask: the one that answered last, or the next one that did not fail recently. If
  /// all failed, it is the one whose failure is the oldest.
  [[nodiscard]] std::size_t choose(SteadyTime now) const;

  void note_answer(std::size_t member);

  /// Forgets the member's prefix, too: it may come back with another version of etcd.
  void note_failure(std::size_t member, SteadyTime now);

  /// Returns the prefix of the member's API, such as `/v3`; empty if it is not known.
  [[nodiscard]] std::string prefix(std::size_t member) const;
  void set_prefix(std::size_t member, std::string prefix);

  /// Notes the cluster that a member named; 0 is no name. Returns whether the member belonged to another
  /// cluster before: the cluster was replaced, and its tokens are void. Errors: configuration, if another
  /// member belongs to another cluster.
  [[nodiscard]] Result<bool> set_cluster(std::size_t member, std::uint64_t cluster_id);

 private:
  struct Member {
    std::string url;
    std::optional<SteadyTime> failed_at{};
    std::string prefix{};
    std::uint64_t cluster_id = 0;  // stays known after a failure
  };

  mutable std::mutex mutex_;
  std::vector<Member> members_;  // guarded by mutex_, but for the URLs
  std::size_t current_ = 0;      // guarded by mutex_
};

/// What a request does to the data, which decides whether it is repeated.
enum class Effect {
  reads,
  writes,       ///< in a way that may be repeated
  writes_once,  ///< the caller must know whether it was executed
};

/// One attempt at a member; absent: it succeeded.
using Attempt = std::function<std::optional<Failure>(std::size_t member)>;

/// Asks one member after another until one succeeds, no other would, or the deadline comes. Blocks.
[[nodiscard]] Result<void> retry(Members& members, Effect effect, Deadline deadline, const Attempt& attempt);

struct Probed {
  std::string prefix;            ///< of the member's API
  std::uint64_t cluster_id = 0;  ///< 0: the member tells it only after a login
};

/// Asks a member for its status, below each known prefix, the newest first.
[[nodiscard]] Tried<Probed> probe(Transport& transport, const std::string& url, Deadline deadline);

}  // namespace rest_fcgi::etcd

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

/// Errors: configuration, for an endpoint that is none or that goes without what the other options ask for.
[[nodiscard]] Result<void> check_endpoints(const Options& options);

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

}  // namespace rest_fcgi::etcd

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/kv.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

class Gateway;

/// When a call has to have come back.
using Deadline = std::chrono::steady_clock::time_point;

struct Lease {
  std::int64_t id = 0;
  std::int64_t ttl = 0;          ///< seconds that are left; -1 where there is no such lease (any more)
  std::int64_t granted_ttl = 0;  ///< seconds, as granted; the server may give more than was asked for
  std::vector<std::string> keys{};
};

struct Status {
  Header header;
  std::string version;
  std::int64_t db_size = 0;
  std::int64_t db_size_in_use = 0;
  std::uint64_t leader = 0;  ///< 0: no leader is known
  std::uint64_t raft_index = 0;
  std::uint64_t raft_term = 0;
  std::uint64_t raft_applied_index = 0;
  bool is_learner = false;
  std::vector<std::string> errors;
};

struct Member {
  std::uint64_t id = 0;
  std::string name;
  std::vector<std::string> peer_urls;
  std::vector<std::string> client_urls;
  bool is_learner = false;
};

/// What a call may do where a try's outcome is not known: the connection broke, or nothing was heard in time.
enum class Repeat {
  yes,  ///< twice is the same as once: ask the next member until the deadline
  no,   ///< tell the caller
};

/// A client for etcd's JSON gateway (API v3). Knows the members, which prefix of the API they speak, and
/// holds kept connections and a token; a call goes to the member that answered last, and on to the next one
/// where that one fails. Thread-safe; a call blocks its own thread only.
///
/// Errors of every call: unavailable (no member answered so far; what each one said is in the message),
/// timeout (one may have carried the request out: its outcome is not known), authentication (the cluster
/// does not take the user's name and password), authorization (the user may not do that), not_found (no such
/// lease), invocation (the cluster refuses the request as it is: too large, too many operations, compacted
/// revision), configuration (the endpoints are of different clusters, or a certificate is none), internal (an
/// answer that is none, or one to another question). No message holds a password, a token, or a value.
class Client {
 public:
  /// Opens no connection. Errors: configuration, for endpoints that are none, for a certificate that cannot
  /// be read, for one of a pair without the other.
  [[nodiscard]] static Result<std::unique_ptr<Client>> make(Options options);

  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] Result<RangeReply> range(const RangeRequest& request, Deadline deadline);
  Result<PutReply> put(const PutRequest& request, Deadline deadline);
  Result<DeleteRangeReply> delete_range(const DeleteRangeRequest& request, Deadline deadline);
  Result<TxnReply> txn(const TxnRequest& request, Deadline deadline, Repeat repeat);
  Result<Header> compact(std::int64_t revision, bool physical, Deadline deadline);

  /// `id` 0: one is chosen here, so that a grant whose answer was lost is not granted twice. A lease of that
  /// id that is there already is told as it stands.
  Result<Lease> lease_grant(std::chrono::seconds ttl, std::int64_t id, Deadline deadline);
  Result<void> lease_revoke(std::int64_t id, Deadline deadline);
  /// Renews it once. Errors: not_found, where it is gone.
  Result<Lease> lease_keep_alive(std::int64_t id, Deadline deadline);
  [[nodiscard]] Result<Lease> lease_time_to_live(std::int64_t id, bool with_keys, Deadline deadline);
  [[nodiscard]] Result<std::vector<std::int64_t>> lease_leases(Deadline deadline);

  /// Of the member that the client talks to now.
  [[nodiscard]] Result<Status> status(Deadline deadline);
  [[nodiscard]] Result<std::vector<Member>> member_list(Deadline deadline);

 private:
  friend class Watcher;
  explicit Client(std::unique_ptr<Gateway> gateway);
  std::unique_ptr<Gateway> gateway_;
};

/// Asks the members, by `deadline`, whether they have API v3. Returns what one said that answers and does not
/// have it; absent where a member has it, or none answers.
[[nodiscard]] std::optional<std::string> missing_api_v3(const Options& options, Deadline deadline);

}  // namespace rest_fcgi::etcd

// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::etcd {
class Client;
}

namespace rest_fcgi::auth {

struct TokensInEtcd;

/// A request with the header Idempotency-Key, and its reply. The key and the request's body are not stored.
struct KeyedRequest {
  std::string id;       ///< `id` is a hash of the user and the key.
  std::string content;  ///< `content` is a hash of the method, URL and body, with the key of the request.
  std::string user;     ///< `user` is the user with the back end.
  std::string jids{};   ///< `jids` are the ids of the first jobs of the chunks, separated by commas.
  int status = 0;       ///< The HTTP status of the reply. 0 if the reply is not known or not kept.
  std::string type{};   ///< The Content-Type of the reply.
  std::string body{};   ///< The body of the reply.
  // `RequestKeys::claim` sets these members.
  WallTime made{};         ///< The time of the claim.
  WallTime until{};        ///< The request does not run after `until`.
  std::int64_t lease = 0;  ///< The id of the lease in etcd.
};

/// Returns a request without jids, times and reply. `url` is the method with the URL.
[[nodiscard]] KeyedRequest make_keyed_request(std::string_view user, std::string_view key,
                                              std::string_view url, std::string_view body);

/// Remembers requests with the header Idempotency-Key for a day, so that a repeated request does not run
/// again. Keeps at most 10,000 requests a user and 100 MB of replies, the newest ones. Thread-safe.
class RequestKeys {
 public:
  static constexpr std::size_t kMostReply = std::size_t{1} << 20;  ///< The largest reply that is kept.

  /// Remembers requests in the store. `clock` must outlive the object.
  RequestKeys(std::shared_ptr<store::Store> store, const Clock& clock);

  /// Shares the requests with other hosts in an etcd cluster with API v3. The bounds then hold for the
  /// requests of each host. REQUIRES: no other call was made. Errors: configuration.
  Result<void> share(const TokensInEtcd& options);

  /// Claims the key for a request that is about to run, and returns std::nullopt. Such a claim survives a
  /// power cut. After it, the caller calls `keep` or `release`. If an earlier request has claimed the key,
  /// waits for its end until the deadline, and returns it with its reply. Errors: key_reused, if the earlier
  /// request had another content; timeout, if it still runs; conflict, if it may have run, but its reply is
  /// not known; unavailable.
  Result<std::optional<KeyedRequest>> claim(KeyedRequest& request, SteadyTime deadline);

  /// Keeps the reply to a request that may have run.
  void keep(KeyedRequest& request);

  /// Forgets a request of which nothing ran, so that its repetition runs.
  void release(const KeyedRequest& request);

  std::atomic<std::int64_t> replays{0};    ///< `replays` counts the replies that were sent again.
  std::atomic<std::int64_t> conflicts{0};  ///< `conflicts` counts the requests that got 409 or 422.

 private:
  Result<std::optional<KeyedRequest>> find(const KeyedRequest& request);
  Result<bool> put(KeyedRequest& request);
  Result<bool> put_in_etcd(KeyedRequest& request);
  [[nodiscard]] std::string text_of(const KeyedRequest& request) const;
  [[nodiscard]] KeyedRequest read(std::string_view text) const;

  const std::shared_ptr<store::Store> store_;
  const Clock& clock_;
  std::shared_ptr<etcd::Client> etcd_;  // Null if only the store has the requests.
  std::string folder_;
  const std::string process_;
  store::Store::Registration expiry_;
};

}  // namespace rest_fcgi::auth

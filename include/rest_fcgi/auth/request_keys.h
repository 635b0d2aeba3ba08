// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::store {
class Store;
}

namespace rest_fcgi::auth {

struct TokensInEtcd;

/// A request with the header Idempotency-Key. The key itself and the body are not stored.
struct KeyedRequest {
  std::string id;          ///< `id` is a hash of the user and the key.
  std::string content;     ///< `content` is a hash of the method, URL and body, with the key of the request.
  std::string user;        ///< `user` is the user with the back end.
  std::string jids{};      ///< `jids` are the ids of the first jobs of the chunks, separated by commas.
  WallTime until{};        ///< After `until`, the request cannot run any more.
  WallTime made{};         ///< `made` is the time of the claim. `RequestKeys::claim` sets it.
  std::int64_t lease = 0;  ///< `lease` is the id of the lease in etcd. `RequestKeys::claim` sets it.
};

/// Returns a request without jids and times. `url` is the method with the URL.
[[nodiscard]] KeyedRequest make_keyed_request(std::string_view user, std::string_view key,
                                              std::string_view url, std::string_view body);

struct KeptReply {
  int status = 0;  ///< The HTTP status, or 0 for a reply that is not kept.
  std::string type{};
  std::string body{};
};

/// What `RequestKeys::claim` has found about a request.
struct Claim {
  enum class State {
    is_new,         ///< The request is the first with its key, and has to run.
    other_content,  ///< Another request had the key.
    runs,           ///< The first request still runs.
    may_have_run,   ///< The first request may have run, but its reply is not known.
    has_reply,      ///< `reply` is the reply to the first request.
  };
  State state = State::is_new;
  std::string jids{};  ///< `jids` are the jids of the first request.
  KeptReply reply{};
};

/// Remembers requests with the header Idempotency-Key for a day, so that a repeated request does not run
/// again. Keeps at most 10,000 requests a user and 100 MB in all, the newest ones. Thread-safe.
class RequestKeys {
 public:
  static constexpr std::size_t kMostReply = std::size_t{1} << 20;  ///< The largest reply that is kept.

  virtual ~RequestKeys() = default;

  /// Claims the key for a request that is about to run, if no earlier request has claimed it. Such a claim
  /// survives a power cut. After it, the caller calls `keep` or `release`. Errors: unavailable.
  virtual Result<Claim> claim(KeyedRequest& request) = 0;

  /// Keeps the reply to a request that may have run.
  virtual void keep(const KeyedRequest& request, const KeptReply& reply) = 0;

  /// Forgets a request of which nothing ran, so that its repetition runs.
  virtual void release(const KeyedRequest& request) = 0;

  std::atomic<std::int64_t> replays{0};    ///< `replays` counts the replies that were sent again.
  std::atomic<std::int64_t> conflicts{0};  ///< `conflicts` counts the requests that got 409 or 422.
};

/// Remembers requests in the table `request_key` of the store. `clock` must outlive the object.
[[nodiscard]] std::shared_ptr<RequestKeys> request_keys_in_store(std::shared_ptr<store::Store> store,
                                                                 const Clock& clock);

/// Remembers requests in an etcd cluster with API v3, so that several hosts share them. The bounds hold for
/// the requests of each host. Errors: configuration.
Result<std::shared_ptr<RequestKeys>> request_keys_in_etcd(const TokensInEtcd& options,
                                                          std::shared_ptr<store::Store> store,
                                                          const Clock& clock);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rest_fcgi/auth/request_keys.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

/// A remembered request. `status` is 0 while the request runs, and 1 if its reply is not kept.
struct RequestRecord {
  static constexpr int kRuns = 0;
  static constexpr int kNotKept = 1;

  std::string content;
  std::string jids;
  bool is_owner_gone = false;
  WallTime until;
  KeptReply reply;
};

/// Returns what a repeated request finds if the first request has left `record`.
[[nodiscard]] Claim claim_of(RequestRecord record, const KeyedRequest& request, WallTime now);

inline constexpr std::chrono::hours kRequestLife{24};

/// The table `request_key` of the store.
class RequestTable final : public RequestKeys {
 public:
  /// A function that gets the ids of requests that were forgotten because of the bounds.
  using Forget = std::function<void(const std::vector<std::string>& ids)>;

  /// If `forget` is not null, the replies are stored elsewhere, and the table has only their sizes.
  RequestTable(std::shared_ptr<store::Store> store, const Clock& clock, Forget forget = nullptr);

  Result<Claim> claim(KeyedRequest& request) override;
  void keep(const KeyedRequest& request, const KeptReply& reply) override;
  void release(const KeyedRequest& request) override;

 private:
  Result<bool> insert(store::Connection& connection, const KeyedRequest& request,
                      std::vector<std::string>& forgotten) const;
  Result<std::optional<RequestRecord>> find(store::Connection& connection, const KeyedRequest& request) const;
  void remove_expired();

  const std::shared_ptr<store::Store> store_;
  const Clock& clock_;
  const Forget forget_;
  const pid_t pid_;
  const std::int64_t start_;
  unsigned ticks_ = 0;  // Only the store's thread uses it.
  store::Store::Registration expiry_;
};

}  // namespace rest_fcgi::auth

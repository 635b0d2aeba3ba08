// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <mutex>

#include "etcd/gateway_error.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

/// What a login gave; empty where the cluster has no users. Never null.
using Token = std::shared_ptr<const Secret>;

/// Errors: configuration, for a username without a password, or the other way round.
[[nodiscard]] Result<void> check_user(const Options& options);

/// Keeps the token that all calls use, and has it fetched once however many ask for it. A login that failed
/// is told to all who wait for it, and not remembered. Thread-safe.
class Login {
 public:
  using Fetch = std::function<Tried<Token>()>;

  /// The token; `fetch` runs in this thread where there is none and no other thread fetches one. A failure
  /// whose remedy is another member: the other thread's fetch did not come back until `deadline`.
  [[nodiscard]] Tried<Token> token(const Fetch& fetch, Deadline deadline);

  /// It does not hold any more; nothing happens where there is a newer one.
  void refused(const Token& token);

  /// The cluster that gave it is gone.
  void forget();

 private:
  std::mutex mutex_;
  Token token_;                               // guarded by mutex_
  std::shared_future<Tried<Token>> pending_;  // guarded by mutex_
};

}  // namespace rest_fcgi::etcd

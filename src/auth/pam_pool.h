// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "auth/pam_helper.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// The helpers, as many as are asked at a time, up to `max_helpers`. Each is started when it is needed and
/// kept; one that ended is replaced, and one that does not answer in time is ended. Thread-safe.
class PamPool {
 public:
  explicit PamPool(PamOptions options) : options_(std::move(options)) {}

  /// Waits for a helper and for its answer, `timeout` in all. Errors: unavailable, where there is none, or
  /// too many wait already; timeout; internal.
  [[nodiscard]] Result<pam::Answer> ask(const pam::Request& request);

 private:
  using MaybeHelper = std::optional<PamHelper>;

  /// Leave to ask one helper: one that stands, or a new one. Errors: unavailable, timeout.
  Result<MaybeHelper> take(SteadyTime deadline);
  void give_back(MaybeHelper helper);
  Result<pam::Answer> ask_one(MaybeHelper& helper, const WipedBytes& frame, SteadyTime deadline) const;

  const PamOptions options_;
  std::mutex mutex_;
  std::condition_variable returned_;
  // guarded by mutex_
  std::vector<PamHelper> idle_;
  std::size_t busy_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace rest_fcgi::auth

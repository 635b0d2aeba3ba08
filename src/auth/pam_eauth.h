// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/auth/pam_wire.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/helper_process.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// Processes of rest_fcgi_pam, as many as are asked at a time. Each answers one request after the other, is
/// started when it is needed and kept; one that ended is replaced, and one that does not answer in time is
/// ended. Thread-safe.
class PamPool {
 public:
  explicit PamPool(PamOptions options) : options_(std::move(options)) {}

  /// Waits for a helper's answer, `timeout` at most. Errors: unavailable, where there is no helper; timeout,
  /// where one was asked; not_found, where one that was just started ended without a look at it; internal.
  [[nodiscard]] Result<pam::Answer> ask(const pam::Request& request);

 private:
  const PamOptions options_;
  std::mutex mutex_;
  std::vector<HelperProcess> idle_;  // guarded by mutex_
};

/// How long refusals take. What PAM's modules do for a user who does not exist, or who is locked, takes
/// another time than a wrong password. So a refusal takes whole quarters of a second, and as many as any one
/// took before, up to four seconds; beyond that it takes whole times four seconds. Thread-safe.
class RefusalTime {
 public:
  /// From when PAM was asked until the answer; `passed`: until PAM refused.
  [[nodiscard]] SteadyTime::duration of(SteadyTime::duration passed);

 private:
  std::atomic<std::int64_t> kept_{1};  // steps
};

}  // namespace rest_fcgi::auth

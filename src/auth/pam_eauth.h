// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/auth/pam_wire.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/helper_process.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// One rest_fcgi_pam: a process of ours, or one behind a socket that an init system started for this
/// connection. It answers one request at a time. What we started ends when this goes, with all of its process
/// group. Moves; not synchronized.
class PamHelper {
 public:
  /// `helper` is the program's path, or `unix:PATH`. Errors: unavailable, with the cause.
  static Result<PamHelper> start(const std::string& helper, SteadyTime deadline);

  /// Sends a frame and waits for the answer, by the clock of this host. After an error it is good for nothing
  /// more. Errors: not_found, where it ended before it had all of the frame; timeout; internal.
  [[nodiscard]] Result<pam::Answer> ask(const WipedBytes& frame, SteadyTime deadline);

 private:
  explicit PamHelper(HelperProcess process) : process_(std::move(process)) {}
  Result<void> wait_for(short event, SteadyTime deadline) const;
  Result<void> send(std::string_view bytes, SteadyTime deadline) const;
  Result<WipedBytes> receive(std::size_t size, SteadyTime deadline) const;

  HelperProcess process_;
};

/// The helpers, as many as are asked at a time. Each is started when it is needed and kept; one that ended is
/// replaced, and one that does not answer in time is ended. Thread-safe.
class PamPool {
 public:
  explicit PamPool(PamOptions options) : options_(std::move(options)) {}

  /// Waits for a helper's answer, `timeout` at most. Errors: unavailable, where there is no helper; timeout,
  /// where one was asked; not_found, where one that was just started ended without a look at it; internal.
  [[nodiscard]] Result<pam::Answer> ask(const pam::Request& request);

 private:
  using MaybeHelper = std::optional<PamHelper>;

  MaybeHelper take();
  void give_back(PamHelper helper);
  Result<pam::Answer> ask_one(MaybeHelper& helper, const WipedBytes& frame, SteadyTime deadline) const;

  const PamOptions options_;
  std::mutex mutex_;
  std::vector<PamHelper> idle_;  // guarded by mutex_
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

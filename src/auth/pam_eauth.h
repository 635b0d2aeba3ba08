// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
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

/// The helpers, as many as are asked at a time, up to `max_helpers`. Each is started when it is needed and
/// kept; one that ended is replaced, and one that does not answer in time is ended. Thread-safe.
class PamPool {
 public:
  explicit PamPool(PamOptions options) : options_(std::move(options)) {}

  /// Waits for a helper and for its answer, `timeout` in all. Errors: unavailable, where there is none, or
  /// too many wait already, or for too long; timeout, where one was asked; internal.
  [[nodiscard]] Result<pam::Answer> ask(const pam::Request& request);

 private:
  using MaybeHelper = std::optional<PamHelper>;

  /// Leave to ask one helper: one that stands, or a new one. Errors: unavailable.
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

// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "rest_fcgi/auth/authenticator.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/embedded/options.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returner.h"

/// The embedded engine: minions in this process, no Salt needed.
namespace rest_fcgi::embedded {

/// What outlives a reload of the configuration: worker threads, running jobs, job ids, the job cache.
/// Thread-safe.
class Runtime {
 public:
  virtual ~Runtime() = default;

  /// Takes no more work, waits for what runs until `deadline`, then asks it to stop and records what did not
  /// end by itself as interrupted. Returns how many calls that were. Call once, before the last reference
  /// goes.
  virtual std::size_t shutdown(SteadyTime deadline) = 0;
};

/// Starts no thread before there is work for it.
[[nodiscard]] std::shared_ptr<Runtime> make_runtime(const Options& options,
                                                    std::unique_ptr<returner::Returner> job_cache,
                                                    const Clock& clock);

/// A master over `runtime`, which all masters of one process share: a reload makes a new master, and jobs go
/// on. Errors: configuration, such as two minions of the same id.
[[nodiscard]] Result<std::shared_ptr<master::Master>> make_master(
    const Options& options, std::unique_ptr<auth::Authenticator> authenticator,
    std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<Runtime> runtime);

}  // namespace rest_fcgi::embedded

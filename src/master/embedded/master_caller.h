// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "master/embedded/master_job.h"
#include "master/embedded/runtime.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::embedded {

/// Runs runners and wheels that were permitted. Thread-safe.
class MasterCaller {
 public:
  using Mailbox = std::shared_ptr<master::RunnerReturns>;

  MasterCaller(std::shared_ptr<const MasterFacts> facts, std::shared_ptr<EmbeddedRuntime> runtime)
      : facts_(std::move(facts)), runtime_(std::move(runtime)) {}

  /// A quick runner has returned when this comes back; others return from a worker thread, and to the job
  /// cache, too, since their caller may have gone by then. Errors: unavailable, internal.
  [[nodiscard]] Result<master::Started> runner(const lowstate::Function& call, std::string_view user,
                                               const Mailbox& returns);

  /// Runs on a worker thread, and returns to the job cache. Errors: unavailable, internal.
  [[nodiscard]] Result<master::Started> start(MasterJob::Form form, const lowstate::Function& call,
                                              std::string_view user);

  /// Errors: internal.
  [[nodiscard]] Result<master::WheelReply> wheel(const lowstate::Function& call, std::string_view user);

 private:
  [[nodiscard]] Result<master::Started> run_on_worker(std::shared_ptr<MasterJob> job, const Mailbox& returns);

  const std::shared_ptr<const MasterFacts> facts_;
  const std::shared_ptr<EmbeddedRuntime> runtime_;
};

}  // namespace rest_fcgi::embedded

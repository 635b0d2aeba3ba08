// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "master/embedded/jobs/jobs.h"
#include "master/embedded/runners/master_function.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/lowstate/master_arguments.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/master/workers.h"

namespace rest_fcgi::embedded {

class MasterJob;

/// Runs runners and wheels that were permitted. Thread-safe.
class MasterCaller {
 public:
  using Mailbox = std::shared_ptr<master::RunnerReturns>;

  /// One call of a runner or wheel, with arguments of its own.
  struct Order {
    auth::Form form = auth::Form::runner;
    std::string_view name;
    std::string_view user;
    std::shared_ptr<const lowstate::MasterArguments> arguments;
  };

  /// `workers` has to outlive it.
  MasterCaller(std::shared_ptr<const MasterFacts> facts, std::shared_ptr<Jobs> jobs, master::Workers& workers)
      : facts_(std::move(facts)), jobs_(std::move(jobs)), workers_(workers) {}

  /// A quick runner has returned when this comes back; others return from a worker thread, and to the job
  /// cache, too, since their caller may have gone by then. Errors: unavailable, internal.
  [[nodiscard]] Result<master::Started> run(const Order& order, const Mailbox& returns);

  /// Runs on a worker thread, and returns to the job cache. Errors: unavailable, internal.
  [[nodiscard]] Result<master::Started> run_async(const Order& order);

  /// Runs a wheel to its end.
  [[nodiscard]] master::WheelReply wheel(const Order& order);

 private:
  [[nodiscard]] Result<master::Started> run_on_worker(std::shared_ptr<MasterJob> job, const Mailbox& returns);

  const std::shared_ptr<const MasterFacts> facts_;
  const std::shared_ptr<Jobs> jobs_;
  master::Workers& workers_;
};

}  // namespace rest_fcgi::embedded

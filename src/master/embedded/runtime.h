// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "master/embedded/jobs/jobs.h"
#include "rest_fcgi/master/embedded/embedded.h"
#include "rest_fcgi/master/workers.h"

namespace rest_fcgi::embedded {

/// The only Runtime there is. Tasks on the workers share `jobs`, never this object, which waits for them as
/// it goes.
class EmbeddedRuntime : public Runtime {
 public:
  EmbeddedRuntime(const Options& options, std::unique_ptr<returner::Returners> returners, const Clock& clock,
                  std::unique_ptr<ProcDir> proc);

  std::size_t shutdown(SteadyTime deadline) override;

  [[nodiscard]] const std::shared_ptr<Jobs>& jobs() const noexcept { return jobs_; }
  [[nodiscard]] master::Workers& workers() noexcept { return workers_; }

 private:
  const std::shared_ptr<Jobs> jobs_;
  master::Workers workers_;
};

[[nodiscard]] master::Workers::Limits worker_limits(const Options& options);

}  // namespace rest_fcgi::embedded

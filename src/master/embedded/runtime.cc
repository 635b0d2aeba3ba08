// SPDX-License-Identifier: MIT
#include "master/embedded/runtime.h"

#include <utility>

namespace rest_fcgi::embedded {

Workers::Limits worker_limits(const Options& options) {
  return {options.max_workers, options.max_queued};
}

EmbeddedRuntime::EmbeddedRuntime(const Options& options, std::unique_ptr<returner::Returner> job_cache,
                                 const Clock& clock)
    : jobs_(std::make_shared<Jobs>(std::move(job_cache), clock)), workers_(worker_limits(options)) {}

std::size_t EmbeddedRuntime::shutdown(SteadyTime deadline) {
  if (workers_.close(deadline)) return 0;
  // Before they are asked to stop: what they say then is not what was asked for, and comes too late to count.
  const std::size_t interrupted = jobs_->running().interrupt_all();
  workers_.stop();
  return interrupted;
}

std::shared_ptr<Runtime> make_runtime(const Options& options, std::unique_ptr<returner::Returner> job_cache,
                                      const Clock& clock) {
  return std::make_shared<EmbeddedRuntime>(options, std::move(job_cache), clock);
}

}  // namespace rest_fcgi::embedded

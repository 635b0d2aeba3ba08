// SPDX-License-Identifier: MIT
#include "master/embedded/runtime.h"

#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

master::Workers::Limits worker_limits(const Options& options) {
  return {options.max_workers, options.max_queued};
}

EmbeddedRuntime::EmbeddedRuntime(const Options& options, std::unique_ptr<returner::Returners> returners,
                                 const Clock& clock, std::unique_ptr<ProcDir> proc)
    : jobs_(std::make_shared<Jobs>(std::move(returners), clock, std::move(proc), options.max_queued_bytes,
                                   options.jid_share)),
      workers_(worker_limits(options)) {}

std::size_t EmbeddedRuntime::shutdown(SteadyTime deadline) {
  std::size_t interrupted = 0;
  if (!workers_.close(deadline)) {
    // Before they are asked to stop: what they say then is not what was asked for, and comes too late to
    // count.
    interrupted = jobs_->interrupt_all();
    workers_.stop();
  }
  if (const Result<void> flushed = jobs_->returners().flush(); !flushed) log::error(flushed.error().message);
  return interrupted;
}

namespace {

/// Null where there is none, and where nobody asked for the one that cannot be had.
Result<std::unique_ptr<ProcDir>> open_proc_dir(const Options& options) {
  if (options.proc_dir.empty()) return std::unique_ptr<ProcDir>();
  Result<std::unique_ptr<ProcDir>> opened = ProcDir::open(options.proc_dir);
  if (opened || !options.proc_dir_is_default) return opened;
  log::warning(format("jobs of other processes are not seen: {}", opened.error().message));
  return std::unique_ptr<ProcDir>();
}

}  // namespace

Result<std::shared_ptr<Runtime>> make_runtime(const Options& options,
                                              std::unique_ptr<returner::Returners> returners,
                                              const Clock& clock) {
  Result<std::unique_ptr<ProcDir>> proc = open_proc_dir(options);
  if (!proc) return std::move(proc).error();
  return std::shared_ptr<Runtime>(
      std::make_shared<EmbeddedRuntime>(options, std::move(returners), clock, *std::move(proc)));
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::returner {

/// Makes the job cache in a store's tables `job` and `job_return`. Each call is one transaction. Once a
/// second the oldest jobs go: those that `keep_jobs_seconds` ends, and those beyond `max_bytes` of the
/// database. Both arguments must outlive it. Jids are 20 digits, and begin with a year from 1100 to 2899;
/// `save_load`, `save_job` and `prep_jid` refuse others: invocation.
[[nodiscard]] std::unique_ptr<Returner> make_store_returner(std::shared_ptr<store::Store> store,
                                                            std::chrono::seconds keep_jobs,
                                                            std::size_t max_bytes, const Clock& clock);

}  // namespace rest_fcgi::returner

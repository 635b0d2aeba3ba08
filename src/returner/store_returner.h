// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::returner {

/// Makes the job cache in the tables `job` and `job_return`. Each call is one transaction. Once a second it
/// deletes jobs older than `keep_jobs`, and the oldest jobs beyond `max_bytes` of the database. The clock
/// must outlive it. `save_load`, `save_job` and `prep_jid` refuse jids without a key: invocation.
[[nodiscard]] std::unique_ptr<Returner> make_store_returner(std::shared_ptr<store::Store> store,
                                                            std::chrono::seconds keep_jobs,
                                                            std::size_t max_bytes, const Clock& clock);

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::returner {

/// Makes the job cache in the tables `job` and `job_return` of the store. Each call is one transaction. Once
/// a second the cache deletes jobs that are older than `keep_jobs`. If the database is larger than
/// `max_bytes`, the cache also deletes the oldest jobs. The clock must outlive the cache. `save_load`,
/// `save_job` and `prep_jid` refuse a jid without a key with the error invocation.
[[nodiscard]] std::unique_ptr<Returner> make_store_returner(std::shared_ptr<store::Store> store,
                                                            std::chrono::seconds keep_jobs,
                                                            std::size_t max_bytes, const Clock& clock);

}  // namespace rest_fcgi::returner

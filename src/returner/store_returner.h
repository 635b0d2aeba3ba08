// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::returner {

/// Makes the job cache in the tables `job` and `job_return` of the store. Each call is one transaction. Once
/// a second, the job cache deletes jobs older than `keep_jobs`, and the oldest jobs above `max_bytes`. The
/// clock must outlive the job cache. The functions that write a jid return the error invocation, for a jid
/// that `key_of` refuses.
[[nodiscard]] std::unique_ptr<Returner> make_store_returner(std::shared_ptr<store::Store> store,
                                                            std::chrono::seconds keep_jobs,
                                                            std::size_t max_bytes, const Clock& clock);

}  // namespace rest_fcgi::returner

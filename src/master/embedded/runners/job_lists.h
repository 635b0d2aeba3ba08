// SPDX-License-Identifier: MIT
#pragma once

#include "master/embedded/runners/master_function.h"

/// The `jobs` runners that look for jobs, one file of their own as they all walk over the job cache.
namespace rest_fcgi::embedded::job_lists {

[[nodiscard]] Result<Json> list_jobs(const MasterContext& context, const BoundArguments& arguments);
[[nodiscard]] Result<Json> list_jobs_filter(const MasterContext& context, const BoundArguments& arguments);
[[nodiscard]] Result<Json> last_run(const MasterContext& context, const BoundArguments& arguments);

}  // namespace rest_fcgi::embedded::job_lists

// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/jobs/jobs.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/returner.h"

/// What the `jobs` runners show of a job that is kept, in Salt's words.
namespace rest_fcgi::embedded {

/// A job as it was found again.
struct StoredJob {
  returner::Load load;
  std::vector<returner::JobReturn> returns;
};

/// The job cache that `ext_source` names; left out, it is the one of `master_job_cache`.
/// Errors: invocation, naming those that are here.
[[nodiscard]] Result<const returner::Returner*> source_named(const Jobs& jobs, JsonValue ext_source);

/// Absent where it is not kept. Errors: those of the job cache.
[[nodiscard]] Result<std::optional<StoredJob>> find_stored(const returner::Returner& cache,
                                                           std::string_view jid);

// Each writes members into an object that is open.
void write_description(JsonWriter& writer, const returner::Load& load);
void write_minions(JsonWriter& writer, const returner::Load& load);
void write_start_time(JsonWriter& writer, std::string_view jid);
void write_no_such_job(JsonWriter& writer);
/// `Result`.
void write_result(JsonWriter& writer, const std::vector<returner::JobReturn>& returns);

/// What `jobs.print_job` shows.
[[nodiscard]] Json printed(const StoredJob& job);

/// `data` as it is, or below the name of the outputter that is to show it, where that is not empty.
[[nodiscard]] Json with_outputter(std::string_view outputter, std::string data);

}  // namespace rest_fcgi::embedded

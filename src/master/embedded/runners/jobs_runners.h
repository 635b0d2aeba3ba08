// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/runners/master_function.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/returner.h"

/// The parts of the `jobs` runners: those about one job, and those that search the job cache, show jobs in
/// the same words.
namespace rest_fcgi::embedded {

/// A job as the job cache keeps it.
struct StoredJob {
  returner::Load load;
  std::vector<returner::JobReturn> returns;
};

/// The job cache that `ext_source` names; left out, it is the one of `master_job_cache`.
/// Errors: invocation, naming those that are here.
[[nodiscard]] Result<const returner::Returner*> source_named(const Jobs& jobs, JsonValue ext_source);

/// Writes the members Function, Arguments, Target, Target-type, User and Metadata into an object that is
/// open.
void write_description(JsonWriter& writer, const returner::Load& load);

/// Same for StartTime.
void write_start_time(JsonWriter& writer, std::string_view jid);

/// What `jobs.print_job` shows.
[[nodiscard]] Json printed(const StoredJob& job);

/// `data` as it is, or below the name of the outputter that is to show it, where that is not empty.
[[nodiscard]] Json with_outputter(std::string_view outputter, Json data);

// The runners that search: each ends after a few seconds, and when what it found is too much to be returned.
// Patterns and what they are compared with both come from callers, who can make a search costly.
[[nodiscard]] Result<Json> list_jobs(const MasterContext& context, const Bound& arguments);
[[nodiscard]] Result<Json> list_jobs_filter(const MasterContext& context, const Bound& arguments);
[[nodiscard]] Result<Json> last_run(const MasterContext& context, const Bound& arguments);

/// What `parse_time` reads, for a message.
inline constexpr std::string_view kTimeForms =
    "a jid, 'YYYY-MM-DD' or 'YYYY, Mon DD', each of the latter also with 'HH:MM', 'HH:MM:SS' or "
    "'HH:MM:SS.ffffff' behind";

/// A point in time in UTC, as callers name it to `jobs.list_jobs`; absent where the text has none of
/// `kTimeForms`.
[[nodiscard]] std::optional<WallTime> parse_time(std::string_view text);

}  // namespace rest_fcgi::embedded

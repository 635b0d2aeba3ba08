// SPDX-License-Identifier: MIT
#include "master/embedded/runners/job_lists.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "master/embedded/python/python.h"
#include "master/embedded/runners/job_filter.h"
#include "master/embedded/runners/stored_job.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded::job_lists {

namespace {

constexpr std::int64_t kMostJobs = 1'000'000;

/// A number of jobs from 1 on.
Result<std::size_t> read_count(std::string_view name, JsonValue value) {
  const auto count = value.is(JsonValue::Kind::string) ? python_int(value.text()) : value.integer();
  if (count && *count >= 1 && *count <= kMostJobs) return static_cast<std::size_t>(*count);
  return Error{ErrorKind::invocation, format("{} must be a number of jobs from 1 to {}, found {}", name,
                                             kMostJobs, value.python_repr())};
}

using Passes = std::function<bool(const returner::Load&)>;

/// The first `count` jobs on the way of the query that pass, oldest first.
Result<std::vector<returner::Load>> collect(const returner::Returner& cache, const returner::JobQuery& query,
                                            std::size_t count, const Passes& passes) {
  std::vector<returner::Load> found;
  Result<void> walked = cache.get_jids(query, [&](const returner::Load& load) {
    if (passes(load)) found.push_back(load);
    return found.size() < count;
  });
  if (!walked) return std::move(walked).error();
  if (query.newest_first) std::reverse(found.begin(), found.end());
  return found;
}

/// Same for those that pass a filter.
Result<std::vector<returner::Load>> collect(const returner::Returner& cache, const returner::JobQuery& query,
                                            std::size_t count, const JobFilter& filter) {
  bool late = false;
  auto jobs = collect(cache, query, count, [&](const returner::Load& load) {
    late = late || filter.is_late();
    return !late && filter.passes(load);
  });
  if (!late) return jobs;
  return Error{ErrorKind::timeout,
               "The search took too long; 'limit', 'after', 'before', 'start_time' and 'end_time' narrow it"};
}

void write_listed(JsonWriter& writer, const returner::Load& load) {
  writer.key(load.jid).begin_object();
  write_description(writer, load);
  write_start_time(writer, load.jid);
  writer.end_object();
}

std::string outputter_named(JsonValue value) {
  return python_bool(value) ? value.python_str() : std::string();
}

}  // namespace

Result<Json> list_jobs(const MasterContext& context, const BoundArguments& arguments) {
  const std::vector<JsonValue>& given = arguments.values;
  const Result<const returner::Returner*> source = source_named(context.jobs, given[0]);
  if (!source) return source.error();
  const Result<JobFilter> filter =
      JobFilter::make({given[2], given[3], given[4], given[5], given[6], given[8], given[9]});
  if (!filter) return filter.error();
  returner::JobQuery query = filter->query();
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  if (!given[10].is(JsonValue::Kind::null)) {
    const Result<std::size_t> read = read_count("limit", given[10]);
    if (!read) return read.error();
    limit = *read;
    query.newest_first = !python_bool(given[8]);
  }
  const auto jobs = collect(**source, query, limit, *filter);
  if (!jobs) return jobs.error();
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const returner::Load& load : *jobs) write_listed(writer, load);
  writer.end_object();
  return with_outputter(outputter_named(given[1]), std::move(text));
}

Result<Json> list_jobs_filter(const MasterContext& context, const BoundArguments& arguments) {
  const std::vector<JsonValue>& given = arguments.values;
  const Result<std::size_t> count = read_count("count", given[0]);
  if (!count) return count.error();
  const Result<const returner::Returner*> source = source_named(context.jobs, given[2]);
  if (!source) return source.error();
  const bool without_find_job = given[1].is(JsonValue::Kind::null) || python_bool(given[1]);
  const auto jobs =
      collect(**source, {.newest_first = true}, *count, [without_find_job](const returner::Load& load) {
        return !without_find_job || load.fun.text() != "\"saltutil.find_job\"";
      });
  if (!jobs) return jobs.error();
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const returner::Load& load : *jobs) {
    writer.begin_object();
    write_description(writer, load);
    writer.key("JID").string(load.jid);
    write_start_time(writer, load.jid);
    writer.end_object();
  }
  writer.end_array();
  return with_outputter(outputter_named(given[3]), std::move(text));
}

Result<Json> last_run(const MasterContext& context, const BoundArguments& arguments) {
  const std::vector<JsonValue>& given = arguments.values;
  const Result<const returner::Returner*> source = source_named(context.jobs, given[0]);
  if (!source) return source.error();
  if (python_bool(given[2]) && !given[2].is(JsonValue::Kind::object)) return Json::boolean(false);
  const Result<JobFilter> filter =
      JobFilter::make({.metadata = given[2], .function = given[3], .target = given[4]});
  if (!filter) return filter.error();
  returner::JobQuery query = filter->query();
  query.newest_first = true;
  const auto jobs = collect(**source, query, 1, *filter);
  if (!jobs) return jobs.error();
  if (jobs->empty()) return Json::boolean(false);
  const returner::Load& load = jobs->front();
  const Result<std::vector<returner::JobReturn>> returns = (*source)->get_jid(load.jid);
  if (!returns) return returns.error();
  return printed({load, *returns});
}

}  // namespace rest_fcgi::embedded::job_lists

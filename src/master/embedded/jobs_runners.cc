// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "master/embedded/jid.h"
#include "master/embedded/job_filter.h"
#include "master/embedded/master_function.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace {

using Found = Result<std::optional<returner::StoredJob>>;

/// Members that describe a job, in Salt's words, inside an object that is open.
void write_description(JsonWriter& writer, const returner::Load& load) {
  writer.key("Function").json(load.fun).key("Arguments").json(load.arg).key("Target").json(load.tgt);
  writer.key("Target-type").string(load.tgt_type).key("User").string(load.user);
  if (load.metadata) writer.key("Metadata").json(*load.metadata);
}

void write_start_time(JsonWriter& writer, std::string_view jid) {
  writer.key("StartTime").string(jid_start_time(jid));
}

/// There is one job cache, and no other that a caller could choose.
std::optional<Error> refuse_source(JsonValue ext_source) {
  if (!is_true(ext_source)) return std::nullopt;
  return Error{
      ErrorKind::invocation,
      format("ext_source is {}, but the embedded engine has one job cache only", ext_source.python_repr())};
}

Json with_outputter(std::string_view outputter, const std::string& data) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("outputter").string(outputter).key("data").raw(data).end_object();
  return Json::trusted(std::move(text));
}

void write_results(JsonWriter& writer, const std::vector<returner::JobReturn>& returns) {
  writer.begin_object();
  for (const returner::JobReturn& ret : returns) {
    writer.key(ret.minion).begin_object().key("return").json(ret.ret);
    writer.key("retcode").integer(ret.retcode).key("success").boolean(ret.success);
    if (!ret.out.empty()) writer.key("out").string(ret.out);
    writer.end_object();
  }
  writer.end_object();
}

Result<Json> list_jobs(const MasterContext& context, const BoundArguments& arguments) {
  const std::vector<JsonValue>& given = arguments.values;
  if (auto refused = refuse_source(given[0])) return *std::move(refused);
  const Result<JobFilter> filter = JobFilter::make({given[2], given[3], given[4], given[5], given[6]});
  if (!filter) return filter.error();
  const Result<std::vector<returner::Load>> loads = context.jobs.cache().get_jids();
  if (!loads) return loads.error();
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const returner::Load& load : *loads) {
    if (!filter->passes(load)) continue;
    writer.key(load.jid).begin_object();
    write_description(writer, load);
    write_start_time(writer, load.jid);
    writer.end_object();
  }
  writer.end_object();
  if (is_true(given[1])) return with_outputter(given[1].python_str(), text);
  return Json::trusted(std::move(text));
}

Result<Json> list_job(const MasterContext& context, const BoundArguments& arguments) {
  if (auto refused = refuse_source(arguments.values[1])) return *std::move(refused);
  const std::string jid = arguments.values[0].python_str();
  const Found found = context.jobs.cache().get_job(jid);
  if (!found) return found.error();
  const std::optional<returner::StoredJob>& job = *found;
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("jid").string(jid);
  if (job) {
    write_description(writer, job->load);
    writer.key("Minions").begin_array();
    for (const std::string& minion : job->load.minions) writer.string(minion);
    writer.end_array();
  } else {
    writer.key("Error").string("Cannot contact returner or no job with this jid");
  }
  write_start_time(writer, jid);
  writer.key("Result");
  write_results(writer, job ? job->returns : std::vector<returner::JobReturn>());
  writer.end_object();
  return Json::trusted(std::move(text));
}

void write_missing(JsonWriter& writer, const returner::StoredJob& job) {
  std::unordered_set<std::string_view> returned;
  for (const returner::JobReturn& ret : job.returns) returned.insert(ret.minion);
  for (const std::string& minion : job.load.minions) {
    if (!returned.contains(minion)) writer.key(minion).string("Minion did not return");
  }
}

Result<Json> lookup_jid(const MasterContext& context, const BoundArguments& arguments) {
  const std::vector<JsonValue>& given = arguments.values;
  if (auto refused = refuse_source(given[1])) return *std::move(refused);
  const bool returned = given[2].is(JsonValue::Kind::null) || is_true(given[2]);
  const Found found = context.jobs.cache().get_job(given[0].python_str());
  if (!found) return found.error();
  const std::optional<returner::StoredJob>& job = *found;
  if (!job) return Json::empty_object();
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  if (returned) {
    for (const returner::JobReturn& ret : job->returns) writer.key(ret.minion).json(ret.ret);
  }
  if (is_true(given[3])) write_missing(writer, *job);
  writer.end_object();
  const bool named = !job->returns.empty() && !job->returns.front().out.empty();
  if (named) return with_outputter(job->returns.front().out, text);
  return Json::trusted(std::move(text));
}

void write_running(JsonWriter& writer, const RunningJob& job,
                   const std::vector<returner::JobReturn>& returns) {
  writer.key(job.load().jid).begin_object();
  write_description(writer, job.load());
  write_start_time(writer, job.load().jid);
  writer.key("Running").begin_array();
  for (const std::string& minion : job.load().minions) {
    if (job.runs_on(minion)) writer.begin_object().key(minion).integer(::getpid()).end_object();
  }
  writer.end_array().key("Returned").begin_array();
  for (const returner::JobReturn& ret : returns) writer.string(ret.minion);
  writer.end_array().end_object();
}

Result<Json> active(const MasterContext& context, const BoundArguments&) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const auto& job : context.jobs.running().all()) {
    // Salt asks the minions, and a runner does not run on one.
    if (job->load().minions.front() == context.jobs.master_id()) continue;
    const Found found = context.jobs.cache().get_job(job->load().jid);
    if (!found) return found.error();
    write_running(writer, *job, *found ? (*found)->returns : std::vector<returner::JobReturn>());
  }
  writer.end_object();
  return Json::trusted(std::move(text));
}

constexpr std::array<MasterFunction, 4> kFunctions = {{
    {.name = "jobs.list_jobs",
     .usage = "jobs.list_jobs(ext_source=None, outputter=None, search_metadata=None, search_function=None, "
              "search_target=None, start_time=None, end_time=None, display_progress=False)",
     .parameters = {{{"ext_source"},
                     {"outputter"},
                     {"search_metadata"},
                     {"search_function"},
                     {"search_target"},
                     {"start_time"},
                     {"end_time"},
                     {"display_progress"}}},
     .run = list_jobs},
    {.name = "jobs.list_job",
     .usage = "jobs.list_job(jid, ext_source=None, display_progress=False)",
     .parameters = {{{"jid", true}, {"ext_source"}, {"display_progress"}}},
     .run = list_job},
    {.name = "jobs.lookup_jid",
     .usage = "jobs.lookup_jid(jid, ext_source=None, returned=True, missing=False, display_progress=False)",
     .parameters = {{{"jid", true}, {"ext_source"}, {"returned"}, {"missing"}, {"display_progress"}}},
     .run = lookup_jid},
    {.name = "jobs.active",
     .usage = "jobs.active(display_progress=False)",
     .parameters = {{{"display_progress"}}},
     .run = active},
}};

}  // namespace

std::span<const MasterFunction> jobs_runners() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "master/embedded/python/python.h"
#include "master/embedded/runners/job_lists.h"
#include "master/embedded/runners/master_function.h"
#include "master/embedded/runners/stored_job.h"

namespace rest_fcgi::embedded {

namespace {

using Found = Result<std::optional<StoredJob>>;

/// The job that a runner's arguments mean.
Found find_meant(const MasterContext& context, JsonValue jid, JsonValue ext_source) {
  const Result<const returner::Returner*> source = source_named(context.jobs, ext_source);
  if (!source) return source.error();
  return find_stored(**source, jid.python_str());
}

Result<Json> list_job(const MasterContext& context, const BoundArguments& arguments) {
  const std::string jid = arguments.values[0].python_str();
  const Found found = find_meant(context, arguments.values[0], arguments.values[1]);
  if (!found) return found.error();
  const std::optional<StoredJob>& job = *found;
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("jid").string(jid);
  if (job) {
    write_description(writer, job->load);
    write_minions(writer, job->load);
  } else {
    write_no_such_job(writer);
  }
  write_start_time(writer, jid);
  write_result(writer, job ? job->returns : std::vector<returner::JobReturn>());
  writer.end_object();
  return Json::trusted(std::move(text));
}

Result<Json> print_job(const MasterContext& context, const BoundArguments& arguments) {
  const Found found = find_meant(context, arguments.values[0], arguments.values[1]);
  if (!found) return found.error();
  if (*found) return printed(**found);
  const std::string jid = arguments.values[0].python_str();
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key(jid).begin_object();
  write_no_such_job(writer);
  write_start_time(writer, jid);
  write_result(writer, {});
  writer.end_object().end_object();
  return Json::trusted(std::move(text));
}

void write_missing(JsonWriter& writer, const StoredJob& job) {
  std::unordered_set<std::string_view> returned;
  for (const returner::JobReturn& ret : job.returns) returned.insert(ret.minion);
  for (const std::string& minion : job.load.minions) {
    if (!returned.contains(minion)) writer.key(minion).string("Minion did not return");
  }
}

Result<Json> lookup_jid(const MasterContext& context, const BoundArguments& arguments) {
  const std::vector<JsonValue>& given = arguments.values;
  const bool returned = given[2].is(JsonValue::Kind::null) || python_bool(given[2]);
  const Found found = find_meant(context, given[0], given[1]);
  if (!found) return found.error();
  const std::optional<StoredJob>& job = *found;
  if (!job) return Json::empty_object();
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  if (returned) {
    for (const returner::JobReturn& ret : job->returns) writer.key(ret.minion).json(ret.ret);
  }
  if (python_bool(given[3])) write_missing(writer, *job);
  writer.end_object();
  return with_outputter(job->returns.empty() ? std::string() : job->returns.front().out, std::move(text));
}

bool is_truthy(const Json& ret) {
  const std::string& text = ret.text();
  return text != "null" && text != "false" && text != "0" && text != "0.0" && text != "\"\"" &&
         text != "[]" && text != "{}";
}

/// To Salt a return that Python takes for true is a success, and all else is none.
Result<Json> exit_success(const MasterContext& context, const BoundArguments& arguments) {
  const Found found = find_meant(context, arguments.values[0], arguments.values[1]);
  if (!found) return found.error();
  std::map<std::string_view, bool> success;
  if (*found) {
    for (const std::string& minion : (*found)->load.minions) success[minion] = false;
    for (const returner::JobReturn& ret : (*found)->returns) success[ret.minion] = is_truthy(ret.ret);
  }
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const auto& [minion, verdict] : success) writer.key(minion).boolean(verdict);
  writer.end_object();
  return Json::trusted(std::move(text));
}

/// Salt asks the minions for what is active, and a runner does not run on one.
bool runs_on_the_master(const MasterContext& context, const ActiveJob& job) {
  return job.load.minions.size() == 1 && job.load.minions.front() == context.jobs.master_id();
}

void write_active(JsonWriter& writer, const ActiveJob& job, const std::vector<returner::JobReturn>& returns) {
  writer.key(job.load.jid).begin_object();
  write_description(writer, job.load);
  write_start_time(writer, job.load.jid);
  writer.key("Running").begin_array();
  for (const std::string& minion : job.running) {
    writer.begin_object().key(minion).integer(job.pid).end_object();
  }
  writer.end_array().key("Returned").begin_array();
  for (const returner::JobReturn& ret : returns) writer.string(ret.minion);
  writer.end_array().end_object();
}

Result<Json> active(const MasterContext& context, const BoundArguments&) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const ActiveJob& job : context.jobs.active()) {
    if (runs_on_the_master(context, job) || job.running.empty()) continue;
    const Result<std::vector<returner::JobReturn>> returns = context.jobs.cache().get_jid(job.load.jid);
    if (!returns) return returns.error();
    write_active(writer, job, *returns);
  }
  writer.end_object();
  return Json::trusted(std::move(text));
}

Result<Json> master(const MasterContext& context, const BoundArguments&) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const ActiveJob& job : context.jobs.active()) {
    if (runs_on_the_master(context, job)) writer.json(describe_running(job.pid, job.load, job.ret));
  }
  writer.end_array();
  return Json::trusted(std::move(text));
}

constexpr std::array<MasterFunction, 9> kFunctions = {{
    {.name = "jobs.active",
     .usage = "jobs.active(display_progress=False)",
     .summary = "Show the jobs that run on minions now, with where they run and what returned.",
     .parameters = {{{"display_progress"}}},
     .run = active},
    {.name = "jobs.exit_success",
     .usage = "jobs.exit_success(jid, ext_source=None)",
     .summary = "For each minion of a job, show whether it returned something true.",
     .parameters = {{{"jid", true}, {"ext_source"}}},
     .run = exit_success},
    {.name = "jobs.last_run",
     .usage = "jobs.last_run(ext_source=None, outputter=None, metadata=None, function=None, target=None, "
              "display_progress=False)",
     .summary = "Show the newest job that fits, with its returns; False where none does.",
     .parameters =
         {{{"ext_source"}, {"outputter"}, {"metadata"}, {"function"}, {"target"}, {"display_progress"}}},
     .run = job_lists::last_run},
    {.name = "jobs.list_job",
     .usage = "jobs.list_job(jid, ext_source=None, display_progress=False)",
     .summary = "Show a job with its returns.",
     .parameters = {{{"jid", true}, {"ext_source"}, {"display_progress"}}},
     .run = list_job},
    {.name = "jobs.list_jobs",
     .usage = "jobs.list_jobs(ext_source=None, outputter=None, search_metadata=None, search_function=None, "
              "search_target=None, start_time=None, end_time=None, display_progress=False, after=None, "
              "before=None, limit=None)",
     .summary =
         "List the jobs that fit, oldest first. 'after' and 'before' are jids; with 'limit', those that\n"
         "follow 'after', where that is given, else the newest ones.",
     .parameters = {{{"ext_source"},
                     {"outputter"},
                     {"search_metadata"},
                     {"search_function"},
                     {"search_target"},
                     {"start_time"},
                     {"end_time"},
                     {"display_progress"},
                     {"after"},
                     {"before"},
                     {"limit"}}},
     .run = job_lists::list_jobs},
    {.name = "jobs.list_jobs_filter",
     .usage = "jobs.list_jobs_filter(count, filter_find_job=True, ext_source=None, outputter=None, "
              "display_progress=False)",
     .summary = "List the newest jobs.",
     .parameters =
         {{{"count", true}, {"filter_find_job"}, {"ext_source"}, {"outputter"}, {"display_progress"}}},
     .run = job_lists::list_jobs_filter},
    {.name = "jobs.lookup_jid",
     .usage = "jobs.lookup_jid(jid, ext_source=None, returned=True, missing=False, display_progress=False)",
     .summary = "Show what a job's minions returned.",
     .parameters = {{{"jid", true}, {"ext_source"}, {"returned"}, {"missing"}, {"display_progress"}}},
     .run = lookup_jid},
    {.name = "jobs.master",
     .usage = "jobs.master()",
     .summary = "List the runners and wheels that run now.",
     .parameters = {},
     .run = master},
    {.name = "jobs.print_job",
     .usage = "jobs.print_job(jid, ext_source=None)",
     .summary = "Show a job with its returns below its jid.",
     .parameters = {{{"jid", true}, {"ext_source"}}},
     .run = print_job},
}};

}  // namespace

MasterFunctions jobs_runners() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT

#include "master/embedded/runners/runners.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"

namespace rest_fcgi::embedded {

namespace {

void write_job(JsonWriter& writer, const std::string& jid, const std::optional<StoredJob>& job) {
  if (job) {
    write_description(writer, job->load);
    write_strings(writer.key("Minions"), job->load.minions);
  } else {
    writer.key("Error").string("Cannot contact returner or no job with this jid");
  }
  write_start_time(writer, jid);
  writer.key("Result").begin_object();
  for (const returner::JobReturn& ret : job ? job->returns : std::vector<returner::JobReturn>()) {
    writer.key(ret.minion).begin_object().key("return").json(ret.ret);
    writer.key("retcode").integer(ret.retcode).key("success").boolean(ret.success);
    if (!ret.out.empty()) writer.key("out").string(ret.out);
    writer.end_object();
  }
  writer.end_object();
}

Result<std::optional<StoredJob>> find_job(const MasterContext& context, const BoundArguments& arguments) {
  const auto source = find_source(context.jobs, arguments);
  if (!source) return source.error();
  const std::string jid = arguments["jid"].python_str();
  Result<std::optional<returner::Load>> load = (*source)->get_load(jid);
  if (!load) return std::move(load).error();
  if (!*load) return std::optional<StoredJob>();
  Result<std::vector<returner::JobReturn>> returns = (*source)->get_jid(jid);
  if (!returns) return std::move(returns).error();
  return std::optional(StoredJob{**std::move(load), *std::move(returns)});
}

Result<Json> list_job(const MasterContext& context, const BoundArguments& arguments) {
  const auto found = find_job(context, arguments);
  if (!found) return found.error();
  const std::string jid = arguments["jid"].python_str();
  return written_object([&](JsonWriter& writer) { write_job(writer.key("jid").string(jid), jid, *found); });
}

Result<Json> print_job(const MasterContext& context, const BoundArguments& arguments) {
  const auto found = find_job(context, arguments);
  if (!found) return found.error();
  return printed_job(arguments["jid"].python_str(), *found);
}

Result<Json> lookup_jid(const MasterContext& context, const BoundArguments& arguments) {
  const auto found = find_job(context, arguments);
  if (!found) return found.error();
  const std::optional<StoredJob>& job = *found;
  if (!job) return Json::empty_object();
  const JsonValue returned = arguments["returned"];
  Json data = written_object([&](JsonWriter& writer) {
    if (returned.is(JsonValue::Kind::null) || python_bool(returned)) {
      for (const returner::JobReturn& ret : job->returns) writer.key(ret.minion).json(ret.ret);
    }
    if (!python_bool(arguments["missing"])) return;
    for (const std::string& minion : without_return(job->load, job->returns)) {
      writer.key(minion).string("Minion did not return");
    }
  });
  return with_outputter(job->returns.empty() ? std::string() : job->returns.front().out, std::move(data));
}

/// Returns an object that says for each minion whether its return is a success. As in Salt, every return with
/// a true value in Python is a success.
Result<Json> exit_success(const MasterContext& context, const BoundArguments& arguments) {
  const auto found = find_job(context, arguments);
  if (!found) return found.error();
  std::map<std::string_view, bool> success;
  if (*found) {
    for (const std::string& minion : (*found)->load.minions) success[minion] = false;
    for (const returner::JobReturn& ret : (*found)->returns) {
      success[ret.minion] = python_bool(own_document(ret.ret).root());
    }
  }
  return written_object([&success](JsonWriter& writer) {
    for (const auto& [minion, is_success] : success) writer.key(minion).boolean(is_success);
  });
}

Result<Json> active(const MasterContext& context, const BoundArguments&) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const ActiveJob& job : context.jobs.active()) {
    if (is_master_call(job.load) || job.running.empty()) continue;
    const Result<std::vector<returner::JobReturn>> returns = context.jobs.cache().get_jid(job.load.jid);
    if (!returns) return returns.error();
    write_description(writer.key(job.load.jid).begin_object(), job.load);
    write_start_time(writer, job.load.jid);
    writer.key("Running").begin_array();
    for (const std::string& minion : job.running) {
      writer.begin_object().key(minion).integer(job.pid).end_object();
    }
    writer.end_array().key("Returned").begin_array();
    for (const returner::JobReturn& ret : *returns) writer.string(ret.minion);
    writer.end_array().end_object();
  }
  writer.end_object();
  return Json::trusted(std::move(text));
}

Result<Json> master(const MasterContext& context, const BoundArguments&) {
  return written_array([&context](JsonWriter& writer) {
    for (const ActiveJob& job : context.jobs.active()) {
      if (is_master_call(job.load)) writer.json(describe_running(job.pid, job.load, job.ret));
    }
  });
}

constexpr MasterFunction kJobsRunners[] = {
    {"jobs.active(display_progress=False)",
     "Show the jobs that run on minions now, the minions that run them and the minions that returned.",
     active},
    {"jobs.exit_success(jid, ext_source=None)", "Show for each minion of a job whether its return is true.",
     exit_success},
    {"jobs.last_run(ext_source=None, outputter=None, metadata=None, function=None, target=None, "
     "display_progress=False)",
     "Show the newest job that matches, with its returns; False without a match.", last_run},
    {"jobs.list_job(jid, ext_source=None, display_progress=False)", "Show a job with its returns.", list_job},
    {"jobs.list_jobs(ext_source=None, outputter=None, search_metadata=None, search_function=None, "
     "search_target=None, start_time=None, end_time=None, display_progress=False, after=None, before=None, "
     "limit=None, search_user=None, exclude_function=None, status=None)",
     "List the jobs that match, oldest first. 'after' and 'before' are jids. With 'limit' the first ones\n"
     "after 'after', or the newest ones. 'status' adds a state and counts of returns to each job: true for\n"
     "all jobs, or 'running', 'ok', 'failed' or 'missing' for the jobs with this state.",
     list_jobs},
    {"jobs.list_jobs_filter(count, filter_find_job=True, ext_source=None, outputter=None, "
     "display_progress=False)",
     "List the newest jobs.", list_jobs_filter},
    {"jobs.lookup_jid(jid, ext_source=None, returned=True, missing=False, display_progress=False)",
     "Show the returns of a job.", lookup_jid},
    {"jobs.master()", "List the runners and wheels that run now.", master},
    {"jobs.print_job(jid, ext_source=None)", "Show a job with its returns below its jid.", print_job},
};

}  // namespace

Result<const returner::Returner*> find_source(const Jobs& jobs, const BoundArguments& arguments) {
  const JsonValue ext_source = arguments["ext_source"];
  if (!python_bool(ext_source)) return &jobs.cache();
  if (const returner::Returner* found = jobs.returners().find(ext_source.text())) return found;
  return Error{ErrorKind::invocation, format("ext_source: found {}, expected one of {}",
                                             ext_source.python_repr(), joined(jobs.returners().names()))};
}

void write_description(JsonWriter& writer, const returner::Load& load) {
  writer.key("Function").json(load.fun).key("Arguments").json(load.arg).key("Target").json(load.tgt);
  writer.key("Target-type").string(load.tgt_type).key("User").string(load.user);
  if (load.metadata) writer.key("Metadata").json(*load.metadata);
}

void write_start_time(JsonWriter& writer, std::string_view jid) {
  writer.key("StartTime").string(jid_start_time(jid));
}

Json printed_job(const std::string& jid, const std::optional<StoredJob>& job) {
  return written_object([&](JsonWriter& writer) {
    write_job(writer.key(jid).begin_object(), jid, job);
    writer.end_object();
  });
}

Json with_outputter(std::string_view outputter, Json data) {
  if (outputter.empty()) return data;
  return written_object(
      [&](JsonWriter& writer) { writer.key("outputter").string(outputter).key("data").json(data); });
}

MasterFunctions jobs_runners() {
  return kJobsRunners;
}

}  // namespace rest_fcgi::embedded

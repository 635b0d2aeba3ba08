// SPDX-License-Identifier: MIT
#include <signal.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "master/embedded/modules/native.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded {
namespace saltutil_module {
namespace {

/// What runs on the minion now, but for the job that asks.
std::vector<ActiveJob> running_here(const Call& call) {
  const Context& context = call.context;
  std::vector<ActiveJob> here;
  for (ActiveJob& job : context.engine.jobs.active()) {
    const bool on_minion =
        std::find(job.running.begin(), job.running.end(), context.minion.id) != job.running.end();
    if (on_minion && job.load.jid != context.job.jid) here.push_back(std::move(job));
  }
  return here;
}

Json described(const ActiveJob& job) {
  return describe_running(job.pid, job.load, job.ret);
}

Reply running(const Call& call) {
  return written([&call](JsonWriter& writer) {
    writer.begin_array();
    for (const ActiveJob& job : running_here(call)) writer.json(described(job));
    writer.end_array();
  });
}

Reply find_job(const Call& call) {
  const std::string jid = call["jid"].python_str();
  for (const ActiveJob& job : running_here(call)) {
    if (job.load.jid == jid) return Returned{described(job)};
  }
  return Returned{Json::empty_object()};
}

Reply is_running(const Call& call) {
  const std::string glob = call["fun"].python_str();
  return written([&](JsonWriter& writer) {
    writer.begin_array();
    for (const ActiveJob& job : running_here(call)) {
      if (glob_match(glob, own_document(job.load.fun).root().text())) writer.json(described(job));
    }
    writer.end_array();
  });
}

/// Salt's sentence about a signal. Jobs here are threads, which no signal reaches: they are asked to stop.
Result<Json> send(const Call& call, std::string_view jid, std::int64_t signal) {
  const Context& context = call.context;
  const Result<std::optional<pid_t>> process = context.engine.jobs.stop(jid, context.minion.id);
  if (!process) return process.error();
  if (!*process) return Json::string("");
  return Json::string(format("Signal {} sent to job {} at pid {}", signal, jid, **process));
}

Reply signal_one(const Call& call, std::string_view jid, std::int64_t signal) {
  Result<Json> sent = send(call, jid, signal);
  if (!sent) return command_error(sent.error().message);
  return Returned{*std::move(sent)};
}

Reply signal_all(const Call& call, std::int64_t signal) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const ActiveJob& job : running_here(call)) {
    const Result<Json> sent = send(call, job.load.jid, signal);
    if (!sent) return command_error(sent.error().message);
    writer.json(*sent);
  }
  writer.end_array();
  return Returned{Json::trusted(std::move(text))};
}

Reply signal_job(const Call& call) {
  const WholeNumber number = python_int(call["sig"]);
  if (const auto* raised = std::get_if<Raised>(&number)) return *raised;
  const std::int64_t signal = std::get<std::int64_t>(number);
  constexpr std::array<std::int64_t, 5> kEnding = {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM};
  if (std::find(kEnding.begin(), kEnding.end(), signal) == kEnding.end()) {
    return invocation_error(
        format("signal {} cannot be sent to a job, which is a thread here; 1, 2, 3, 9 and 15 "
               "ask it to stop",
               signal));
  }
  return signal_one(call, call["jid"].python_str(), signal);
}

Reply term_job(const Call& call) {
  return signal_one(call, call["jid"].python_str(), SIGTERM);
}

Reply kill_job(const Call& call) {
  return signal_one(call, call["jid"].python_str(), SIGKILL);
}

Reply term_all_jobs(const Call& call) {
  return signal_all(call, SIGTERM);
}

Reply kill_all_jobs(const Call& call) {
  return signal_all(call, SIGKILL);
}

constexpr std::string_view kStops =
    "Ask a job to stop on the minion, whichever signal is named; jobs here are threads of one process.\n"
    "A function that takes its time looks for that, and ends within a moment; a command that it runs is\n"
    "ended with it. The job then returns that it was terminated.";

constexpr std::string_view kStopsAll = "Ask all jobs that run on the minion to stop.";

constexpr Function kFunctions[] = {
    {"saltutil.find_job(jid)",
     "Return what is known about a job that runs on the minion; nothing where it does not.",
     "saltutil.find_job 20260503150049487736", find_job},
    {"saltutil.is_running(fun)",
     "Return the jobs that run on the minion now and whose function matches a glob.",
     "saltutil.is_running 'cmd.*'", is_running},
    {"saltutil.kill_all_jobs()", kStopsAll, "saltutil.kill_all_jobs", kill_all_jobs},
    {"saltutil.kill_job(jid)", kStops, "saltutil.kill_job 20260503150049487736", kill_job},
    {"saltutil.running()", "Return the jobs that run on the minion now.", "saltutil.running", running},
    {"saltutil.signal_job(jid, sig)", kStops, "saltutil.signal_job 20260503150049487736 15", signal_job},
    {"saltutil.term_all_jobs()", kStopsAll, "saltutil.term_all_jobs", term_all_jobs},
    {"saltutil.term_job(jid)", kStops, "saltutil.term_job 20260503150049487736", term_job},
};

}  // namespace
}  // namespace saltutil_module

std::span<const Function> saltutil_functions() {
  return saltutil_module::kFunctions;
}

}  // namespace rest_fcgi::embedded

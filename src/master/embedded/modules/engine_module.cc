// SPDX-License-Identifier: MIT
#include <signal.h>

#include <array>

#include "master/embedded/modules/native.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

/// The execution modules `saltutil` for running jobs, and `sys` for the documentation of functions.
namespace rest_fcgi::embedded {
namespace engine_module {
namespace {

std::vector<ActiveJob> running_here(const Call& call) {
  const Context& context = call.context;
  std::vector<ActiveJob> jobs = context.engine.jobs.active();
  std::erase_if(jobs, [&context](const ActiveJob& job) {
    const bool on_minion =
        std::find(job.running.begin(), job.running.end(), context.minion.id) != job.running.end();
    return !on_minion || job.load.jid == context.job.jid;
  });
  return jobs;
}

Json described(const ActiveJob& job) {
  return describe_running(job.pid, job.load, job.ret);
}

Reply running(const Call& call) {
  return Returned{written_array([&call](JsonWriter& writer) {
    for (const ActiveJob& job : running_here(call)) writer.json(described(job));
  })};
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
  return Returned{written_array([&](JsonWriter& writer) {
    for (const ActiveJob& job : running_here(call)) {
      if (glob_match(glob, own_document(job.load.fun).root().text())) writer.json(described(job));
    }
  })};
}

/// Asks a job to stop. Returns Salt's sentence about a sent signal, although no signal is sent, because the
/// job runs on threads of this server.
Result<Json> send(const Call& call, std::string_view jid, std::int64_t signal) {
  const Context& context = call.context;
  const Result<std::optional<pid_t>> process = context.engine.jobs.stop(jid, context.minion.id);
  if (!process) return process.error();
  if (!*process) return Json::string("");
  return Json::string(format("Signal {} sent to job {} at pid {}", signal, jid, **process));
}

Reply signal_one(const Call& call, std::int64_t signal) {
  Result<Json> sent = send(call, call["jid"].python_str(), signal);
  if (!sent) return Raised::command_error(sent.error().message);
  return Returned{*std::move(sent)};
}

template <std::int64_t signal>
Reply signal_one(const Call& call) {
  return signal_one(call, signal);
}

template <std::int64_t signal>
Reply signal_all(const Call& call) {
  std::vector<Json> all;
  for (const ActiveJob& job : running_here(call)) {
    Result<Json> sent = send(call, job.load.jid, signal);
    if (!sent) return Raised::command_error(sent.error().message);
    all.push_back(*std::move(sent));
  }
  return Returned{written_array([&all](JsonWriter& writer) {
    for (const Json& sent : all) writer.json(sent);
  })};
}

Reply signal_job(const Call& call) {
  const WholeNumber number = python_int(call["sig"]);
  if (const auto* raised = std::get_if<Raised>(&number)) return *raised;
  const std::int64_t signal = std::get<std::int64_t>(number);
  constexpr std::array<std::int64_t, 5> kEnding = {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM};
  if (std::find(kEnding.begin(), kEnding.end(), signal) != kEnding.end()) return signal_one(call, signal);
  return Raised::invocation_error(
      format("signal {} cannot be sent to a job, because jobs are threads here; accepted are 1, 2, 3, 9 and "
             "15, which ask the job to stop",
             signal));
}

using Functions = std::vector<const LoadedFunction*>;

bool is_pattern(std::string_view name) {
  return name.find('*') != std::string_view::npos;
}

Functions starting_with(const Modules& modules, const std::string& prefix) {
  Functions found = modules.all();
  std::erase_if(found, [&prefix](const auto* function) { return !function->name.starts_with(prefix); });
  return found;
}

Functions by_pattern_or_module(const Modules& modules, std::string_view name) {
  return is_pattern(name) ? modules.matching(name) : starting_with(modules, std::string(name) + ".");
}

Functions by_pattern_or_function(const Modules& modules, std::string_view name) {
  return name.find('.') != std::string_view::npos ? modules.matching(name)
                                                  : by_pattern_or_module(modules, name);
}

/// Finds functions by a pattern, a function name or a module name. A module name may end with a dot. An empty
/// name finds all functions.
Functions by_any_name(const Modules& modules, std::string_view name) {
  if (is_pattern(name)) return modules.matching(name);
  if (const LoadedFunction* function = modules.find(name)) return {function};
  const bool is_whole = name.empty() || name.ends_with('.');
  return starting_with(modules, std::string(name) + (is_whole ? "" : "."));
}

using Found = std::map<std::string_view, const LoadedFunction*>;

/// Calls `use` with the functions that `by_name` finds for `names`. If `names` is empty, calls `use` with all
/// functions.
template <class Use>
Reply with_found(const Call& call, const std::vector<JsonValue>& names,
                 Functions (*by_name)(const Modules& modules, std::string_view name), const Use& use) {
  const Modules& modules = call.context.engine.modules;
  Functions functions = names.empty() ? modules.all() : Functions();
  for (const JsonValue& name : names) {
    if (!name.is(JsonValue::Kind::string)) {
      return Raised::invocation_error(
          format("name of a module or function: found {}, expected a string", name.python_repr()));
    }
    const Functions more = by_name(modules, name.text());
    functions.insert(functions.end(), more.begin(), more.end());
  }
  Found found;
  for (const LoadedFunction* function : functions) found.emplace(function->name, function);
  return Returned{use(found)};
}

Reply list_functions(const Call& call) {
  return with_found(call, call.varargs, by_pattern_or_function, [](const Found& found) {
    return written_array([&found](JsonWriter& writer) {
      for (const auto& [name, function] : found) writer.string(name);
    });
  });
}

Reply list_modules(const Call& call) {
  return with_found(call, call.varargs, by_pattern_or_module, [](const Found& found) {
    std::set<std::string_view> names;
    for (const auto& [name, function] : found) names.insert(function->module());
    return written_json([&names](JsonWriter& writer) { write_strings(writer, names); });
  });
}

Reply doc(const Call& call) {
  return with_found(call, call.varargs, by_any_name, [](const Found& found) {
    return written_object([&found](JsonWriter& writer) {
      for (const auto& [name, function] : found) writer.key(name).string(function->doc);
    });
  });
}

Reply argspec(const Call& call) {
  return with_found(call, {call["module"]}, by_pattern_or_function, [](const Found& found) {
    return written_object([&found](JsonWriter& writer) {
      for (const auto& [name, function] : found) writer.key(name).json(function->argspec);
    });
  });
}

constexpr std::string_view kStops =
    "Ask a job to stop on the minion. A long function and its commands end soon afterwards, and the\n"
    "return says that the job was terminated. Jobs here are threads, so all signals do the same.";

constexpr std::string_view kStopsAll = "Ask all jobs that run on the minion to stop.";

// Functions of `sys` are not quick, because they may start Python.
constexpr Function kFunctions[] = {
    {"saltutil.find_job(jid)",
     "Return information about a job that runs on the minion, or an empty map if the job does not run.",
     find_job, "20260503150049487736"},
    {"saltutil.is_running(fun)", "Return the running jobs of the minion whose function matches a glob.",
     is_running, "'cmd.*'"},
    {"saltutil.kill_all_jobs()", kStopsAll, signal_all<SIGKILL>},
    {"saltutil.kill_job(jid)", kStops, signal_one<SIGKILL>, "20260503150049487736"},
    {"saltutil.running()", "Return the jobs that run on the minion now.", running},
    {"saltutil.signal_job(jid, sig)", kStops, signal_job, "20260503150049487736 15"},
    {"saltutil.term_all_jobs()", kStopsAll, signal_all<SIGTERM>},
    {"saltutil.term_job(jid)", kStops, signal_one<SIGTERM>, "20260503150049487736"},
    {"sys.argspec(module='')",
     "Return the arguments of the functions of a module, or of the functions that a pattern matches.",
     argspec, "test.ping\nsys\n'grains.*'", false},
    {"sys.doc(*args)",
     "Return the documentation of all functions, or of the functions that a module name, a function name\n"
     "or a pattern selects.",
     doc, "\nsys\ntest.ping grains.get\n'sys.list_*'", false},
    {"sys.list_functions(*args, **kwargs)",
     "Return the names of all functions, or of the functions in the named modules, or of the functions that\n"
     "a pattern matches.",
     list_functions, "\nsys grains\n'sys.list_*'", false},
    {"sys.list_modules(*args)",
     "Return the names of all modules, or of the modules that a name or a pattern selects.", list_modules,
     "\n's*'", false},
};

}  // namespace
}  // namespace engine_module

std::span<const Function> engine_functions() {
  return engine_module::kFunctions;
}

}  // namespace rest_fcgi::embedded

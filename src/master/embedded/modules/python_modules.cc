// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>

#include "master/embedded/host/grains.h"
#include "master/embedded/modules/module_files.h"
#include "master/embedded/modules/native.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/helper_process.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {
namespace {

// Time limits for loading one Python module (`...LoadSeconds`) and for loading all modules (`...IndexTime`).
// The longer limits `kSalt...` are for a configured Python, because its modules may import Salt.
constexpr double kLoadSeconds = 2;
constexpr double kSaltLoadSeconds = 10;
constexpr std::chrono::milliseconds kIndexTime = std::chrono::seconds(20);
constexpr std::chrono::milliseconds kSaltIndexTime = std::chrono::seconds(60);

/// A kind of exception without a name of its own is sent to the loader program as `command`.
std::string_view name_of(Raised::Kind kind) {
  switch (kind) {
    case Raised::Kind::type_error:
      return "type_error";
    case Raised::Kind::invocation:
      return "invocation";
    case Raised::Kind::exception:
      return "exception";
    case Raised::Kind::unavailable:
      return "unavailable";
    default:
      return "command";
  }
}

std::string line_of(const Reply& reply) {
  return written_object([&reply](JsonWriter& writer) {
           if (const auto* raised = std::get_if<Raised>(&reply)) {
             writer.key("raised").string(name_of(raised->kind)).key("type").string(raised->type);
             writer.key("message").string(raised->message);
           } else {
             const auto& returned = std::get<Returned>(reply);
             writer.key("return").json(returned.value).key("retcode").integer(returned.retcode);
           }
         }).text() +
         "\n";
}

Json object_of(const StringMap& members) {
  return written_object([&members](JsonWriter& writer) {
    for (const auto& [key, value] : members) writer.key(key).string(value);
  });
}

std::string how_it_ended(const Ended& ended) {
  const std::string_view errors = end_of(ended.errors);
  const std::string how = ended.how == Ended::How::killed
                              ? format("signal {} ended Python", -ended.code)
                              : format("it ended Python with exit status {}", ended.code);
  return errors.empty() ? how : format("{}: {}", how, errors);
}

Reply reply_of(const JsonValue& answer) {
  if (const auto text = answer.find("text")) {
    return Raised{Raised::Kind::verbatim, "", std::string(text->text())};
  }
  if (const auto reason = answer.find("unavailable")) {
    return Raised{Raised::Kind::unavailable, "", std::string(reason->text())};
  }
  return Returned{member_of(answer, "return").json(),
                  static_cast<int>(member_of(answer, "retcode").integer().value_or(1)),
                  std::string(member_of(answer, "out").text())};
}

}  // namespace

/// Reads the output lines of a loader program. A line may ask for the call of a function, and the program
/// gets the function's return as the answer. The last line is the program's result.
class PythonRunner::LoaderOutput {
 public:
  /// If `context` is null, the loader program cannot call functions.
  explicit LoaderOutput(const Context* context) : context_(context) {}

  std::string read(std::string_view line) {
    JsonLimits limits = JsonLimits::none();
    limits.max_values = 1'000'000;
    is_valid_ = document_.parse(line, limits).ok() && document_.root().size() != 0;
    const auto fun = document_.root().find("call");
    if (!fun) return "";
    is_valid_ = false;
    const Reply reply = call(std::string(fun->text()), document_.root());
    // The loader program is killed at its deadline, so a call that ends later gets no answer.
    const bool is_late =
        context_ != nullptr && SteadyTime::clock::now() >= context_->deadline.value_or(SteadyTime::max());
    return is_late ? "" : line_of(reply);
  }

  /// Returns a function for `run_loader`. Borrows this object.
  [[nodiscard]] auto reader() {
    return [this](std::string_view line) { return read(line); };
  }

  [[nodiscard]] bool is_list() const { return document_.root().is(JsonValue::Kind::array); }

  /// Returns the last output line as JSON, or null if the line is malformed.
  [[nodiscard]] const JsonDocument* last() const { return is_valid_ ? &document_ : nullptr; }

 private:
  Reply call(const std::string& fun, const JsonValue& request) const {
    if (context_ == nullptr)
      return Raised::command_error("Functions cannot be called while modules are loaded.");
    const LoadedFunction* function = context_->engine.modules.find(fun);
    if (function == nullptr) return Raised{Raised::Kind::unavailable, "", fun};
    std::vector<JsonValue> args;
    std::vector<JsonMember> kwargs;
    for (const JsonValue arg : member_of(request, "arg").elements()) args.push_back(arg);
    for (const JsonMember kwarg : member_of(request, "kwarg").members()) kwargs.push_back(kwarg);
    JobContext job = context_->job;
    job.fun = fun;
    return function->call({context_->engine, context_->minion, job, context_->stop, context_->deadline}, args,
                          kwargs);
  }

  const Context* const context_;
  JsonDocument document_;
  bool is_valid_ = false;
};

PythonRunner::PythonRunner(const ProgramRunner& programs, const ScriptSettings& settings,
                           const ModuleOptions& options, const StringMap& installed)
    : programs_(programs),
      settings_(settings),
      options_(options),
      loader_(shipped("module_loader.py")),
      installed_(object_of(installed)) {}

void PythonRunner::set_functions(const StringMap& python, const FunctionTable& all) {
  python_ = object_of(python);
  native_ = written_array([&](JsonWriter& writer) {
    for (const auto& [name, function] : all) {
      if (!python.contains(name) && function.is_listed) writer.string(name);
    }
  });
}

Result<Ended> PythonRunner::run_loader(std::string request, std::chrono::milliseconds limit,
                                       const std::stop_token& stop,
                                       std::function<std::string(std::string_view line)> on_line) const {
  Program program = settings_.program;
  program.argv = {options_.python, "-I", "-B", loader_};
  program.time_limit = limit;
  program.input = std::move(request) + "\n";
  program.on_line = std::move(on_line);
  return programs_.run(program, stop);
}

void PythonRunner::begin_request(JsonWriter& writer, std::string_view id, const JsonValue& grains,
                                 const JsonValue& pillar) const {
  writer.key("uid").integer(::geteuid());
  writer.key("python").json(python_).key("native").json(native_).key("shipped").json(installed_);
  grains.write(writer.key("grains"));
  pillar.write(writer.key("pillar"));
  write_minion_options(writer.key("opts").begin_object(), id);
  writer.key("rest_fcgi").begin_object().key("file_root").string(options_.file_root).end_object();
  writer.end_object();
}

std::string PythonRunner::cannot_start(const Error& error) const {
  return format("Python modules need {}, which cannot be started: {}", options_.python, error.message);
}

Result<void> PythonRunner::check() const {
  if (options_.python_key.empty()) return {};
  LoaderOutput output(nullptr);
  const JsonDocument nothing = own_document(Json::empty_object());
  Json request = written_object([&](JsonWriter& writer) {
    begin_request(writer, host_name(), nothing.root(), nothing.root());
    writer.key("seconds").number(kLoadSeconds).key("index").begin_array().end_array();
  });
  const Result<Ended> ended =
      run_loader(std::move(request).text(), kIndexTime, std::stop_token(), output.reader());
  if (!ended && ended.error().kind == ErrorKind::unavailable) {
    // The helper failed, which says nothing about Python.
    log::warning(format("{}: {}", options_.python_key, cannot_start(ended.error())));
    return {};
  }
  if (ended && ended->how == Ended::How::exited && ended->code == 0 && output.is_list()) return {};
  const std::string why = ended ? std::string(stripped(ended->errors)) : ended.error().message;
  return Error{ErrorKind::configuration,
               format("{}: found {}, expected a Python 3.9 or newer: {}", options_.python_key,
                      options_.python, why.empty() ? "it does not answer like a Python" : why)};
}

PythonIndex PythonRunner::index(const std::vector<PythonFile>& files) const {
  PythonIndex index;
  std::vector<PythonFile> left;
  for (const PythonFile& file : files) {
    if (file.refused.empty()) {
      left.push_back(file);
    } else {
      index.broken[file.module] = file.refused;
    }
  }
  const auto limit = options_.python_key.empty() ? kIndexTime : kSaltIndexTime;
  const SteadyTime end = SteadyTime::clock::now() + limit;
  while (!left.empty()) {
    const std::size_t before = left.size();
    const std::string how_it_ended = run_index(left, end, index);
    const bool is_late = SteadyTime::clock::now() >= end;
    const std::string for_all =
        is_late ? format("loading the Python modules took longer than {} seconds", limit.count() / 1000)
                : index.why_not;
    while (!left.empty() && !for_all.empty()) leave_out_first(left, for_all, index);
    // A file may end the program later, for example in a thread. Only the first file of a program is
    // certainly the reason for its end.
    if (left.size() == before) leave_out_first(left, how_it_ended, index);
  }
  return index;
}

void PythonRunner::leave_out_first(std::vector<PythonFile>& left, const std::string& reason,
                                   PythonIndex& index) {
  log::warning(format("{} is left out: {}", left.front().path, reason));
  index.broken[left.front().module] = reason;
  left.erase(left.begin());
}

std::string PythonRunner::run_index(std::vector<PythonFile>& left, SteadyTime end, PythonIndex& index) const {
  const double seconds = options_.python_key.empty() ? kLoadSeconds : kSaltLoadSeconds;
  const JsonDocument host = own_document(host_grains());
  const JsonDocument pillar = own_document(Json::empty_object());
  Json request = written_object([&](JsonWriter& writer) {
    begin_request(writer, host_name(), host.root(), pillar.root());
    writer.key("seconds").number(seconds).key("index").begin_array();
    for (const PythonFile& file : left) writer.string(file.path);
    writer.end_array();
  });
  bool has_begun = false;
  SteadyTime last_line = SteadyTime::clock::now();
  LoaderOutput output(nullptr);
  const auto on_line = [&](std::string_view line) {
    last_line = SteadyTime::clock::now();
    std::string answer = output.read(line);
    has_begun = has_begun || output.is_list();
    if (output.last() == nullptr) return answer;
    const JsonValue module = output.last()->root();
    const std::string_view path = member_of(module, "path").text();
    const auto file =
        std::find_if(left.begin(), left.end(), [path](const PythonFile& one) { return one.path == path; });
    if (file == left.end()) return answer;  // the code of a module may have printed the line
    add_module(module, *file, index);
    left.erase(file);
    return answer;
  };
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(end - SteadyTime::clock::now());
  const Result<Ended> ended = run_loader(std::move(request).text(), limit, std::stop_token(), on_line);
  if (!ended) {
    index.why_not = cannot_start(ended.error());
    return {};
  }
  if (!has_begun) index.why_not = format("Python did not list its modules: {}", end_of(ended->errors));
  if (left.empty()) {
    log_errors("the Python modules", *ended);
  } else if (SteadyTime::clock::now() - last_line >= std::chrono::duration<double>(seconds)) {
    leave_out_first(left, format("took longer than {} seconds to load", seconds), index);
  }
  return how_it_ended(*ended);
}

void PythonRunner::add_module(const JsonValue& module, const PythonFile& file, PythonIndex& index) const {
  const std::string& path = file.path;
  if (const auto broken = module.find("broken")) {
    const auto line = member_of(module, "line").integer();
    index.broken[file.module] = broken->text();
    log::warning(
        format("{}{} is left out: {}", path, line ? format(", line {},", *line) : "", broken->text()));
    return;
  }
  const JsonValue missing = member_of(module, "missing");
  const bool is_there = missing.is(JsonValue::Kind::null);
  if (!is_there) log::info(format("{}: __virtual__ returned False {}", path, missing.text()));
  for (const auto& [name, function] : member_of(module, "functions").members()) {
    LoadedFunction loaded{std::string(name),
                          std::string(member_of(function, "doc").text()),
                          member_of(function, "argspec").json(),
                          {}};
    loaded.call = [this, path, fun = loaded.name](const Context& context, std::span<const JsonValue> args,
                                                  std::span<const JsonMember> kwargs) {
      return call(context, path, fun, args, kwargs);
    };
    loaded.is_listed = is_there;
    index.functions[path].push_back(std::move(loaded));
  }
}

Reply PythonRunner::call(const Context& context, const std::string& path, const std::string& fun,
                         std::span<const JsonValue> args, std::span<const JsonMember> kwargs) const {
  // `context.deadline` is set if a Python program makes this call. Such a program calls Python functions by
  // itself, so this call is refused. A second program would also need more stack of this thread.
  if (context.deadline) return Raised{Raised::Kind::unavailable, "", fun};
  Context inner = context;
  const auto limit = time_left(context, settings_.timeout).value_or(settings_.timeout);
  inner.deadline = SteadyTime::clock::now() + limit;
  Json request = written_object([&](JsonWriter& writer) {
    const Minion& minion = context.minion;
    begin_request(writer, minion.id, minion.grains.root(), minion.pillar.root());
    write_arguments(writer.key("path").string(path).key("fun").string(fun), "arg", args, "kwarg", kwargs);
    write_publication(writer.key("pub").begin_object(), context.job);
    writer.end_object();
  });
  LoaderOutput output(&inner);
  const Result<Ended> ended = run_loader(std::move(request).text(), limit, context.stop, output.reader());
  if (!ended) {
    return Returned{Json::string(format("'{}' is not available: {}", fun, cannot_start(ended.error()))), 1,
                    ""};
  }
  const std::string what = format("The function {}", fun);
  if (auto failure = failure_of(what, *ended, settings_)) return *std::move(failure);
  if (output.last() == nullptr) {
    return failed(format("{} ended its process without a return", what), ended->errors);
  }
  log_errors(fun, *ended);
  return reply_of(output.last()->root());
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include "master/embedded/modules/python_modules.h"

#include <optional>
#include <stop_token>
#include <utility>

#include "master/embedded/host/grains.h"
#include "master/embedded/host/host_text.h"
#include "master/embedded/modules/native.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {
namespace {

constexpr std::string_view kNoPython = "Python modules need python3, which cannot be started";
constexpr double kLoadSeconds = 2;  // that one module may take to load
constexpr std::chrono::milliseconds kIndexTime = std::chrono::seconds(20);  // of all modules

/// For lines of the loader, which are at most as long as a program's output may be.
JsonLimits line_limits() {
  JsonLimits limits = JsonLimits::none();
  limits.max_values = 1'000'000;
  return limits;
}

std::string_view kind_name(Raised::Kind kind) {
  switch (kind) {
    case Raised::Kind::type_error:
      return "type_error";
    case Raised::Kind::invocation:
      return "invocation";
    case Raised::Kind::command_not_found:
      return "command_not_found";
    case Raised::Kind::exception:
      return "exception";
    case Raised::Kind::unavailable:
      return "unavailable";
    case Raised::Kind::command:
    case Raised::Kind::worded:
    case Raised::Kind::interrupted:
      break;
  }
  return "command";
}

std::string line_of(const Reply& reply) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  if (const auto* raised = std::get_if<Raised>(&reply)) {
    writer.key("raised").string(kind_name(raised->kind)).key("type").string(raised->type);
    writer.key("message").string(raised->message);
  } else {
    const auto& returned = std::get<Returned>(reply);
    writer.key("return").json(returned.value).key("retcode").integer(returned.retcode);
  }
  writer.end_object();
  return text + "\n";
}

Json object_of(const std::map<std::string, std::string, std::less<>>& members) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const auto& [key, value] : members) writer.key(key).string(value);
  writer.end_object();
  return Json::trusted(std::move(text));
}

/// What the loader answered to a call.
Reply reply_of(const JsonValue& answer) {
  if (const auto text = answer.find("text"))
    return Raised{Raised::Kind::worded, "", std::string(text->text())};
  if (const auto reason = answer.find("unavailable")) {
    return Raised{Raised::Kind::unavailable, "", std::string(reason->text())};
  }
  const auto retcode = answer.find("retcode").value_or(JsonValue()).integer().value_or(1);
  return Returned{answer.find("return").value_or(JsonValue()).json(), static_cast<int>(retcode),
                  std::string(answer.find("out").value_or(JsonValue()).text())};
}

/// A function of a module's file.
class PythonFunction final : public LoadedFunction {
 public:
  PythonFunction(const Python& python, std::string path, const JsonMember& described, bool is_listed)
      : LoadedFunction(std::string(described.key),
                       std::string(described.value.find("doc").value_or(JsonValue()).text()),
                       described.value.find("argspec").value_or(JsonValue()).json(), is_listed),
        python_(python),
        path_(std::move(path)) {}

  [[nodiscard]] Reply run(const Context& context, std::span<const JsonValue> args,
                          std::span<const JsonMember> kwargs) const override {
    const Arguments sorted = sort_arguments(args, kwargs);
    return call(context, sorted.positional, sorted.keywords);
  }
  [[nodiscard]] Reply call(const Context& context, std::span<const JsonValue> args,
                           std::span<const JsonMember> kwargs) const override {
    return python_.call(context, path_, name(), args, kwargs);
  }

 private:
  const Python& python_;
  const std::string path_;
};

}  // namespace

/// Takes the lines of a loader: answers those that call functions, keeps the last one.
class Python::Answers {
 public:
  /// Null: no function can be called.
  explicit Answers(const Context* context) : context_(context) {}

  std::string take(std::string_view line) {
    is_valid_ = document_.parse(line, line_limits()).ok() && document_.root().size() != 0;
    const auto fun = document_.root().find("call");
    if (!fun) return "";
    is_valid_ = false;  // it is no answer
    return line_of(call(std::string(fun->text()), document_.root()));
  }

  /// What the program said last; null where that is no answer.
  [[nodiscard]] const JsonDocument* last() const { return is_valid_ ? &document_ : nullptr; }

 private:
  Reply call(const std::string& fun, const JsonValue& request) const {
    if (context_ == nullptr) return command_error("No function is called while modules are loaded.");
    const LoadedFunction* function = context_->engine.modules.find(fun);
    if (function == nullptr) return Raised{Raised::Kind::unavailable, "", fun};
    std::vector<JsonValue> args;
    std::vector<JsonMember> kwargs;
    for (const JsonValue arg : request.find("arg").value_or(JsonValue()).elements()) args.push_back(arg);
    for (const JsonMember kwarg : request.find("kwarg").value_or(JsonValue()).members())
      kwargs.push_back(kwarg);
    JobContext job = context_->job;
    job.fun = fun;
    return function->call({context_->engine, context_->minion, job, context_->stop, context_->deadline}, args,
                          kwargs);
  }

  const Context* const context_;
  JsonDocument document_;
  bool is_valid_ = false;
};

Python::Python(const ProgramRunner& programs, const ScriptSettings& settings, const ModuleOptions& options)
    : programs_(programs), settings_(settings), options_(options), loader_(shipped("module_loader.py")) {}

void Python::set_installed(const std::map<std::string, std::string, std::less<>>& files) {
  installed_ = object_of(files);
}

void Python::set_functions(const std::map<std::string, std::string>& python, const LoadedFunctions& all) {
  python_ = object_of({python.begin(), python.end()});
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const auto& function : all) {
    if (python.count(function->name()) == 0 && function->is_listed()) writer.string(function->name());
  }
  writer.end_array();
  native_ = Json::trusted(std::move(text));
}

Program Python::program() const {
  Program program;
  program.argv = {options_.python, "-I", "-S", "-B", loader_};
  program.environment = settings_.environment;
  program.inherit = settings_.inherit;
  program.identity = settings_.identity;
  return program;
}

std::string Python::request(std::string_view id, const JsonValue& grains, const JsonValue& pillar,
                            const std::function<void(JsonWriter&)>& write_rest) const {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.key("python").json(python_).key("native").json(native_).key("shipped").json(installed_);
  grains.write(writer.key("grains"));
  pillar.write(writer.key("pillar"));
  writer.key("opts").begin_object();
  write_minion_options(writer, id);
  writer.key("rest_fcgi").begin_object().key("file_root").string(options_.file_root).end_object();
  writer.end_object();
  write_rest(writer);
  writer.end_object();
  return text + "\n";
}

std::string Python::index_request(const std::vector<PythonFile>& files) const {
  JsonDocument host;
  (void)host.parse(host_grains().text(), JsonLimits::none());  // written just now
  JsonDocument pillar;
  (void)pillar.parse("{}");
  return request(host_name(), host.root(), pillar.root(), [&files](JsonWriter& writer) {
    writer.key("seconds").number(kLoadSeconds).key("index").begin_array();
    for (const PythonFile& file : files) {
      if (file.refused.empty()) writer.string(file.path);
    }
    writer.end_array();
  });
}

PythonIndex Python::index(const std::vector<PythonFile>& files) const {
  PythonIndex index;
  std::map<std::string, std::string, std::less<>> modules;  // by path
  for (const PythonFile& file : files) {
    if (file.refused.empty()) {
      modules[file.path] = file.module;
    } else {
      index.broken[file.module] = file.refused;
    }
  }
  if (modules.empty()) return index;
  Answers answers(nullptr);
  Program program = this->program();
  program.time_limit = kIndexTime;
  program.input = index_request(files);
  program.on_line = [&answers](std::string_view line) { return answers.take(line); };
  const Result<Ended> ended = programs_.run(program, std::stop_token());
  if (ended && answers.last() != nullptr) {
    log_errors("the Python modules", *ended);
    for (const JsonValue module : answers.last()->root().elements()) take_module(module, modules, index);
    return index;
  }
  index.why_not = ended ? format("Python did not list its modules: {}", stripped(ended->errors))
                        : format("{}: {}", kNoPython, ended.error().message);
  for (const auto& [path, module] : modules) {
    log::warning(format("{} is left out: {}", path, index.why_not));
    index.broken[module] = index.why_not;
  }
  return index;
}

void Python::take_module(const JsonValue& module,
                         const std::map<std::string, std::string, std::less<>>& modules,
                         PythonIndex& index) const {
  const std::string path(module.find("path").value_or(JsonValue()).text());
  if (modules.count(path) == 0) return;  // a module that disturbs the program may have written this
  if (const auto broken = module.find("broken")) {
    const auto line = module.find("line").value_or(JsonValue()).integer();
    index.broken[modules.at(path)] = broken->text();
    log::warning(
        format("{}{} is left out: {}", path, line ? format(", line {},", *line) : "", broken->text()));
    return;
  }
  const auto missing = module.find("missing").value_or(JsonValue());
  const bool is_there = missing.is(JsonValue::Kind::null);
  if (!is_there) log::info(format("{}: __virtual__ returned False {}", path, missing.text()));
  for (const JsonMember function : module.find("functions").value_or(JsonValue()).members()) {
    index.functions[path].push_back(std::make_unique<const PythonFunction>(*this, path, function, is_there));
  }
}

std::string Python::call_request(const Context& context, const std::string& path, const std::string& fun,
                                 std::span<const JsonValue> args, std::span<const JsonMember> kwargs) const {
  const Minion& minion = context.minion;
  return request(minion.id, minion.grains.root(), minion.pillar.root(), [&](JsonWriter& writer) {
    writer.key("path").string(path).key("fun").string(fun).key("arg").begin_array();
    for (const JsonValue& arg : args) arg.write(writer);
    writer.end_array().key("kwarg").begin_object();
    for (const JsonMember& kwarg : kwargs) kwarg.value.write(writer.key(kwarg.key));
    writer.end_object().key("pub").begin_object();
    write_publication(writer, context.job);
    writer.end_object();
  });
}

Reply Python::call(const Context& context, const std::string& path, const std::string& fun,
                   std::span<const JsonValue> args, std::span<const JsonMember> kwargs) const {
  Context inner = context;
  const auto limit = time_left(context, settings_.timeout).value_or(settings_.timeout);
  inner.deadline = SteadyTime::clock::now() + limit;
  Answers answers(&inner);
  Program program = this->program();
  program.time_limit = limit;
  program.input = call_request(context, path, fun, args, kwargs);
  program.on_line = [&answers](std::string_view line) { return answers.take(line); };
  const Result<Ended> ended = programs_.run(program, context.stop);
  if (!ended) return failed(format("'{}' is not available: {}", fun, kNoPython), ended.error().message);
  const std::string what = format("The function {}", fun);
  if (auto bad = bad_end(what, *ended, settings_)) return *std::move(bad);
  if (answers.last() == nullptr) {
    return failed(format("{} ended its process without an answer", what), ended->errors);
  }
  log_errors(fun, *ended);
  return reply_of(answers.last()->root());
}

}  // namespace rest_fcgi::embedded

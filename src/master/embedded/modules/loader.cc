// SPDX-License-Identifier: MIT
#include "master/embedded/modules/loader.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "master/embedded/modules/module_files.h"
#include "master/embedded/modules/native.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/helper_process.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded {
namespace {

std::string_view module_of(std::string_view name) {
  return name.substr(0, name.find('.'));
}

const LoadedFunction* find_in(const FunctionTable& functions, std::string_view name) {
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : &found->second;
}

bool add_to(FunctionTable& functions, LoadedFunction function) {
  const std::string name = function.name;
  return functions.emplace(name, std::move(function)).second;
}

StringMap find_installed_modules(const std::string& folder) {
  StringMap files;
  std::error_code error;
  for (const std::filesystem::path& path : entries_of(folder, error)) {
    if (path.extension() == ".py") files.emplace(path.stem(), path);
  }
  if (error) {
    log::warning(format("{}: {}; the execution modules that are installed with the program are missing",
                        folder, error.message()));
  }
  return files;
}

/// Returns whether the value that a function returned reports a failure. As in Salt, such a value is an
/// object with a false `result` or `success`.
bool reports_failure(const Json& value) {
  const std::string& text = value.text();
  if (!text.starts_with('{')) return false;
  if (text.find("\"result\"") == std::string::npos && text.find("\"success\"") == std::string::npos)
    return false;
  const JsonDocument document = own_document(value);
  for (const std::string_view key : {"result", "success"}) {
    const std::optional<JsonValue> verdict = document.root().find(key);
    if (verdict && !python_bool(*verdict)) return true;
  }
  return false;
}

std::string failure_text(const LoadedFunction& function, const Raised& raised) {
  switch (raised.kind) {
    case Raised::Kind::type_error:
      return format("Passed invalid arguments to {}: {}\n{}", function.name, raised.message, function.doc);
    case Raised::Kind::invocation:
      return format("ERROR executing '{}': {}", function.name, raised.message);
    case Raised::Kind::command:
      return "ERROR: " + raised.message;
    case Raised::Kind::exception:
      return "The minion function caused an exception: " + raised.line();
    default:
      return raised.message;
  }
}

master::Return failure(const Minion& minion, Json text) {
  return {minion.id, std::move(text), 1, false, "nested"};
}

/// Returns Salt's text for an unknown function. The text has the documentation of all functions whose names
/// begin with `fun`.
Json not_available(const Modules& modules, std::string_view fun, const std::string& why) {
  Json sentence = Json::string(why.empty() ? modules.not_available(fun) : why);
  const auto similar = modules.matching(std::string(fun) + "*");
  if (similar.empty()) return sentence;
  return written_object([&](JsonWriter& writer) {
    for (const LoadedFunction* function : similar) writer.key(function->name).string(function->doc);
    writer.key(fun).json(sentence);
  });
}

Reply run(const LoadedFunction& function, const Context& context, std::span<const JsonValue> args,
          std::span<const JsonMember> kwargs) {
  if (function.run) return function.run(context, args, kwargs);
  const lowstate::Arguments sorted = lowstate::sort_arguments(args, kwargs);
  return function.call(context, sorted.positional, sorted.keywords);
}

/// This function is not inlined, so that `execute` needs little stack.
[[gnu::noinline]] master::Return return_of(const Raised& raised, const Engine& engine, const Minion& minion,
                                           std::string_view fun, const LoadedFunction& function) {
  if (raised.kind == Raised::Kind::unavailable) {
    return failure(minion, not_available(engine.modules, fun, raised.message));
  }
  master::Return failed = failure(minion, Json::string(failure_text(function, raised)));
  if (raised.kind == Raised::Kind::interrupted) failed.out.clear();
  return failed;
}

}  // namespace

Modules::Modules(const ModuleOptions& options)
    : options_(options),
      programs_(options.run_helper.empty() ? shipped("rest_fcgi_run") : options.run_helper) {}

Modules::~Modules() = default;

Result<std::shared_ptr<const Modules>> Modules::make(const ModuleOptions& options) {
  std::shared_ptr<Modules> modules(new Modules(options));
  if (Result<void> loaded = modules->load(); !loaded) return std::move(loaded).error();
  return std::shared_ptr<const Modules>(std::move(modules));
}

Result<void> Modules::load() {
  Result<ScriptSettings> settings = script_settings(options_);
  if (!settings) return std::move(settings).error();
  Result<std::vector<ModuleFolder>> folders = read_module_folders(options_, *settings);
  if (!folders) return std::move(folders).error();
  installed_modules_ = find_installed_modules(shipped("modules"));
  python_ = std::make_unique<PythonRunner>(programs_, *settings, options_, installed_modules_);
  if (Result<void> checked = python_->check(); !checked) return checked;

  std::vector<PythonFile> files;
  for (const ModuleFolder& folder : *folders) {
    files.insert(files.end(), folder.python.begin(), folder.python.end());
  }
  PythonIndex index = python_->index(files);
  broken_ = std::move(index.broken);
  StringMap files_of_functions;
  for (ModuleFolder& folder : *folders) {
    for (auto& [path, script] : folder.scripts) add_from_folder(std::move(script), path);
    for (const PythonFile& file : folder.python) {
      for (const LoadedFunction& function : index.functions[file.path]) {
        if (add_from_folder(function, file.path) && function.is_listed)
          files_of_functions.emplace(function.name, file.path);
      }
    }
  }
  for (LoadedFunction& function : native_functions()) {
    if (!broken_.contains(function.module())) add_to(functions_, std::move(function));
  }
  python_->set_functions(files_of_functions, functions_);
  return {};
}

bool Modules::add_from_folder(LoadedFunction function, std::string_view path) {
  const std::string name = function.name;
  if (add_to(functions_, std::move(function))) return true;
  log::warning(
      format("rest_fcgi: embedded: module_dirs: {} of {} is left out: an earlier file has this function",
             name, path));
  return false;
}

const FunctionTable& Modules::installed() const {
  static const FunctionTable kNone;
  const MutexLock lock(mutex_);
  if (!are_listed_) {
    std::vector<PythonFile> files;
    for (const auto& [module, path] : installed_modules_) {
      if (!broken_.contains(module)) files.push_back({module, path, ""});
    }
    PythonIndex index = python_->index(files);
    why_not_listed_ = std::move(index.why_not);
    for (auto& [path, functions] : index.functions) {
      for (LoadedFunction& function : functions) {
        if (!functions_.contains(function.name)) add_to(installed_functions_, std::move(function));
      }
    }
    are_listed_ = why_not_listed_.empty();
  }
  return are_listed_ ? installed_functions_ : kNone;
}

const LoadedFunction* Modules::find(std::string_view name) const {
  if (const LoadedFunction* function = find_in(functions_, name)) return function;
  if (!installed_modules_.contains(module_of(name)) || broken_.contains(module_of(name))) return nullptr;
  return find_in(installed(), name);
}

std::vector<const LoadedFunction*> Modules::all() const {
  std::vector<const LoadedFunction*> all;
  for (const FunctionTable* functions : {&functions_, &installed()}) {
    for (const auto& [name, function] : *functions) {
      if (function.is_listed) all.push_back(&function);
    }
  }
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  return all;
}

std::optional<std::vector<std::string>> Modules::names() const {
  std::vector<std::string> names;
  for (const FunctionTable* functions : {&functions_, &installed()}) {
    for (const auto& [name, function] : *functions) names.emplace_back(name);
  }
  const MutexLock lock(mutex_);
  return are_listed_ ? std::optional(std::move(names)) : std::nullopt;
}

bool Modules::is_broken(std::string_view module) const {
  if (broken_.contains(module)) return true;
  if (!installed_modules_.contains(module)) return false;
  const auto has_function = [module](const FunctionTable& functions) {
    return std::any_of(functions.begin(), functions.end(),
                       [module](const auto& entry) { return module_of(entry.first) == module; });
  };
  return !has_function(functions_) && !has_function(installed());
}

std::vector<const LoadedFunction*> Modules::matching(std::string_view glob) const {
  std::vector<const LoadedFunction*> matching = all();
  std::erase_if(matching, [glob](const auto* function) { return !glob_match(glob, function->name); });
  return matching;
}

std::string Modules::not_available(std::string_view name) const {
  const std::string_view module = module_of(name);
  if (const auto broken = broken_.find(module); broken != broken_.end()) {
    return format("'{}' __virtual__ returned False: {}", module, broken->second);
  }
  const MutexLock lock(mutex_);
  if (installed_modules_.contains(module) && !why_not_listed_.empty()) {
    return format("'{}' is not available: {}", name, why_not_listed_);
  }
  return format("'{}' is not available.", name);
}

bool Modules::is_quick(std::string_view name) const {
  if (const LoadedFunction* function = find_in(functions_, name)) return function->is_quick;
  const MutexLock lock(mutex_);
  return are_listed_ && find_in(installed_functions_, name) == nullptr;
}

master::Return execute(const Engine& engine, const Minion& minion, std::string_view fun,
                       std::span<const JsonValue> args, std::span<const JsonMember> kwargs,
                       const JobContext& job, const std::stop_token& stop) {
  const LoadedFunction* function = engine.modules.find(fun);
  if (function == nullptr) return failure(minion, not_available(engine.modules, fun, ""));
  Reply reply = run(*function, {engine, minion, job, stop}, args, kwargs);
  if (const auto* raised = std::get_if<Raised>(&reply)) {
    return return_of(*raised, engine, minion, fun, *function);
  }
  auto& [value, retcode, out] = std::get<Returned>(reply);
  if (retcode == 0 && reports_failure(value)) retcode = 1;
  return {minion.id, std::move(value), retcode, retcode == 0, std::move(out)};
}

}  // namespace rest_fcgi::embedded

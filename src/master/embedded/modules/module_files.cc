// SPDX-License-Identifier: MIT
#include "master/embedded/modules/module_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "master/embedded/modules/cmd_program.h"
#include "master/embedded/modules/native.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::embedded {
namespace {

namespace fs = std::filesystem;

// The largest number of bytes of a program's standard error that an error message quotes.
constexpr std::size_t kShownErrors = 2048;
// The number of bytes at the start of a script that may contain its documentation.
constexpr std::size_t kDocBytes = 16384;
constexpr const char* kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string input_for(const Context& context, std::span<const JsonValue> args,
                      std::span<const JsonMember> kwargs) {
  // Removes the `__pub_` arguments, because the script's input has members of its own for the data of the
  // job.
  std::vector<JsonMember> own(kwargs.begin(), kwargs.end());
  std::erase_if(own, [](const JsonMember& keyword) { return keyword.key.starts_with("__pub_"); });
  return written_object([&](JsonWriter& writer) {
           const auto& [engine, minion, job, stop, deadline] = context;
           writer.key("id").string(minion.id).key("fun").string(job.fun);
           write_arguments(writer, "arg", args, "kwarg", own);
           minion.grains.root().write(writer.key("jid").string(job.jid).key("grains"));
           minion.pillar.root().write(writer.key("pillar"));
         }).text() +
         "\n";
}

/// Returns whether a word is a number that JSON cannot express: `NaN`, `-Infinity`, `inf` or `1e999`.
bool is_not_finite(std::string_view word) {
  constexpr std::array<std::string_view, 3> kNames = {"nan", "inf", "infinity"};
  const std::string name = lower(word.substr(word.starts_with('-') || word.starts_with('+') ? 1 : 0));
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  return name.find('e') != std::string::npos && std::isinf(std::strtod(name.c_str(), nullptr));
}

/// Returns the UTF-16 code unit of an escape `\uXXXX` at the start of the text. Returns 0 for any other text.
unsigned escaped_unit(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return 0;
  return parse_number<unsigned>(text.substr(2, 4), 16).value_or(0);
}

/// Returns how many bytes of the JSON escape at the start of `text` are copied unchanged: 12 for a pair of
/// surrogates, 0 for a lone surrogate, and 2 for any other escape. The digits of `\uXXXX` are not counted,
/// because they are copied as ordinary characters. Returns 1 if the text ends after the backslash.
std::size_t escape_length(std::string_view text) {
  const auto is_between = [](unsigned unit, unsigned low, unsigned high) {
    return unit >= low && unit <= high;
  };
  const unsigned unit = escaped_unit(text);
  if (!is_between(unit, 0xD800, 0xDFFF)) return std::min<std::size_t>(text.size(), 2);
  const bool is_pair = unit < 0xDC00 && is_between(escaped_unit(text.substr(6)), 0xDC00, 0xDFFF);
  return is_pair ? 12 : 0;
}

/// Turns a program's output into valid JSON. Malformed UTF-8 and lone surrogates become U+FFFD. NaN,
/// infinities and too large numbers become null.
std::string repaired(std::string_view output) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  constexpr std::string_view kWord = "+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string text;
  text.reserve(output.size());
  bool in_string = false;
  while (!output.empty()) {
    std::size_t length = utf8_length(output);
    std::string_view part = output.substr(0, length);
    if (length == 0) {
      length = 1;
      part = kReplacement;
    } else if (in_string && output.front() == '\\') {
      length = escape_length(output);
      part = length == 0 ? kReplacement : output.substr(0, length);
      if (length == 0) length = 6;
    } else if (output.front() == '"') {
      in_string = !in_string;
    } else if (!in_string && kWord.find(output.front()) != std::string_view::npos) {
      length = std::min(output.find_first_not_of(kWord), output.size());
      part = is_not_finite(output.substr(0, length)) ? std::string_view("null") : output.substr(0, length);
    }
    text.append(part);
    output.remove_prefix(length);
  }
  return text;
}

bool is_word(std::string_view text) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !text.empty() && lower(text).find_first_not_of(kCharacters) == std::string::npos;
}

bool is_function_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot != std::string_view::npos && lower(name) == name && is_word(name.substr(0, dot)) &&
         is_word(name.substr(dot + 1));
}

void log_left_out(const std::string& path, std::string_view reason) {
  log::warning(format("rest_fcgi: embedded: module_dirs: {} is left out: {}", path, reason));
}

std::optional<std::string> reason_for_distrust(const fs::path& path) {
  const auto part = changeable_part(path);
  if (!part) return std::nullopt;
  return format("{} can be changed by users other than root and the server's user", *part);
}

/// `file` is `path` with symbolic links resolved.
void read_python(const fs::path& path, const fs::path& file, ModuleFolder& folder) {
  const std::string module = path.stem();
  if (module.starts_with('_')) return;  // Salt's loader ignores files whose names begin with `_`.
  if (!is_word(module)) {
    log_left_out(path, "expected a name of letters, digits and underscores");
    return;
  }
  PythonFile found{module, path, reason_for_distrust(file).value_or("")};
  if (!found.refused.empty()) log_left_out(path, found.refused);
  folder.python.push_back(std::move(found));
}

/// Returns the comment at the start of a script, without the `#!` line.
std::string script_doc(std::string_view text) {
  std::string doc;
  if (text.starts_with("#!")) next_token(text, '\n');
  while (text.starts_with('#') || (doc.empty() && text.starts_with('\n'))) {
    std::string_view line = next_token(text, '\n');
    if (line.empty()) continue;
    line.remove_prefix(line.starts_with("# ") ? 2 : 1);
    doc.append(line).append("\n");
  }
  return std::string(stripped(doc));
}

/// The script reads the call as a JSON object from standard input, and prints its return as JSON.
Reply run_script(const std::string& name, const std::string& path, const ScriptSettings& settings,
                 const Context& context, std::span<const JsonValue> args,
                 std::span<const JsonMember> kwargs) {
  Program program = settings.program;
  program.argv = {path};
  program.time_limit = time_left(context, settings.timeout);
  program.input = input_for(context, args, kwargs);
  const Result<Ended> ended = context.engine.modules.programs().run(program, context.stop);
  const std::string what = format("The script {}", name);
  if (!ended) return failed(format("{} cannot be run", what), ended.error().message);
  if (auto failure = failure_of(what, *ended, settings)) return *std::move(failure);
  if (ended->output_cut) {
    return failed(format("{} printed more than {} bytes", what, ended->output.size()), ended->errors);
  }
  log_errors(name, *ended);
  const std::string_view output = stripped(ended->output);
  if (output.empty()) return Returned{};
  JsonDocument document;
  Result<void> parsed = document.parse(output);
  if (!parsed) parsed = document.parse(repaired(output));
  if (!parsed) return failed(format("{} printed text that is not JSON", what), parsed.error().message);
  return Returned{document.root().json()};
}

void read_script(const fs::path& path, const fs::path& file, const ScriptSettings& settings,
                 ModuleFolder& folder) {
  const std::string name = path.filename();
  const bool runs = is_executable(file);
  if (!is_function_name(name)) {
    if (runs) log_left_out(path, "expected a name MODULE.FUNCTION of small letters, digits and underscores");
  } else if (!runs) {
    log_left_out(path, "it is not executable");
  } else if (const auto suspected = reason_for_distrust(file)) {
    log_left_out(path, *suspected);
  } else {
    LoadedFunction function{
        name, script_doc(read_text(file, kDocBytes).value_or("")),
        Json::trusted(R"({"args": null, "defaults": null, "varargs": true, "kwargs": true})"),
        std::bind_front(run_script, name, file.string(), settings)};
    folder.scripts.emplace_back(file, std::move(function));
  }
}

Result<ModuleFolder> read_folder(const std::string& path, const ScriptSettings& settings) {
  ModuleFolder folder;
  std::error_code error;
  const std::vector<fs::path> entries = entries_of(path, error);
  if (error) {
    return wrong_setting("rest_fcgi: embedded: module_dirs",
                         format("{}: {}; expected a folder that can be read", path, error.message()));
  }
  if (const auto suspected = reason_for_distrust(fs::canonical(path, error))) {
    log_left_out(path, *suspected);
    return folder;
  }
  for (const fs::path& entry : entries) {
    const fs::path file = fs::canonical(entry, error);
    if (error || !fs::is_regular_file(file, error)) continue;
    if (entry.extension() == ".py") {
      read_python(entry, file, folder);
    } else {
      read_script(entry, file, settings, folder);
    }
  }
  return folder;
}

}  // namespace

std::vector<fs::path> entries_of(const std::string& folder, std::error_code& error) {
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    entries.push_back(entry->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

Result<ScriptSettings> script_settings(const ModuleOptions& options) {
  ScriptSettings settings{options.script_timeout, {}};
  std::string user = options.script_user;
  const bool is_here = ProgramRunner(options.run_helper).is_here();
  // Without `script_user`, the script runs as the user of rest_fcgi_run's systemd unit. The script inherits
  // HOME and USER from rest_fcgi_run.
  if (user.empty() && !is_here) {
    settings.program.environment = {kPath, "LANG=C.UTF-8"};
    settings.program.inherit = true;
    return settings;
  }
  if (user.empty()) user = user_name(::geteuid()).value_or("");
  const std::optional<Account> account = account_of(user);
  if (!account && !options.script_user.empty()) {
    return wrong_setting("rest_fcgi: embedded: script_user", format("unknown user {}", user));
  }
  const Account owner = account.value_or(Account{user, ::geteuid(), ::getegid(), "/", ""});
  settings.program.environment = {kPath,
                                  "LANG=C.UTF-8",
                                  "SHELL=/bin/sh",
                                  "HOME=" + owner.home,
                                  "USER=" + owner.name,
                                  "LOGNAME=" + owner.name};
  if (options.script_user.empty()) return settings;
  settings.program.identity = identity_of(*account);
  if (is_here && ::geteuid() != 0 && account->uid != ::geteuid()) {
    log::warning(format(
        "rest_fcgi: embedded: script_user: scripts cannot run as {}: this process does not run as root",
        user));
  }
  return settings;
}

std::string_view end_of(std::string_view text) {
  const std::string_view whole = stripped(text);
  return whole.substr(whole.size() - std::min(whole.size(), kShownErrors));
}

Reply failed(const std::string& what_happened, std::string_view errors, int retcode) {
  const std::string_view end = end_of(errors);
  return Returned{Json::string(format("{}{}{}", what_happened, end.empty() ? "." : ": ", end)), retcode, ""};
}

std::optional<Reply> failure_of(const std::string& what, const Ended& ended, const ScriptSettings& settings) {
  switch (ended.how) {
    case Ended::How::stopped:
      return terminated();
    case Ended::How::timed_out: {
      const double seconds = std::chrono::duration<double>(settings.timeout).count();
      return failed(format("{} took longer than {} seconds and was ended", what, seconds), ended.errors);
    }
    case Ended::How::killed:
      return failed(format("{} was ended by signal {}", what, -ended.code), ended.errors, ended.code);
    case Ended::How::exited:
      break;
  }
  if (ended.code == 0) return std::nullopt;
  return failed(format("{} ended with exit status {}", what, ended.code), ended.errors, ended.code);
}

void log_errors(std::string_view function, const Ended& ended) {
  const std::string_view errors = end_of(ended.errors);
  if (!errors.empty()) log::warning(format("{} wrote to standard error: {}", function, errors));
}

Result<std::vector<ModuleFolder>> read_module_folders(const ModuleOptions& options,
                                                      const ScriptSettings& settings) {
  std::vector<ModuleFolder> folders;
  StringMap seen;
  for (const std::string& path : options.module_dirs) {
    Result<ModuleFolder> folder = read_folder(path, settings);
    if (!folder) return std::move(folder).error();
    std::erase_if(folder->python, [&seen](const PythonFile& file) {
      const auto [first, is_new] = seen.emplace(file.module, file.path);
      if (!is_new) log_left_out(file.path, format("{} already has this module", first->second));
      return !is_new;
    });
    folders.push_back(*std::move(folder));
  }
  return folders;
}

}  // namespace rest_fcgi::embedded

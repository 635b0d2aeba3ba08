// SPDX-License-Identifier: MIT
#include "master/embedded/modules/cmd_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::embedded {
namespace {

constexpr struct {
  std::string_view name;
  std::string_view reason;
} kUnsupported[] = {
    {"template", "commands are not rendered"},
    {"log_callback", "it is for callers in Python"},
    {"use_vt", "commands run without a terminal"},
    {"bg", "use the client local_async; its job can be looked up and ended"},
    {"password", "it is for Windows"},
    {"encoded_cmd", "it is for PowerShell"},
};

bool is_utf8(std::string_view encoding) {
  std::string name = lower(encoding);
  std::erase_if(name, [](char c) { return c == '-' || c == '_'; });
  return name == "utf8";
}

/// Variables that a service manager sets only for this process. Commands do not inherit them.
constexpr const char* kOwnVariables[] = {"NOTIFY_SOCKET", "LISTEN_FDS",    "LISTEN_FDNAMES",
                                         "LISTEN_PID",    "WATCHDOG_USEC", "WATCHDOG_PID"};

constexpr std::string_view kLocaleVariables =
    "LC_CTYPE LC_NUMERIC LC_TIME LC_COLLATE LC_MONETARY LC_MESSAGES LC_PAPER LC_NAME LC_ADDRESS LC_TELEPHONE "
    "LC_MEASUREMENT LC_IDENTIFICATION LANGUAGE";

/// The PATH of programs that rest_fcgi_run starts in its own systemd unit. This process does not know the
/// unit's PATH.
constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

StringMap inherited_variables() {
  StringMap variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const char* name : kOwnVariables) variables.erase(name);
  return variables;
}

std::optional<Raised> add_variables(const JsonValue& env, StringMap& variables) {
  if (!python_bool(env)) return std::nullopt;
  std::vector<JsonValue> objects;
  for (const JsonValue part : env.elements()) objects.push_back(part);
  if (!env.is(JsonValue::Kind::array)) objects.push_back(env);
  for (const JsonValue& object : objects) {
    if (!object.is(JsonValue::Kind::object)) {
      return Raised::invocation_error(
          format("env must be a dictionary or a list of dictionaries; found {}.", object.python_repr()));
    }
    for (const auto& [name, value] : object.members()) {
      if (name.empty() || name.find('=') != std::string_view::npos) {
        return Raised::invocation_error(format("'{}' cannot be the name of an environment variable.", name));
      }
      variables[std::string(name)] = value.is(JsonValue::Kind::null) ? "" : value.python_str();
    }
  }
  return std::nullopt;
}

bool is_folder(const std::string& path) {
  struct stat status = {};
  return path.find('\0') == std::string::npos && ::stat(path.c_str(), &status) == 0 &&
         S_ISDIR(status.st_mode);
}

/// Returns the elements of a list, or the items of a comma-separated text (salt.utils.args.split_input).
std::vector<std::string> split_input(const JsonValue& value) {
  std::vector<std::string> parts;
  if (value.is(JsonValue::Kind::array)) {
    for (const JsonValue part : value.elements()) parts.push_back(part.python_str());
    return parts;
  }
  const std::string text = value.python_str();
  for (const std::string_view part : split(text, ",")) parts.emplace_back(stripped(part));
  return parts;
}

/// Parses the options in Salt's order. Stops at the first error.
class CmdParser {
 public:
  CmdParser(const CmdOptions& options, bool is_here) : options_(options), is_here_(is_here) {}
  std::variant<CmdProgram, Raised> parse();

 private:
  using Problem = std::optional<Raised>;
  Problem check_support();
  Problem parse_flags();
  Problem parse_identity();
  Problem parse_folder();
  Problem parse_shell();
  Problem parse_environment();
  Problem parse_umask();
  Problem parse_timeout();
  Problem parse_command();
  Problem parse_successes();
  [[nodiscard]] bool flag(std::string_view name) const { return python_bool(option(options_, name)); }
  [[nodiscard]] bool given(std::string_view name) const {
    return !option(options_, name).is(JsonValue::Kind::null);
  }

  const CmdOptions& options_;
  // Whether this process itself starts rest_fcgi_run, which starts the program. Otherwise systemd starts
  // rest_fcgi_run in a unit that has its own user, folders and variables.
  const bool is_here_;
  CmdProgram parsed_;
  Program& program_ = parsed_.program;
  std::optional<Account> account_;
  std::string shell_;
  bool uses_shell_ = false;
};

std::variant<CmdProgram, Raised> CmdParser::parse() {
  for (const auto step : {&CmdParser::check_support, &CmdParser::parse_flags, &CmdParser::parse_identity,
                          &CmdParser::parse_folder, &CmdParser::parse_shell, &CmdParser::parse_environment,
                          &CmdParser::parse_umask, &CmdParser::parse_timeout, &CmdParser::parse_command,
                          &CmdParser::parse_successes}) {
    if (Problem problem = (this->*step)()) return *std::move(problem);
  }
  return std::move(parsed_);
}

CmdParser::Problem CmdParser::check_support() {
  static const Signature cmd_run = parse_usage(kCmdRunUsage);
  const auto& known = cmd_run.parameters;
  for (const auto& [name, value] : options_) {
    if (name != "stdin_raw_newlines" && std::find(known.begin(), known.end(), name) == known.end())
      return Raised::invocation_error(format("Unknown argument '{}'.", name));
  }
  for (const auto& [name, reason] : kUnsupported) {
    if (flag(name))
      return Raised::invocation_error(format("The argument '{}' is not supported: {}.", name, reason));
  }
  const JsonValue encoding = option(options_, "output_encoding");
  if (!given("output_encoding") || is_utf8(encoding.text())) return std::nullopt;
  return Raised::invocation_error(
      format("The output_encoding '{}' is not supported: output is read as UTF-8.", encoding.python_str()));
}

CmdParser::Problem CmdParser::parse_flags() {
  parsed_.strip_end = !given("rstrip") || flag("rstrip");
  parsed_.ignore_retcode = flag("ignore_retcode");
  program_.merge_errors = flag("redirect_stderr");
  uses_shell_ = flag("python_shell");
  if (!given("stdin")) return std::nullopt;
  std::string& input = program_.input = option(options_, "stdin").python_str();
  if (flag("stdin_raw_newlines")) return std::nullopt;
  for (std::size_t at = 0; (at = input.find("\\n", at)) != std::string::npos; ++at)
    input.replace(at, 2, "\n");
  return std::nullopt;
}

CmdParser::Problem CmdParser::parse_identity() {
  if (flag("runas")) {
    const std::string user = option(options_, "runas").python_str();
    account_ = account_of(user);
    if (!account_) return Raised::command_error(format("User '{}' is not available", user));
    program_.identity = identity_of(*account_);
  }
  if (flag("group")) {
    const std::string group = option(options_, "group").python_str();
    const std::optional<gid_t> gid = group_id(group);
    if (!gid) return Raised::command_error(format("Group '{}' is not available", group));
    if (!program_.identity) program_.identity = Identity{::geteuid(), 0, {}};
    program_.identity->gid = *gid;
    program_.identity->groups.push_back(*gid);
  }
  const auto& identity = program_.identity;
  if (::geteuid() == 0 || !identity || !is_here_) return std::nullopt;
  if (identity->uid == ::geteuid() && identity->gid == ::getegid()) return std::nullopt;
  return Raised::command_error(
      "The arguments runas and group need a process that runs as root; this process does not run as root.");
}

CmdParser::Problem CmdParser::parse_folder() {
  if (flag("cwd")) {
    program_.cwd = option(options_, "cwd").python_str();
    if (program_.cwd.starts_with('/') && (!is_here_ || is_folder(program_.cwd))) return std::nullopt;
    return Raised::command_error(
        format("Specified cwd '{}' either not absolute or does not exist", program_.cwd));
  }
  if (!is_here_) {
    program_.cwd.clear();  // If `cwd` is empty, the program runs in the home of its user.
    return std::nullopt;
  }
  const char* const own = std::getenv("HOME");
  const std::string home = account_ ? account_->home : own == nullptr ? "" : own;
  program_.cwd = is_folder(home) && ::access(home.c_str(), R_OK) == 0 ? home : "/";
  return std::nullopt;
}

CmdParser::Problem CmdParser::parse_shell() {
  shell_ = flag("shell") ? option(options_, "shell").python_str() : "/bin/sh";
  if (!is_here_ || is_executable(shell_)) return std::nullopt;
  return Raised::command_error(format("The shell {} is not available", shell_));
}

/// Collects environment variables from four sources: `env`, the C locale, the account of the user `runas`,
/// and the environment of this process. If several sources have a variable, the first of them determines its
/// value. Puts `prepend_path` in front of the resulting PATH.
CmdParser::Problem CmdParser::parse_environment() {
  StringMap variables;
  if (Problem problem = add_variables(option(options_, "env"), variables)) return problem;
  if (!given("reset_system_locale") || flag("reset_system_locale")) {
    for (const std::string_view name : split_words(kLocaleVariables))
      variables.try_emplace(std::string(name), "C");
  }
  if (account_) {
    variables.try_emplace("USER", account_->name);
    variables.try_emplace("LOGNAME", account_->name);
    variables.try_emplace("HOME", account_->home);
    variables.try_emplace("SHELL", account_->shell);
  }
  if (is_here_ && !flag("clean_env")) variables.merge(inherited_variables());
  if (flag("prepend_path")) {
    std::string& path = variables.try_emplace("PATH", is_here_ ? "" : kDefaultPath).first->second;
    path = option(options_, "prepend_path").python_str() + (path.empty() ? "" : ":" + path);
  }
  for (const auto& [name, value] : variables) program_.environment.push_back(format("{}={}", name, value));
  program_.inherit = !is_here_ && !flag("clean_env");
  return std::nullopt;
}

CmdParser::Problem CmdParser::parse_umask() {
  if (!given("umask")) return std::nullopt;
  const std::string text = option(options_, "umask").python_str();
  const auto mask = parse_number<unsigned>(text, 8);
  if (only_of(text, "0") || text.empty()) return Raised::command_error("Zero umask is not allowed.");
  if (!mask || *mask > 0777) return Raised::command_error(format("Invalid umask: '{}'", text));
  program_.umask = *mask;
  return std::nullopt;
}

CmdParser::Problem CmdParser::parse_timeout() {
  if (!flag("timeout")) return std::nullopt;
  constexpr double kMaxSeconds = 10.0 * 365 * 86400;
  const JsonValue timeout = option(options_, "timeout");
  parsed_.timeout = timeout.python_str();
  const std::optional<double> seconds =
      timeout.is(JsonValue::Kind::boolean) ? std::optional(1.0) : timeout.number();
  if (!seconds) {
    return Raised::invocation_error(
        format("timeout must be a number of seconds; found {}.", timeout.python_repr()));
  }
  program_.time_limit =
      std::chrono::milliseconds(std::llround(std::clamp(*seconds, 0.0, kMaxSeconds) * 1000));
  return std::nullopt;
}

CmdParser::Problem CmdParser::parse_command() {
  const JsonValue command = option(options_, "cmd");
  std::vector<std::string> words;
  parsed_.shown = command.python_str();
  if (command.is(JsonValue::Kind::array)) {
    for (const JsonValue word : command.elements()) words.push_back(word.python_str());
  } else if (uses_shell_) {
    words.push_back(parsed_.shown);
  } else {
    auto found = shlex_split(parsed_.shown);
    if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
    words = std::get<std::vector<std::string>>(std::move(found));
    const Json list = written_json([&words](JsonWriter& writer) { write_strings(writer, words); });
    parsed_.shown = own_document(list).root().python_repr();
  }
  if (words.empty() || words[0].empty())
    return Raised::command_error("There is no command to run: 'cmd' is empty.");
  if (uses_shell_) words.insert(words.begin(), {shell_, "-c"});
  program_.argv = std::move(words);
  return std::nullopt;
}

CmdParser::Problem CmdParser::parse_successes() {
  if (given("success_stdout")) parsed_.success_stdout = split_input(option(options_, "success_stdout"));
  if (given("success_stderr")) parsed_.success_stderr = split_input(option(options_, "success_stderr"));
  if (!given("success_retcodes")) return std::nullopt;
  parsed_.success_retcodes.clear();
  for (const std::string& text : split_input(option(options_, "success_retcodes"))) {
    const std::optional<std::int64_t> code = python_int(text);
    if (!code) return Raised::invocation_error("success_retcodes must be a list of integers");
    parsed_.success_retcodes.push_back(*code);
  }
  return std::nullopt;
}

}  // namespace

CmdOptions cmd_options(const Call& call) {
  CmdOptions options;
  for (std::size_t i = 0; i < call.values.size(); ++i) options[call.parameters[i]] = call.values[i];
  for (const auto& [key, value] : call.keywords) {
    if (!key.starts_with("__pub_")) options[key] = value;
  }
  return options;
}

std::variant<CmdProgram, Raised> parse_cmd_program(const CmdOptions& options, bool is_here) {
  return CmdParser(options, is_here).parse();
}

bool is_executable(const std::string& path) {
  struct stat status = {};
  return path.find('\0') == std::string::npos && ::stat(path.c_str(), &status) == 0 &&
         S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> which(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (is_executable(name)) return name;
  const char* own = std::getenv("PATH");
  const std::string path = std::string(own == nullptr ? "" : own) +
                           ":/sbin:/bin:/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin";
  for (const std::string_view folder : split(path, ":")) {
    const std::string candidate = format("{}/{}", folder, name);
    if (!folder.empty() && is_executable(candidate)) return candidate;
  }
  return std::nullopt;
}

}  // namespace rest_fcgi::embedded

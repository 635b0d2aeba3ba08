// SPDX-License-Identifier: MIT
#include "master/embedded/modules/cmd_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::embedded {
namespace {

/// What Salt's functions take and these do not, and why.
struct Unsupported {
  std::string_view name;
  std::string_view reason;
};
constexpr std::array kUnsupported = {
    Unsupported{"template", "commands are run as they are, nothing is rendered"},
    Unsupported{"log_callback", "it is for callers in Python"},
    Unsupported{"use_vt", "there is no terminal"},
    Unsupported{"bg", "use the client local_async, whose job can be found again and ended"},
    Unsupported{"password", "it is for Windows"},
    Unsupported{"encoded_cmd", "it is for PowerShell"},
};

bool is_cmd_option(std::string_view name) {
  static const Signature cmd_run = read_usage(kCmdRunUsage);
  const auto& known = cmd_run.parameters;
  return name == "stdin_raw_newlines" || std::find(known.begin(), known.end(), name) != known.end();
}

bool is_utf8(std::string_view encoding) {
  std::string name = lower(encoding);
  std::erase_if(name, [](char c) { return c == '-' || c == '_'; });
  return name == "utf8";
}

/// What is for this process alone: service managers' notes, and sockets that a program does not get.
constexpr std::array<const char*, 6> kOwn = {"NOTIFY_SOCKET", "LISTEN_FDS",    "LISTEN_FDNAMES",
                                             "LISTEN_PID",    "WATCHDOG_USEC", "WATCHDOG_PID"};

constexpr std::array<std::string_view, 13> kLocale = {
    "LC_CTYPE",       "LC_NUMERIC",        "LC_TIME", "LC_COLLATE", "LC_MONETARY",
    "LC_MESSAGES",    "LC_PAPER",          "LC_NAME", "LC_ADDRESS", "LC_TELEPHONE",
    "LC_MEASUREMENT", "LC_IDENTIFICATION", "LANGUAGE"};

/// Of a program that is started where this process does not know the variables.
constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

StringMap own_variables() {
  StringMap variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const char* name : kOwn) variables.erase(name);
  return variables;
}

/// Adds `env`: an object, or a list of such.
std::optional<Raised> add_variables(const JsonValue& env, StringMap& variables) {
  if (!python_bool(env)) return std::nullopt;
  if (env.is(JsonValue::Kind::array)) {
    for (const JsonValue part : env.elements()) {
      if (!part.is(JsonValue::Kind::object)) {
        return invocation_error(format("env has to be a dictionary, or a list of such; found {} in the list.",
                                       part.python_repr()));
      }
      if (auto raised = add_variables(part, variables)) return raised;
    }
    return std::nullopt;
  }
  if (!env.is(JsonValue::Kind::object)) {
    return invocation_error(
        format("env has to be a dictionary, or a list of such; found {}.", env.python_repr()));
  }
  for (const auto& [name, value] : env.members()) {
    if (name.empty() || name.find('=') != std::string_view::npos) {
      return invocation_error(format("'{}' cannot be the name of an environment variable.", name));
    }
    variables[std::string(name)] = value.is(JsonValue::Kind::null) ? "" : value.python_str();
  }
  return std::nullopt;
}

/// The environment of a command, as `NAME=value`: what this process has, unless `clean_env`; the login of
/// `account`, where there is one; `env`; the C locale, unless `reset_system_locale` is off; `prepend_path`.
std::variant<std::vector<std::string>, Raised> cmd_environment(const CmdOptions& options,
                                                               const std::optional<Account>& account,
                                                               bool is_here) {
  StringMap given;
  if (auto raised = add_variables(options["env"], given)) return *std::move(raised);
  const JsonValue reset = options["reset_system_locale"];
  if (reset.is(JsonValue::Kind::null) || python_bool(reset)) {
    for (const std::string_view name : kLocale) given.try_emplace(std::string(name), "C");
  }
  if (account) {
    given.try_emplace("USER", account->name);
    given.try_emplace("LOGNAME", account->name);
    given.try_emplace("HOME", account->home);
    given.try_emplace("SHELL", account->shell);
  }
  if (is_here && !python_bool(options["clean_env"])) given.merge(own_variables());
  if (python_bool(options["prepend_path"])) {
    std::string& path = given.try_emplace("PATH", is_here ? "" : kDefaultPath).first->second;
    path = options["prepend_path"].python_str() + (path.empty() ? "" : ":" + path);
  }
  std::vector<std::string> environment;
  environment.reserve(given.size());
  for (const auto& [name, value] : given) environment.push_back(format("{}={}", name, value));
  return environment;
}

constexpr double kLongest = 10.0 * 365 * 86400;  // seconds; what is longer than that never ends

bool is_folder(const std::string& path) {
  struct stat status = {};
  return path.find('\0') == std::string::npos && ::stat(path.c_str(), &status) == 0 &&
         S_ISDIR(status.st_mode);
}

/// Salt's split_input: the elements of a list, or what stands between commas.
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

/// With a line feed for each `\\n` of two characters.
std::string with_line_feeds(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, "\\n")) out.append(line) += '\n';
  out.pop_back();
  return out;
}

/// Reads step by step, in Salt's order; the first step that has something to complain of is the last.
class CmdReader {
 public:
  CmdReader(const CmdOptions& options, bool is_here) : options_(options), is_here_(is_here) {}
  std::variant<CmdProgram, Raised> read();

 private:
  using Problem = std::optional<Raised>;
  Problem read_flags();
  Problem read_identity();
  Problem read_folder();
  Problem read_shell();
  Problem read_environment();
  Problem read_umask();
  Problem read_timeout();
  Problem read_command();
  Problem read_successes();
  [[nodiscard]] bool flag(std::string_view name) const { return python_bool(options_[name]); }
  [[nodiscard]] bool given(std::string_view name) const { return !options_[name].is(JsonValue::Kind::null); }

  const CmdOptions& options_;
  const bool is_here_;  // else users, folders and variables are those of where the program is started
  CmdProgram read_;
  Program& program_ = read_.program;
  std::optional<Account> account_;
  std::string shell_;
  bool uses_shell_ = false;
};

std::variant<CmdProgram, Raised> CmdReader::read() {
  if (Problem problem = options_.complaint()) return *std::move(problem);
  for (const auto step : {&CmdReader::read_flags, &CmdReader::read_identity, &CmdReader::read_folder,
                          &CmdReader::read_shell, &CmdReader::read_environment, &CmdReader::read_umask,
                          &CmdReader::read_timeout, &CmdReader::read_command, &CmdReader::read_successes}) {
    if (Problem problem = (this->*step)()) return *std::move(problem);
  }
  return std::move(read_);
}

CmdReader::Problem CmdReader::read_flags() {
  read_.strip_end = !given("rstrip") || flag("rstrip");
  read_.ignore_retcode = flag("ignore_retcode");
  program_.merge_errors = flag("redirect_stderr");
  uses_shell_ = flag("python_shell");
  if (!given("stdin")) return std::nullopt;
  std::string input = options_["stdin"].python_str();
  program_.input = flag("stdin_raw_newlines") ? std::move(input) : with_line_feeds(input);
  return std::nullopt;
}

CmdReader::Problem CmdReader::read_identity() {
  if (flag("runas")) {
    const std::string user = options_["runas"].python_str();
    account_ = account_of(user);
    if (!account_) return command_error(format("User '{}' is not available", user));
    program_.identity = identity_of(*account_);
  }
  if (flag("group")) {
    const std::string group = options_["group"].python_str();
    const std::optional<gid_t> gid = group_id(group);
    if (!gid) return command_error(format("Group '{}' is not available", group));
    if (!program_.identity) program_.identity = Identity{::geteuid(), 0, {}};
    program_.identity->gid = *gid;
    program_.identity->groups.push_back(*gid);
  }
  const auto& identity = program_.identity;
  if (::geteuid() == 0 || !identity || !is_here_) return std::nullopt;
  if (identity->uid == ::geteuid() && identity->gid == ::getegid()) return std::nullopt;
  return command_error(
      "The arguments runas and group need a process that runs as root, which this one does not.");
}

CmdReader::Problem CmdReader::read_folder() {
  if (flag("cwd")) {
    program_.cwd = options_["cwd"].python_str();
    if (program_.cwd.starts_with('/') && (!is_here_ || is_folder(program_.cwd))) return std::nullopt;
    return command_error(format("Specified cwd '{}' either not absolute or does not exist", program_.cwd));
  }
  if (!is_here_) {
    program_.cwd.clear();  // the home folder of whoever runs it
    return std::nullopt;
  }
  const char* const own = std::getenv("HOME");
  const std::string home = account_ ? account_->home : own == nullptr ? "" : own;
  program_.cwd = is_folder(home) && ::access(home.c_str(), R_OK) == 0 ? home : "/";
  return std::nullopt;
}

CmdReader::Problem CmdReader::read_shell() {
  shell_ = flag("shell") ? options_["shell"].python_str() : "/bin/sh";
  if (!is_here_ || is_executable(shell_)) return std::nullopt;
  return command_error(format("The shell {} is not available", shell_));
}

CmdReader::Problem CmdReader::read_environment() {
  auto environment = cmd_environment(options_, account_, is_here_);
  program_.inherit = !is_here_ && !flag("clean_env");
  if (auto* raised = std::get_if<Raised>(&environment)) return std::move(*raised);
  program_.environment = std::get<std::vector<std::string>>(std::move(environment));
  return std::nullopt;
}

CmdReader::Problem CmdReader::read_umask() {
  if (!given("umask")) return std::nullopt;
  const std::string text = options_["umask"].python_str();
  const std::string digits = text.substr(std::min(text.find_first_not_of('0'), text.size()));
  if (digits.empty()) return command_error("Zero umask is not allowed.");
  unsigned mask = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), mask, 8);
  if (error != std::errc() || end != digits.data() + digits.size() || mask > 0777) {
    return command_error(format("Invalid umask: '{}'", text));
  }
  program_.umask = mask;
  return std::nullopt;
}

CmdReader::Problem CmdReader::read_timeout() {
  if (!flag("timeout")) return std::nullopt;
  const JsonValue timeout = options_["timeout"];
  read_.timeout = timeout.python_str();
  const std::optional<double> seconds =
      timeout.is(JsonValue::Kind::boolean) ? std::optional(1.0) : timeout.number();
  if (!seconds) {
    return invocation_error(format("timeout must be a number of seconds, found {}.", timeout.python_repr()));
  }
  const double bounded = std::clamp(*seconds, 0.0, kLongest);
  program_.time_limit = std::chrono::milliseconds(std::llround(bounded * 1000));
  return std::nullopt;
}

CmdReader::Problem CmdReader::read_command() {
  const JsonValue command = options_["cmd"];
  std::vector<std::string> words;
  read_.shown = command.python_str();
  if (command.is(JsonValue::Kind::array)) {
    for (const JsonValue word : command.elements()) words.push_back(word.python_str());
  } else if (uses_shell_) {
    words.push_back(read_.shown);
  } else {
    auto found = shlex_split(read_.shown);
    if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
    words = std::get<std::vector<std::string>>(std::move(found));
    const Json list = written_json([&words](JsonWriter& writer) { write_strings(writer, words); });
    read_.shown = own_document(list).root().python_repr();
  }
  if (words.empty() || words[0].empty()) return command_error("There is no command to run: 'cmd' is empty.");
  if (uses_shell_) words.insert(words.begin(), {shell_, "-c"});
  program_.argv = std::move(words);
  return std::nullopt;
}

CmdReader::Problem CmdReader::read_successes() {
  auto& [retcodes, in_output, in_errors] = read_.successes;
  if (given("success_stdout")) in_output = split_input(options_["success_stdout"]);
  if (given("success_stderr")) in_errors = split_input(options_["success_stderr"]);
  if (!given("success_retcodes")) return std::nullopt;
  retcodes.clear();
  for (const std::string& text : split_input(options_["success_retcodes"])) {
    const std::optional<std::int64_t> code = python_int(text);
    if (!code) return invocation_error("success_retcodes must be a list of integers");
    retcodes.push_back(*code);
  }
  return std::nullopt;
}

}  // namespace

CmdOptions::CmdOptions(const Call& call) {
  for (std::size_t i = 0; i < call.values.size(); ++i)
    options_.push_back({call.parameters[i], call.values[i]});
  for (const JsonMember& keyword : call.keywords) {
    if (!keyword.key.starts_with("__pub_")) options_.push_back(keyword);
  }
}

JsonValue CmdOptions::operator[](std::string_view name) const {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [name](const JsonMember& option) { return option.key == name; });
  return found == options_.end() ? JsonValue() : found->value;
}

void CmdOptions::set(std::string_view name, const JsonValue& value) {
  remove(name);
  options_.push_back({name, value});
}

void CmdOptions::remove(std::string_view name) {
  std::erase_if(options_, [name](const JsonMember& option) { return option.key == name; });
}

std::optional<Raised> CmdOptions::complaint() const {
  for (const JsonMember& option : options_) {
    if (!is_cmd_option(option.key)) {
      return invocation_error(format("The argument '{}' is not known here.", option.key));
    }
  }
  for (const auto& [name, reason] : kUnsupported) {
    if (python_bool((*this)[name])) {
      return invocation_error(format("The argument '{}' is not supported: {}.", name, reason));
    }
  }
  const JsonValue encoding = (*this)["output_encoding"];
  if (!encoding.is(JsonValue::Kind::null) && !is_utf8(encoding.text())) {
    return invocation_error(
        format("The output_encoding '{}' is not supported: output is read as UTF-8.", encoding.python_str()));
  }
  return std::nullopt;
}

std::variant<CmdProgram, Raised> read_cmd_program(const CmdOptions& options, bool is_here) {
  return CmdReader(options, is_here).read();
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

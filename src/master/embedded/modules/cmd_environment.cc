// SPDX-License-Identifier: MIT
#include "master/embedded/modules/cmd_environment.h"

#include <unistd.h>

#include <array>
#include <map>
#include <string_view>

#include "master/embedded/modules/replies.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

/// What is for this process alone: service managers' notes, and sockets that a program does not get.
constexpr std::array<std::string_view, 6> kOwn = {"NOTIFY_SOCKET", "LISTEN_FDS",    "LISTEN_FDNAMES",
                                                  "LISTEN_PID",    "WATCHDOG_USEC", "WATCHDOG_PID"};

constexpr std::array<std::string_view, 13> kLocale = {
    "LC_CTYPE",       "LC_NUMERIC",        "LC_TIME", "LC_COLLATE", "LC_MONETARY",
    "LC_MESSAGES",    "LC_PAPER",          "LC_NAME", "LC_ADDRESS", "LC_TELEPHONE",
    "LC_MEASUREMENT", "LC_IDENTIFICATION", "LANGUAGE"};

Variables own_variables() {
  Variables variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const std::string_view name : kOwn) {
    if (const auto found = variables.find(name); found != variables.end()) variables.erase(found);
  }
  return variables;
}

/// Adds `env`: an object, or a list of such.
std::optional<Raised> add(const JsonValue& env, Variables& variables) {
  if (!python_bool(env)) return std::nullopt;
  if (env.is(JsonValue::Kind::array)) {
    for (const JsonValue part : env.elements()) {
      if (!part.is(JsonValue::Kind::object)) {
        return invocation_error(format("env has to be a dictionary, or a list of such; found {} in the list.",
                                       part.python_repr()));
      }
      if (auto raised = add(part, variables)) return raised;
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

}  // namespace

std::variant<std::vector<std::string>, Raised> cmd_environment(const CmdOptions& options,
                                                               const std::optional<Account>& account) {
  Variables given;
  if (auto raised = add(options["env"], given)) return *std::move(raised);
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
  if (!python_bool(options["clean_env"])) given.merge(own_variables());
  if (python_bool(options["prepend_path"])) {
    std::string& path = given["PATH"];
    path = options["prepend_path"].python_str() + (path.empty() ? "" : ":" + path);
  }
  std::vector<std::string> environment;
  environment.reserve(given.size());
  for (const auto& [name, value] : given) environment.push_back(format("{}={}", name, value));
  return environment;
}

}  // namespace rest_fcgi::embedded

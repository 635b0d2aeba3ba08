// SPDX-License-Identifier: MIT
#include "master/embedded/modules/script_dirs.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "master/embedded/host/host_text.h"
#include "master/embedded/host/users.h"
#include "master/embedded/modules/which.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDocBytes = 16384;  // of a script's start

using Scripts = std::vector<std::unique_ptr<const ScriptFunction>>;

Error configuration(std::string message) {
  return {ErrorKind::configuration, std::move(message)};
}

/// `[a-z0-9_]+\.[a-z0-9_]+`
bool is_function_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  const auto is_part = [](std::string_view part) {
    return !part.empty() &&
           part.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
  };
  return dot != std::string_view::npos && is_part(name.substr(0, dot)) && is_part(name.substr(dot + 1));
}

void leave_out(const std::string& path, std::string_view reason) {
  log::warning(format("rest_fcgi: embedded: module_dirs: {} is left out: {}", path, reason));
}

bool is_trusted(const fs::path& path, const std::string& shown) {
  const auto part = changeable_part(path);
  if (part) {
    leave_out(shown, format("{} may be changed by others than root and the user that this runs as", *part));
  }
  return !part;
}

std::vector<std::string> environment_of(const Account& account) {
  return {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
          "LANG=C.UTF-8",
          "SHELL=/bin/sh",
          "HOME=" + account.home,
          "USER=" + account.name,
          "LOGNAME=" + account.name};
}

Result<ScriptSettings> settings_for(const ModuleOptions& options) {
  ScriptSettings settings;
  settings.timeout = options.script_timeout;
  std::string user = options.script_user;
  if (user.empty()) user = user_name(::geteuid()).value_or("");
  const std::optional<Account> account = account_of(user);
  if (!account && !options.script_user.empty()) {
    return configuration(format("rest_fcgi: embedded: script_user: there is no user {}", user));
  }
  settings.environment = environment_of(account.value_or(Account{user, ::geteuid(), ::getegid(), "/", ""}));
  if (options.script_user.empty()) return settings;
  settings.identity = identity_of(*account);
  if (::geteuid() != 0 && account->uid != ::geteuid()) {
    log::warning(format(
        "rest_fcgi: embedded: script_user: scripts cannot run as {}, since this does not run as root", user));
  }
  return settings;
}

/// What is in the folder, sorted.
Result<std::vector<fs::path>> entries_of(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    entries.push_back(entry->path());
  }
  if (error) {
    return configuration(
        format("rest_fcgi: embedded: module_dirs: {}: {}; expected a folder that can be read", folder,
               error.message()));
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// Null where it is left out.
std::unique_ptr<const ScriptFunction> load(const fs::path& path, const ScriptSettings& settings) {
  const std::string name = path.filename();
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  if (error || !fs::is_regular_file(file, error)) return nullptr;
  const bool runs = is_executable(file);
  if (!is_function_name(name)) {
    if (runs)
      leave_out(path, "a function is called MODULE.FUNCTION, in small letters, digits and underscores");
    return nullptr;
  }
  if (!runs) {
    leave_out(path, "it may not be executed");
    return nullptr;
  }
  if (!is_trusted(file, path)) return nullptr;
  return std::make_unique<const ScriptFunction>(
      name, file, script_doc(read_text(file, kDocBytes).value_or("")), settings);
}

Result<void> load_folder(const std::string& folder, const ScriptSettings& settings, Scripts& scripts) {
  const Result<std::vector<fs::path>> entries = entries_of(folder);
  if (!entries) return entries.error();
  std::error_code error;
  if (!is_trusted(fs::canonical(folder, error), folder)) return {};
  for (const fs::path& entry : *entries) {
    std::unique_ptr<const ScriptFunction> script = load(entry, settings);
    if (!script) continue;
    const auto other = std::find_if(scripts.begin(), scripts.end(), [&script](const auto& one) {
      return one->function().name == script->function().name;
    });
    if (other == scripts.end()) {
      scripts.push_back(std::move(script));
    } else {
      leave_out(entry, format("{} comes first", (*other)->path()));
    }
  }
  return {};
}

}  // namespace

std::string script_doc(std::string_view text) {
  std::string doc;
  bool is_first = true;
  while (text.starts_with('#') || (doc.empty() && text.starts_with('\n'))) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool names_interpreter = std::exchange(is_first, false) && line.starts_with("#!");
    if (names_interpreter || line.empty()) continue;
    line.remove_prefix(line.starts_with("# ") ? 2 : 1);
    doc.append(line).append("\n");
  }
  return std::string(stripped(doc));
}

Result<Scripts> load_scripts(const ModuleOptions& options) {
  Scripts scripts;
  Result<ScriptSettings> settings = settings_for(options);
  if (!settings) return std::move(settings).error();
  for (const std::string& folder : options.module_dirs) {
    if (Result<void> loaded = load_folder(folder, *settings, scripts); !loaded) return loaded.error();
  }
  return scripts;
}

}  // namespace rest_fcgi::embedded

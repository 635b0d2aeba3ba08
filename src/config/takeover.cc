// SPDX-License-Identifier: MIT
#include "config/takeover.h"

#include <netinet/in.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "config/sections.h"
#include "config/setup_files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/socket_holder.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::config {
namespace {

constexpr const char* kSaltMaster = "/etc/salt/master";
constexpr const char* kLineFile = "/etc/salt/master.d/rest_fcgi.conf";
constexpr const char* kSaltApi = "salt-api.service";
constexpr const char* kSaltSocket = "rest_fcgi-salt.socket";
constexpr const char* kSaltService = "rest_fcgi-salt.service";

constexpr std::string_view kBefore = "# Before: salt-api was ";
constexpr std::string_view kEnabled[] = {"disabled", "enabled"};
constexpr std::string_view kActive[] = {"stopped", "running"};

/// Returns the port of the section `module`, or 0.
in_port_t port_of(const Node& root, std::string_view module) {
  const Entry* section = root.find(module);
  const Entry* port = section == nullptr ? nullptr : section->value.find("port");
  return port == nullptr ? in_port_t{0} : parse_port(port->value.text).value_or(0);
}

/// Checks that no process except salt-api listens on the ports that rest_fcgi will open.
Result<void> check_ports(const Node& root, const std::vector<std::string>& modules) {
  for (const std::string& module : modules) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_of(root, module));
    const auto holder = find_port_holder(reinterpret_cast<const sockaddr&>(address));
    if (!holder || holder->unit == kSaltApi) continue;
    return init_error(format("port {} of {} is in use: {}. Nothing was changed", port_of(root, module),
                             module, describe(*holder)));
  }
  return {};
}

/// Checks that the service runs as the user of the master.
Result<std::string> check_user(const Node& root) {
  const Entry* user = root.find("user");
  const std::string wanted = user == nullptr ? "root" : user->value.text;
  const std::string ours = output_of({"systemctl", "show", "-P", "User", kSaltService});
  if (ours == wanted) return ours;
  return init_error(
      format("the master runs as {}, and {} runs as {}, expected the same user. Write these two lines with "
             "`systemctl edit {}`, and run --init again:\n[Service]\nUser={}",
             wanted, kSaltService, ours.empty() ? "no user" : ours, kSaltService, wanted));
}

/// Runs the checks of --check-config as the user and with the groups of the service.
bool check_as(const std::string& user) {
  const auto account = account_of(user);
  if (!account) return false;
  std::string groups = std::to_string(account->gid);
  for (const gid_t group : groups_of(*account)) groups += format(",{}", group);
  const std::string more = output_of({"systemctl", "show", "-P", "SupplementaryGroups", kSaltService});
  for (const std::string_view name : split_words(more)) {
    if (const auto group = group_id(std::string(name))) groups += format(",{}", *group);
  }
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error);
  return run_quietly({"setpriv", "--reuid", user, "--regid", std::to_string(account->gid), "--groups", groups,
                      "env", "STATE_DIRECTORY=/var/lib/rest_fcgi-salt", program, "--config", kSaltMaster,
                      "--engine", "salt", "--check-config"});
}

Result<void> restore_salt_api(const UnitState& before) {
  const bool good = (!before.is_enabled || run_program({"systemctl", "enable", kSaltApi})) &&
                    (!before.is_active || run_program({"systemctl", "start", kSaltApi}));
  if (good) return {};
  return Error{ErrorKind::internal, "salt-api did not start again; the lines above have the reason"};
}

/// Ends a failed take-over: everything is as before.
Error undone(const Error& cause, const UnitState& salt_api) {
  ::unlink(kLineFile);
  const Result<void> restored = restore_salt_api(salt_api);
  return {cause.kind, format("--init: {}. {} is removed. {}", cause.message, kLineFile,
                             restored ? "salt-api is as before" : restored.error().message)};
}

}  // namespace

bool has_salt_master() {
  if (!has_systemd() || ::access(kSaltMaster, F_OK) != 0) return false;
  const UnitState master = state_of("salt-master.service");
  return master.is_enabled || master.is_active;
}

Result<std::vector<std::string>> served_modules(const std::string& path) {
  const auto master = read_master_file(path);
  if (!master) return master.error();
  std::vector<std::string> modules;
  for (const char* module : {"rest_cherrypy", "rest_tornado", "rest_wsgi"}) {
    if (port_of(master->root, module) != 0) modules.emplace_back(module);
  }
  return modules;
}

std::string takeover_file(const std::vector<std::string>& modules, const UnitState& salt_api) {
  return format(
      "# Written by rest_fcgi --init. `rest_fcgi --undo` removes this file and goes back to salt-api.\n"
      "{}{} and {}\nrest_fcgi: {{engine: salt, netapi: [{}]}}\n",
      kBefore, kEnabled[salt_api.is_enabled ? 1 : 0], kActive[salt_api.is_active ? 1 : 0], joined(modules));
}

std::optional<UnitState> salt_api_before(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = next_token(text, '\n');
    if (!line.starts_with(kBefore)) continue;
    const auto words = split_words(line.substr(kBefore.size()));
    if (words.size() == 3) return UnitState{words[0] == kEnabled[1], words[2] == kActive[1]};
  }
  return std::nullopt;
}

Result<std::string> take_over() {
  if (auto absent = refuse_existing(kLineFile); !absent) return std::move(absent).error();
  const auto master = read_master_file(kSaltMaster);
  if (!master) return master.error();
  const auto modules = served_modules(kSaltMaster);
  if (!modules) return modules.error();
  if (modules->empty()) {
    return init_error(
        format("found no port in the sections rest_cherrypy, rest_tornado and rest_wsgi of {}, "
               "expected one, as for salt-api",
               kSaltMaster));
  }
  const auto user = check_user(master->root);
  if (!user) return user.error();
  if (auto is_free = check_ports(master->root, *modules); !is_free) return std::move(is_free).error();

  const UnitState salt_api = state_of(kSaltApi);
  if (auto written = write_new(kLineFile, takeover_file(*modules, salt_api), 0, 0644); !written)
    return std::move(written).error();
  if (!check_as(*user)) {
    ::unlink(kLineFile);
    return init_error(
        format("the check above failed. {} is removed, and nothing else was changed", kLineFile));
  }
  if (salt_api.is_enabled || salt_api.is_active) {
    if (auto stopped = stop_units({kSaltApi}); !stopped) return undone(stopped.error(), salt_api);
  }
  if (auto started = start_units({kSaltSocket, kSaltService}); !started)
    return undone(started.error(), salt_api);
  return format(
      "{} is written, and rest_fcgi-salt serves {} in place of salt-api. `rest_fcgi --undo` goes back.\n",
      kLineFile, joined(*modules));
}

Result<std::optional<std::string>> give_back() {
  const auto before = salt_api_before(text_of_file(kLineFile));
  if (!before) return std::optional<std::string>();
  if (auto stopped = stop_units({kSaltSocket, kSaltService}); !stopped) return std::move(stopped).error();
  if (::unlink(kLineFile) != 0) return Error{ErrorKind::internal, format("cannot remove {}", kLineFile)};
  if (auto restored = restore_salt_api(*before); !restored) return std::move(restored).error();
  return std::optional(format("rest_fcgi-salt is off, {} is removed, and salt-api is {} and {}.\n", kLineFile,
                              kEnabled[before->is_enabled ? 1 : 0], kActive[before->is_active ? 1 : 0]));
}

}  // namespace rest_fcgi::config

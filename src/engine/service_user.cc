// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/service_user.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/config/units.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/users.h"
#include "rest_fcgi/engine/engine.h"

namespace rest_fcgi::engine {
namespace {

/// The properties of a unit, as `systemctl show` prints them.
using Unit = std::map<std::string, std::string, std::less<>>;

/// Returns the first unit that runs with the master file `file`.
std::optional<Unit> find_unit(const std::string& file) {
  if (!config::has_systemd()) return std::nullopt;
  // rest_fcgi.service has the file of a Salt master only with the drop-in salt-master.conf.
  const std::string text =
      config::output_of({"systemctl", "show",
                         "--property=ExecStart,User,Group,SupplementaryGroups,StateDirectory,LogsDirectory",
                         "rest_fcgi.service", "rest_fcgi-salt.service"});
  Unit unit;
  const std::string argument =
      format(" --config {} ", std::filesystem::absolute(file).lexically_normal().string());
  const auto is_searched = [&] { return unit["ExecStart"].find(argument) != std::string::npos; };
  // An empty line separates two units.
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = next_token(rest, '\n');
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) unit[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    if (!line.empty() && !rest.empty()) continue;
    if (is_searched()) return unit;
    unit.clear();
  }
  return std::nullopt;
}

/// Returns the paths of the folders that systemd makes for the unit.
std::vector<std::string> folders_of(const Unit& unit, const char* property, const char* above) {
  std::vector<std::string> folders;
  const auto found = unit.find(property);
  if (found == unit.end()) return folders;
  for (const std::string_view name : split_words(found->second))
    folders.push_back(format("{}/{}", above, name));
  return folders;
}

Result<void> become(const Account& account, const std::vector<gid_t>& groups) {
  if (::setgroups(groups.size(), groups.data()) == 0 && ::setgid(account.gid) == 0 &&
      ::setuid(account.uid) == 0)
    return {};
  return Error{ErrorKind::internal, format("cannot take the user {}: {}", account.name, errno_text())};
}

/// Makes a folder of the unit, as systemd does before the first start.
Result<void> make_folder(const std::string& path, const Account& account) {
  if (::mkdir(path.c_str(), S_IRWXU) != 0) {
    return errno == EEXIST ? Result<void>()
                           : Error{ErrorKind::internal, format("{}: cannot be made: {}", path, errno_text())};
  }
  if (::chown(path.c_str(), account.uid, account.gid) == 0) return {};
  return Error{ErrorKind::internal,
               format("{}: cannot get the owner {}: {}", path, account.name, errno_text())};
}

/// Sets STATE_DIRECTORY as the unit of systemd that runs with the master file `config` does. If this process
/// is root, and `stays_root` is false, makes the unit's folders, and takes the user and the groups of the
/// unit. Does nothing if there is no such unit.
Result<void> work_as_service(const std::string& config, bool stays_root) {
  const bool is_root = ::geteuid() == 0;
  const bool has_state = std::getenv("STATE_DIRECTORY") != nullptr;
  if (!is_root && has_state) return {};
  std::optional<Unit> unit = find_unit(config);
  if (!unit) return {};
  const std::vector<std::string> state = folders_of(*unit, "StateDirectory", "/var/lib");
  if (!has_state && !state.empty()) ::setenv("STATE_DIRECTORY", state.front().c_str(), 1);
  const std::string user = (*unit)["User"];
  if (!is_root || stays_root || user.empty()) return {};
  auto account = account_of(user);
  if (!account) {
    return Error{
        ErrorKind::configuration,
        format("User={} of the service: found no such user, expected one: run systemd-sysusers", user)};
  }
  std::vector<gid_t> groups = groups_of(*account);
  if (const auto group = group_id((*unit)["Group"])) account->gid = *group;
  for (const std::string_view name : split_words((*unit)["SupplementaryGroups"])) {
    if (const auto group = group_id(std::string(name))) groups.push_back(*group);
  }
  std::vector<std::string> folders = folders_of(*unit, "LogsDirectory", "/var/log");
  folders.insert(folders.end(), state.begin(), state.end());
  for (const std::string& folder : folders) {
    if (auto made = make_folder(folder, *account); !made) return made;
  }
  return become(*account, groups);
}

/// If this process is root, becomes the owner of the folder of the database `path`. Does nothing if the
/// folder does not exist.
Result<void> work_as_owner(const std::string& path) {
  struct stat status {};
  if (::geteuid() != 0 || path.empty() || ::stat(path.substr(0, path.rfind('/')).c_str(), &status) != 0)
    return {};
  if (status.st_uid == 0) return {};
  const auto name = user_name(status.st_uid);
  const auto account = name ? account_of(*name) : std::nullopt;
  return account ? become(*account, groups_of(*account)) : Result<void>();
}

}  // namespace

Result<config::Settings> settings_of_service(const config::CommandLine& command_line, bool stays_root) {
  if (auto works = work_as_service(command_line.config, stays_root); !works) return std::move(works).error();
  auto settings = read_settings(command_line);
  if (!settings || stays_root) return settings;
  if (auto works = work_as_owner(settings->store.path); !works) return std::move(works).error();
  return settings;
}

}  // namespace rest_fcgi::engine

// SPDX-License-Identifier: MIT
#include "master/embedded/host/processes.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "master/embedded/host/host_text.h"
#include "master/embedded/host/users.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

constexpr std::size_t kLongestCommand = 128 * 1024;

std::vector<pid_t> pids() {
  struct Close {
    void operator()(DIR* folder) const noexcept { ::closedir(folder); }
  };
  const std::unique_ptr<DIR, Close> folder(::opendir("/proc"));
  std::vector<pid_t> found;
  if (folder == nullptr) return found;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name.find_first_not_of("0123456789") != std::string_view::npos) continue;
    found.push_back(static_cast<pid_t>(python_int(name).value_or(0)));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::string command_of(std::string_view cmdline, std::string_view comm) {
  std::string command(cmdline);
  std::replace(command.begin(), command.end(), '\0', ' ');
  std::string joined;
  for (const std::string_view word : words_of(command)) joined.append(joined.empty() ? "" : " ").append(word);
  return joined.empty() ? format("[{}]", stripped(comm)) : joined;
}

std::vector<Process> host_processes() {
  std::map<uid_t, std::string> names;
  std::vector<Process> processes;
  for (const pid_t pid : pids()) {
    const std::string folder = format("/proc/{}", pid);
    struct stat status {};
    const auto comm = read_text(folder + "/comm");
    if (!comm || ::stat(folder.c_str(), &status) != 0) continue;
    auto [name, is_new] = names.try_emplace(status.st_uid);
    if (is_new) name->second = user_name(status.st_uid).value_or(std::to_string(status.st_uid));
    const auto cmdline = read_text(folder + "/cmdline", kLongestCommand);
    processes.push_back({pid, name->second, command_of(cmdline.value_or(""), *comm)});
  }
  return processes;
}

}  // namespace rest_fcgi::embedded

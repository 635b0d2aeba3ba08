// SPDX-License-Identifier: MIT
#include "master/embedded/modules/file_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "master/embedded/modules/file_support.h"
#include "master/embedded/modules/loader.h"
#include "master/embedded/modules/replies.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr std::size_t kDeepest = 100;  // as `remove` takes them
constexpr mode_t kFolderMode = 0777;   // less the umask

/// The names between slashes.
std::vector<std::string> names_in(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end != 0 && path.substr(0, end) != ".") names.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return names;
}

/// Goes one folder down.
UniqueFd enter(const UniqueFd& folder, const std::string& name, bool make) {
  if (make && ::mkdirat(folder.get(), name.c_str(), kFolderMode) != 0 && errno != EEXIST) return UniqueFd();
  return UniqueFd(::openat(folder.get(), name.c_str(), kFolder | O_NOFOLLOW));
}

}  // namespace

std::variant<Place, Raised> place_below_root(const Call& call, const JsonValue& value, bool make_folders) {
  const std::string& root = call.context.engine.modules.options().file_root;
  if (root.empty()) {
    return command_error(
        format("{} is off: set rest_fcgi: embedded: file_root to the folder below which it may "
               "change files",
               call.context.job.fun));
  }
  auto given = path_of(value);
  if (auto* raised = std::get_if<Raised>(&given)) return std::move(*raised);
  const auto& path = std::get<std::string>(given);
  const std::string prefix = root.ends_with('/') ? root : root + "/";
  const auto names = names_in(path.starts_with(prefix) ? std::string_view(path).substr(prefix.size()) : "");
  if (names.empty()) {
    return command_error(
        format("found the path {}, expected one below rest_fcgi: embedded: file_root, {}", path, root));
  }
  if (names.size() > kDeepest) {
    return command_error(
        format("{}: at most {} folders below each other are taken here", excerpt(path, 80), kDeepest));
  }
  if (std::find(names.begin(), names.end(), "..") != names.end()) {
    return command_error(format("{}: no path with .. is taken here", path));
  }
  UniqueFd folder(::open(root.c_str(), kFolder));
  for (std::size_t i = 0; folder.is_open() && i + 1 < names.size(); ++i)
    folder = enter(folder, names[i], make_folders);
  if (!folder.is_open()) return os_error(errno, path);
  return Place{std::move(folder), names.back(), path};
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include "master/embedded/modules/file_support.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <optional>
#include <vector>

#include "master/embedded/host/users.h"
#include "master/embedded/modules/replies.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

/// Whose home stands behind `~`; absent where nobody's does.
std::optional<std::string> home(const std::string& user) {
  if (!user.empty()) return home_of(user);
  if (const char* folder = ::getenv("HOME"); folder != nullptr) return folder;
  const auto self = user_name(::geteuid());
  return self ? home_of(*self) : std::nullopt;
}

std::string expanded(std::string_view path) {
  if (!path.starts_with('~')) return std::string(path);
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::optional<std::string> folder = home(std::string(path.substr(1, end - 1)));
  if (!folder) return std::string(path);
  const std::string whole = *folder + std::string(path.substr(end));
  return whole.empty() ? "/" : whole;
}

void strip(std::string& text, char c) {
  while (text.starts_with(c)) text.erase(0, 1);
  while (text.ends_with(c)) text.pop_back();
}

}  // namespace

std::string normalized_mode(std::string mode) {
  constexpr std::size_t longest = 16;
  if (mode.size() > longest) return mode;  // it is none, whatever it holds
  for (std::size_t at = mode.find("0o"); at != std::string::npos; at = mode.find("0o")) mode.erase(at + 1, 1);
  strip(mode, '"');
  strip(mode, '\'');
  mode.erase(0, mode.find_first_not_of('0'));
  return mode.size() < 4 ? std::string(4 - mode.size(), '0') + mode : mode;
}

std::variant<std::string, Raised> path_of(const JsonValue& value) {
  if (!value.is(JsonValue::Kind::string)) {
    return Raised::type_error(format("expected str, bytes or os.PathLike object, not {}", value.type_name()));
  }
  if (value.text().find('\0') != std::string_view::npos) return Raised::value_error("embedded null byte");
  std::string path = expanded(value.text());
  if (path.size() >= PATH_MAX) return os_error(ENAMETOOLONG, excerpt(path, 80));
  return path;
}

std::string normalized_path(std::string_view path) {
  if (path.empty()) return ".";
  // POSIX leaves two slashes in front, and only two, a meaning of their own.
  const std::string root = path.starts_with("///")  ? "/"
                           : path.starts_with("//") ? "//"
                           : path[0] == '/'         ? "/"
                                                    : "";
  std::vector<std::string_view> kept;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part != ".." || (root.empty() && (kept.empty() || kept.back() == ".."))) {
      kept.push_back(part);
    } else if (!kept.empty()) {
      kept.pop_back();
    }
  }
  std::string normal = root;
  for (std::size_t i = 0; i < kept.size(); ++i) normal.append(i == 0 ? "" : "/").append(kept[i]);
  return normal.empty() ? "." : normal;
}

std::string folder_of(std::string_view path) {
  std::string folder(path.substr(0, path.rfind('/') + 1));
  if (folder.find_first_not_of('/') == std::string::npos) return folder;
  while (folder.ends_with('/')) folder.pop_back();
  return folder;
}

std::string_view name_in_folder(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "master/embedded/modules/file_module.h"
#include "master/embedded/modules/file_root.h"
#include "master/embedded/modules/file_support.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded::file_module {
namespace {

constexpr mode_t kFileMode = 0666;  // less the umask

bool is_job_caches(const Place& place, const Jobs& jobs) {
  struct stat status {};
  return ::fstatat(place.folder.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         jobs.returners().work_on(status);
}

/// Opens a regular file for writing, but none of the job cache's; O_NONBLOCK, since a pipe would wait for its
/// reader. Errors: errno.
UniqueFd open_regular(const Place& place, int flags, const Call& call) {
  if (is_job_caches(place, call.context.engine.jobs)) {
    errno = EPERM;
    return UniqueFd();
  }
  UniqueFd file(::openat(place.folder.get(), place.name.c_str(),
                         flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, kFileMode));
  struct stat status {};
  if (file.is_open() && (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))) {
    file = UniqueFd();
    errno = EINVAL;
  }
  return file;
}

/// The lines to write: positional ones, or those of `args=`.
std::vector<JsonValue> lines_of_call(const Call& call) {
  const auto args = std::find_if(call.keywords.begin(), call.keywords.end(),
                                 [](const JsonMember& member) { return member.key == "args"; });
  if (args == call.keywords.end()) return call.varargs;
  if (!args->value.is(JsonValue::Kind::array)) return {args->value};
  std::vector<JsonValue> lines;
  for (const JsonValue line : args->value.elements()) lines.push_back(line);
  return lines;
}

std::string text_of(const std::vector<JsonValue>& lines) {
  std::string text;
  for (const JsonValue& line : lines) text.append(line.python_str()).append("\n");
  return text;
}

Reply wrote(std::size_t lines, const std::string& path) {
  return Returned{Json::string(format("Wrote {} lines to \"{}\"", lines, path))};
}

/// Does the file end in the middle of a line?
bool lacks_line_end(int file) {
  struct stat status {};
  char last = '\n';
  if (::fstat(file, &status) != 0 || status.st_size == 0) return false;
  return ::pread(file, &last, 1, status.st_size - 1) == 1 && last != '\n';
}

/// Seconds since 1970 as `touch` takes them; absent: now.
std::optional<timespec> time_of(const JsonValue& value) {
  if (value.is(JsonValue::Kind::null)) return timespec{0, UTIME_NOW};
  const auto number =
      value.is(JsonValue::Kind::string)
          ? (value.text().find_first_not_of("0123456789") == std::string_view::npos ? python_int(value.text())
                                                                                    : std::nullopt)
          : value.integer();
  if (!number) return std::nullopt;
  return timespec{*number, 0};
}

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

/// Removes a file, a link, or a folder with all that is in it. Errors: errno.
bool remove_tree(int parent, const char* name, int levels, const std::stop_token& stop) {
  if (::unlinkat(parent, name, 0) == 0) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  const int folder = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return false;
  const std::unique_ptr<DIR, CloseFolder> open(::fdopendir(folder));
  if (open == nullptr) {
    ::close(folder);
    return false;
  }
  if (levels == 0) {
    errno = ELOOP;
    return false;
  }
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view inside = entry->d_name;
    if (inside == "." || inside == "..") continue;
    if (stop.stop_requested() || !remove_tree(folder, entry->d_name, levels - 1, stop)) return false;
  }
  return ::unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

std::optional<mode_t> mode_of(const JsonValue& value) {
  const std::string digits = normalized_mode(value.python_str());
  mode_t mode = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), mode, 8);
  if (error != std::errc() || end != digits.data() + digits.size() || mode > 07777) return std::nullopt;
  return mode;
}

}  // namespace

Reply write(const Call& call) {
  auto found = place_below_root(call, call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  const auto& place = std::get<Place>(found);
  const std::vector<JsonValue> lines = lines_of_call(call);
  const UniqueFd file = open_regular(place, O_WRONLY | O_CREAT, call);
  if (!file.is_open() || ::ftruncate(file.get(), 0) != 0 || !write_all(file.get(), text_of(lines))) {
    return os_error(errno, place.path);
  }
  return wrote(lines.size(), place.path);
}

Reply append(const Call& call) {
  auto found = place_below_root(call, call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  const auto& place = std::get<Place>(found);
  const std::vector<JsonValue> lines = lines_of_call(call);
  const UniqueFd file = open_regular(place, O_RDWR | O_APPEND, call);
  if (!file.is_open()) return os_error(errno, place.path);
  const std::string text = (lacks_line_end(file.get()) ? "\n" : "") + text_of(lines);
  if (!write_all(file.get(), text)) return os_error(errno, place.path);
  return wrote(lines.size(), place.path);
}

Reply touch(const Call& call) {
  auto found = place_below_root(call, call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  const auto& place = std::get<Place>(found);
  const auto accessed = time_of(call.arguments[1]);
  const auto modified = time_of(call.arguments[2]);
  if (!accessed || !modified) return invocation_error("atime and mtime must be integers");
  const UniqueFd file = open_regular(place, O_WRONLY | O_CREAT, call);
  const std::array<timespec, 2> times = {*accessed, *modified};
  if (!file.is_open() || ::futimens(file.get(), times.data()) != 0) return os_error(errno, place.path);
  return Returned{Json::boolean(true)};
}

/// Of the folder that was just made: through a descriptor, since its name may lead elsewhere by now.
static bool change_mode(const Place& place, mode_t mode) {
  constexpr mode_t without_identity = 01777;
  const UniqueFd made(
      ::openat(place.folder.get(), place.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!made || ::fstat(made.get(), &status) != 0) return false;
  if (status.st_uid != ::geteuid()) {
    errno = EPERM;
    return false;
  }
  return ::fchmod(made.get(), mode & without_identity) == 0;
}

Reply mkdir(const Call& call) {
  if (python_bool(call.arguments[1]) || python_bool(call.arguments[2])) {
    return command_error(
        "file.mkdir: user and group are not changed here: the folder belongs to the server's user");
  }
  const bool with_mode = python_bool(call.arguments[3]);
  const auto mode = with_mode ? mode_of(call.arguments[3]) : std::optional<mode_t>(0777);
  if (!mode)
    return invocation_error(
        format("found the mode {}, expected octal digits", call.arguments[3].python_str()));
  auto found = place_below_root(call, call.arguments[0], true);
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  const auto& place = std::get<Place>(found);
  const int folder = place.folder.get();
  if (::mkdirat(folder, place.name.c_str(), *mode) != 0) {
    struct stat status {};
    const int error = errno;
    const bool there =
        ::fstatat(folder, place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
    if (error != EEXIST || !there) return os_error(error, place.path);
  } else if (with_mode && !change_mode(place, *mode)) {
    return os_error(errno, place.path);
  }
  return Returned{Json::boolean(true)};
}

Reply remove(const Call& call) {
  constexpr int deepest = 100;
  auto found = place_below_root(call, call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  const auto& place = std::get<Place>(found);
  struct stat status {};
  if (::fstatat(place.folder.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return Returned{Json::boolean(false)};
  }
  if (remove_tree(place.folder.get(), place.name.c_str(), deepest, call.context.stop)) {
    return Returned{Json::boolean(true)};
  }
  if (call.context.stop.stop_requested()) return terminated();
  return command_error(format("Could not remove '{}': {}", place.path, os_error(errno, place.path).message));
}

}  // namespace rest_fcgi::embedded::file_module

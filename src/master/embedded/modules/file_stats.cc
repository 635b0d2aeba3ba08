// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "master/embedded/host/users.h"
#include "master/embedded/modules/file_hash.h"
#include "master/embedded/modules/file_module.h"
#include "master/embedded/modules/file_support.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded::file_module {
namespace {

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string mode_of(const struct stat& status) {
  return normalized_mode(format("{:o}", status.st_mode & 07777U));
}

std::string_view type_of(const struct stat& status) {
  switch (status.st_mode & S_IFMT) {
    case S_IFDIR:
      return "dir";
    case S_IFCHR:
      return "char";
    case S_IFBLK:
      return "block";
    case S_IFLNK:
      return "link";
    case S_IFIFO:
      return "pipe";
    case S_IFSOCK:
      return "socket";
    default:
      return "file";
  }
}

/// A user or group by name, or by number where it has none.
void write_name(JsonWriter& writer, const std::optional<std::string>& name, std::int64_t number) {
  if (name) {
    writer.string(*name);
  } else {
    writer.integer(number);
  }
}

/// What lies at the path; a link itself where it leads nowhere. Absent where nothing does.
std::optional<struct stat> status_of(const std::string& path, bool follow) {
  struct stat status {};
  if (follow && ::stat(path.c_str(), &status) == 0) return status;
  if (::lstat(path.c_str(), &status) == 0) return status;
  return std::nullopt;
}

/// Calls `use` with the path and its status; Salt's sentence where there is nothing.
template <class Use>
Reply with_status(const Call& call, bool follow, Use use) {
  auto given = path_of(call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&given)) return std::move(*raised);
  const auto& path = std::get<std::string>(given);
  const auto status = status_of(path, follow);
  if (!status) return command_error(format("Path not found: {}", path));
  return use(path, *status);
}

void write_stats(JsonWriter& writer, const struct stat& status) {
  writer.key("inode").raw(std::to_string(status.st_ino));
  writer.key("uid").integer(status.st_uid);
  writer.key("gid").integer(status.st_gid);
  write_name(writer.key("group"), group_name(status.st_gid), status.st_gid);
  write_name(writer.key("user"), user_name(status.st_uid), status.st_uid);
  writer.key("atime").number(seconds(status.st_atim));
  writer.key("mtime").number(seconds(status.st_mtim));
  writer.key("ctime").number(seconds(status.st_ctim));
  writer.key("size").integer(status.st_size);
  writer.key("mode").string(mode_of(status));
}

/// The absolute path that the first argument is, or what Salt says where it is none.
std::variant<std::string, Raised> absolute_path(const Call& call, const char* otherwise) {
  auto path = path_of(call.arguments[0]);
  const auto* text = std::get_if<std::string>(&path);
  if (text != nullptr && !text->starts_with('/')) return invocation_error(otherwise);
  return path;
}

}  // namespace

Reply stats(const Call& call) {
  return with_status(
      call, python_bool(call.arguments[2]), [&call](const std::string& path, const auto& status) -> Reply {
        std::string text;
        JsonWriter writer(text);
        writer.begin_object();
        write_stats(writer, status);
        if (python_bool(call.arguments[1])) {
          Reply sum = hash_of_file(path, call.arguments[1].python_str(), call.context);
          if (auto* raised = std::get_if<Raised>(&sum)) return std::move(*raised);
          writer.key("sum").json(std::get<Returned>(sum).value);
        }
        std::error_code error;
        writer.key("type").string(type_of(status));
        const auto target = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
        writer.key("target").string(error ? path : target.string()).end_object();
        return Returned{Json::trusted(std::move(text))};
      });
}

Reply get_gid(const Call& call) {
  return with_status(
      call, python_bool(call.arguments[1]),
      [](const std::string&, const auto& status) -> Reply { return Returned{Json::integer(status.st_gid)}; });
}

Reply get_group(const Call& call) {
  return with_status(call, python_bool(call.arguments[1]), [](const std::string&, const auto& status) {
    return written(
        [&status](JsonWriter& writer) { write_name(writer, group_name(status.st_gid), status.st_gid); });
  });
}

Reply get_mode(const Call& call) {
  return with_status(call, python_bool(call.arguments[1]),
                     [](const std::string&, const auto& status) -> Reply {
                       return Returned{Json::string(mode_of(status))};
                     });
}

Reply get_uid(const Call& call) {
  return with_status(
      call, python_bool(call.arguments[1]),
      [](const std::string&, const auto& status) -> Reply { return Returned{Json::integer(status.st_uid)}; });
}

Reply get_user(const Call& call) {
  return with_status(call, python_bool(call.arguments[1]), [](const std::string&, const auto& status) {
    return written(
        [&status](JsonWriter& writer) { write_name(writer, user_name(status.st_uid), status.st_uid); });
  });
}

Reply is_hardlink(const Call& call) {
  auto path = absolute_path(call, "Path to file must be absolute.");
  if (auto* raised = std::get_if<Raised>(&path)) return std::move(*raised);
  const auto status = status_of(std::get<std::string>(path), false);
  if (!status) return Returned{Json::empty_object()};
  return Returned{Json::boolean(status->st_nlink > 1)};
}

Reply lstat(const Call& call) {
  auto path = absolute_path(call, "Path to file must be absolute.");
  if (auto* raised = std::get_if<Raised>(&path)) return std::move(*raised);
  const auto status = status_of(std::get<std::string>(path), false);
  if (!status) return Returned{Json::empty_object()};
  return written([&status](JsonWriter& writer) {
    writer.begin_object();
    writer.key("st_atime").number(seconds(status->st_atim));
    writer.key("st_ctime").number(seconds(status->st_ctim));
    writer.key("st_gid").integer(status->st_gid);
    writer.key("st_mode").integer(status->st_mode);
    writer.key("st_mtime").number(seconds(status->st_mtim));
    writer.key("st_nlink").integer(static_cast<std::int64_t>(status->st_nlink));
    writer.key("st_size").integer(status->st_size);
    writer.key("st_uid").integer(status->st_uid);
    writer.end_object();
  });
}

Reply statvfs(const Call& call) {
  auto path = absolute_path(call, "File path must be absolute.");
  if (auto* raised = std::get_if<Raised>(&path)) return std::move(*raised);
  struct statvfs status {};
  if (::statvfs(std::get<std::string>(path).c_str(), &status) != 0) {
    return command_error(format("Could not statvfs '{}'", std::get<std::string>(path)));
  }
  struct Field {
    std::string_view name;
    unsigned long value;
  };
  const std::array<Field, 10> fields = {{{"f_bavail", status.f_bavail},
                                         {"f_bfree", status.f_bfree},
                                         {"f_blocks", status.f_blocks},
                                         {"f_bsize", status.f_bsize},
                                         {"f_favail", status.f_favail},
                                         {"f_ffree", status.f_ffree},
                                         {"f_files", status.f_files},
                                         {"f_flag", status.f_flag},
                                         {"f_frsize", status.f_frsize},
                                         {"f_namemax", status.f_namemax}}};
  return written([&fields](JsonWriter& writer) {
    writer.begin_object();
    for (const Field& field : fields) writer.key(field.name).raw(std::to_string(field.value));
    writer.end_object();
  });
}

}  // namespace rest_fcgi::embedded::file_module

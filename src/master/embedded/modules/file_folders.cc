// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "master/embedded/modules/file_module.h"
#include "master/embedded/modules/file_support.h"
#include "master/embedded/modules/replies.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded::file_module {
namespace {

constexpr std::size_t kMostEntries = 100'000;

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

/// The names in a folder, without `.` and `..`, in the folder's order; no more than `most`. Absent where it
/// cannot be read.
std::optional<std::vector<std::string>> names_in(const std::string& folder, std::size_t most) {
  const std::unique_ptr<DIR, CloseFolder> open(::opendir(folder.c_str()));
  if (open == nullptr) return std::nullopt;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    names.emplace_back(name);
    if (names.size() == most) break;
  }
  return names;
}

/// Does a path exist that matches a pattern? Looks at `budget` names at most.
class Glob {
 public:
  explicit Glob(std::size_t budget) : budget_(budget) {}

  bool exists(std::string_view pattern) { return exists("", pattern, 0); }

  /// Was there more to look at than that?
  [[nodiscard]] bool spent() const noexcept { return budget_ == 0; }

 private:
  /// `found` is empty or ends in a slash. Only parts with wildcards go one level deeper: the stack is small.
  bool exists(std::string found, std::string_view pattern, int level) {
    for (;;) {
      const std::size_t end = std::min(pattern.find('/'), pattern.size());
      const std::string_view part = pattern.substr(0, end);
      const bool last = end == pattern.size();
      pattern.remove_prefix(std::min(end + 1, pattern.size()));
      if (part.find_first_of("*?[") != std::string_view::npos) {
        return any_exists(found, part, pattern, last, level);
      }
      found += part;
      if (last) return is_there(found);
      found += '/';
    }
  }

  bool any_exists(const std::string& found, std::string_view part, std::string_view rest, bool last,
                  int level) {
    if (level == kDeepest) budget_ = 0;
    const auto names = budget_ == 0 ? std::nullopt : names_in(found.empty() ? "." : found, budget_);
    if (!names) return false;
    budget_ -= names->size();
    return std::any_of(names->begin(), names->end(), [&](const std::string& name) {
      const bool hidden = name.starts_with('.') && !part.starts_with('.');
      if (hidden || !glob_match(part, name)) return false;
      return last ? is_there(found + name) : exists(found + name + "/", rest, level + 1);
    });
  }

  static bool is_there(const std::string& path) {
    struct stat status {};
    return path.empty() || ::lstat(path.c_str(), &status) == 0;
  }

  static constexpr int kDeepest = 50;
  std::size_t budget_;
};

/// Calls `use` with the path that the first argument is.
template <class Use>
Reply with_path(const Call& call, Use use) {
  auto path = path_of(call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&path)) return std::move(*raised);
  return use(std::get<std::string>(path));
}

/// Is what lies at the path, with links followed, of that kind? Nothing there is no failure; all else is.
Reply is_of_kind(const Call& call, mode_t kind) {
  return with_path(call, [kind](const std::string& path) -> Reply {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) return Returned{Json::boolean((status.st_mode & S_IFMT) == kind)};
    if (errno == ENOENT) return Returned{Json::boolean(false)};
    return os_error(errno, path);
  });
}

Reply exists_as(const Call& call, mode_t kind) {
  return with_path(call, [kind](const std::string& path) -> Reply {
    struct stat status {};
    const bool found = ::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == kind;
    return Returned{Json::boolean(found)};
  });
}

bool is_a_link(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

}  // namespace

Reply directory_exists(const Call& call) {
  return exists_as(call, S_IFDIR);
}

Reply file_exists(const Call& call) {
  return exists_as(call, S_IFREG);
}

Reply is_blkdev(const Call& call) {
  return is_of_kind(call, S_IFBLK);
}

Reply is_chrdev(const Call& call) {
  return is_of_kind(call, S_IFCHR);
}

Reply is_fifo(const Call& call) {
  return is_of_kind(call, S_IFIFO);
}

Reply is_link(const Call& call) {
  return with_path(call,
                   [](const std::string& path) -> Reply { return Returned{Json::boolean(is_a_link(path))}; });
}

Reply access(const Call& call) {
  return with_path(call, [&call](const std::string& path) -> Reply {
    if (!path.starts_with('/')) return invocation_error("Path to link must be absolute.");
    const JsonValue& mode = call.arguments[1];
    const std::string_view letters = "fxwr";  // F_OK is 0, X_OK 1, W_OK 2, R_OK 4
    const std::size_t letter = mode.text().size() == 1 ? letters.find(mode.text()) : std::string_view::npos;
    std::optional<std::int64_t> bits = mode.integer();
    if (mode.is(JsonValue::Kind::string) && letter != std::string_view::npos) bits = letter == 3 ? 4 : letter;
    if (!bits || (*bits != F_OK && *bits != X_OK && *bits != W_OK && *bits != R_OK)) {
      return invocation_error("Invalid mode specified.");
    }
    return Returned{Json::boolean(::access(path.c_str(), static_cast<int>(*bits)) == 0)};
  });
}

Reply path_exists_glob(const Call& call) {
  return with_path(call, [](const std::string& path) -> Reply {
    if (path.empty()) return Returned{Json::boolean(false)};
    Glob glob(kMostEntries);
    const bool found = glob.exists(path);
    if (!found && glob.spent()) {
      return command_error(
          format("{}: looked at {} names and found no match among them", path, kMostEntries));
    }
    return Returned{Json::boolean(found)};
  });
}

Reply readdir(const Call& call) {
  return with_path(call, [](const std::string& path) -> Reply {
    if (!path.starts_with('/')) return invocation_error("Dir path must be absolute.");
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
      return invocation_error(format("A valid directory was not specified: {}", path));
    }
    const auto names = names_in(path, kMostEntries);
    if (!names) return os_error(errno, path);
    if (names->size() == kMostEntries) {
      return command_error(format("{} holds {} names or more, too many to list", path, kMostEntries));
    }
    return written([&names](JsonWriter& writer) {
      writer.begin_array().string(".").string("..");
      for (const std::string& name : *names) writer.string(name);
      writer.end_array();
    });
  });
}

Reply readlink(const Call& call) {
  return with_path(call, [&call](const std::string& path) -> Reply {
    if (!path.starts_with('/')) return invocation_error(format("Path to link must be absolute: {}", path));
    if (!is_a_link(path)) return invocation_error(format("A valid link was not specified: {}", path));
    std::error_code error;
    const bool canonical = call.arguments[1].is(JsonValue::Kind::boolean) && call.arguments[1].boolean();
    const auto target = canonical ? std::filesystem::weakly_canonical(path, error)
                                  : std::filesystem::read_symlink(path, error);
    if (error) return os_error(error.value(), path);
    return Returned{Json::string(target.string())};
  });
}

}  // namespace rest_fcgi::embedded::file_module

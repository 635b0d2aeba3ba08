// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "config/sections.h"
#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/users.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::config {
namespace {

constexpr std::size_t kLargestFile = 16 * 1024 * 1024;
constexpr std::string_view kDefaultInclude = "master.d/*.conf";
constexpr int kDeepestInclude = 16;
constexpr std::string_view kOwnSection = "rest_fcgi";

Error failure(const std::string& path, std::string_view text) {
  return {ErrorKind::configuration, format("{}: {}", path, text)};
}

Error cannot_read(const std::string& path, int cause) {
  const std::string_view hint = cause == ENOENT ? "; sudo rest_fcgi --init writes one" : "";
  return failure(path, format("cannot be read: {}{}", why_unreadable(path, cause), hint));
}

/// A file of the configuration and its owner.
using Owned = std::pair<std::string, uid_t>;

/// Adds the file to `owners`.
Result<std::string> read_file(const std::string& path, std::vector<Owned>& owners) {
  // With O_NONBLOCK, open(2) does not wait for a FIFO.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return cannot_read(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return cannot_read(path, errno);
  if (!S_ISREG(status.st_mode)) return failure(path, "found a folder or device, expected a regular file");
  if ((status.st_mode & S_IWOTH) != 0) {
    return failure(path, format("found mode {:04o}, with which every user may change this file, expected a "
                                "mode such as 0640: chmod o-w",
                                status.st_mode & 07777U));
  }
  if (static_cast<std::size_t>(status.st_size) > kLargestFile) {
    return failure(path,
                   format("found a file of {} bytes, expected at most {}", status.st_size, kLargestFile));
  }
  owners.emplace_back(path, status.st_uid);
  auto text = read_to_end(file.get(), kLargestFile);
  if (!text) return cannot_read(path, errno);
  return text;
}

void append_missing(Node& into, Node list) {
  std::vector<Node> missing;
  for (Node& item : list.items) {
    const bool known = std::any_of(into.items.begin(), into.items.end(),
                                   [&item](const Node& other) { return yaml::equal(item, other); });
    if (!known) missing.push_back(std::move(item));
  }
  std::move(missing.begin(), missing.end(), std::back_inserter(into.items));
}

void set(Node& map, Entry entry) {
  if (Entry* old = map.find(entry.key)) {
    *old = std::move(entry);
  } else {
    map.entries.push_back(std::move(entry));
  }
}

/// Merges an included file, like Salt's `dictupdate.update` with `merge_lists`. Merges maps by key, adds
/// missing items to lists, and replaces other values. REQUIRES: each node is a map.
void merge_included(Node& into, Node file) {
  for (Entry& entry : file.entries) {
    Entry* old = into.find(entry.key);
    if (old != nullptr && old->value.is(Kind::map) && entry.value.is(Kind::map)) {
      merge_included(old->value, std::move(entry.value));
    } else if (old != nullptr && old->value.is(Kind::list) && entry.value.is(Kind::list)) {
      append_missing(old->value, std::move(entry.value));
    } else {
      set(into, std::move(entry));
    }
  }
}

/// Copies the keys of `from` into `into`. As in Salt, a key of `from` replaces the same key of `into`, but
/// `rest_fcgi` is merged. REQUIRES: each node is a map.
void replace_keys(Node& into, Node from) {
  for (Entry& entry : from.entries) {
    Entry* old = entry.key == kOwnSection ? into.find(entry.key) : nullptr;
    if (old != nullptr && old->value.is(Kind::map) && entry.value.is(Kind::map)) {
      merge_included(old->value, std::move(entry.value));
    } else {
      set(into, std::move(entry));
    }
  }
}

Result<Node> read_map(const std::string& path, std::vector<Owned>& owners) {
  auto text = read_file(path, owners);
  if (!text) return std::move(text).error();
  auto root = yaml::read(path, *text);
  if (!root) return std::move(root).error();
  // An empty file, or a file with only comments, counts as an empty map.
  if (root->is(Kind::null)) root->kind = Kind::map;
  if (!root->is(Kind::map)) {
    // The message does not show the value, because the value may be a secret whose key the user forgot.
    return mistake_at(root->place, format("found {}, expected a map of keys such as timeout: 5",
                                          root->is(Kind::list) ? "a list" : "one value"));
  }
  return root;
}

struct Expanded {
  std::vector<std::string> files;
  std::vector<std::string> hidden;  ///< The folders that this process has no permission to read.
};

Expanded expand(const std::string& pattern) {
  Expanded expanded;
  thread_local std::vector<std::string>* hidden;  // glob(3) calls the error function without an argument.
  hidden = &expanded.hidden;
  const auto note_hidden = [](const char* path, int error) {
    if (error == EACCES) hidden->emplace_back(path);
    return 0;  // If the error function returns 0, glob(3) continues with the next folder.
  };
  glob_t found{};
  if (::glob(pattern.c_str(), GLOB_NOSORT | GLOB_NOESCAPE | GLOB_TILDE, note_hidden, &found) == 0) {
    expanded.files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  std::sort(expanded.files.begin(), expanded.files.end());
  return expanded;
}

Result<std::vector<std::string>> patterns_of(const Node& include) {
  std::vector<std::string> patterns;
  if (is_empty(include)) return patterns;
  for (const Node& item : items_of(include)) {
    if (is_empty(item)) continue;
    if (!item.is(Kind::string)) {
      return mistake_at(item.place,
                        format("include: found {}, expected a path or a list of them", describe(item)));
    }
    patterns.push_back(item.text);
  }
  return patterns;
}

/// Borrows `warnings` and `owners`.
class Includer {
 public:
  Includer(std::vector<std::string>& warnings, std::vector<Owned>& owners)
      : warnings_(warnings), owners_(owners) {}

  /// Reads and merges the files that match `patterns`. A pattern is relative to the folder of `from`.
  Result<Node> read(const std::vector<std::string>& patterns, const std::string& from, bool warn) {
    Node merged;
    merged.kind = Kind::map;
    for (const std::string& pattern : patterns) {
      const std::string path = relative_to(from, pattern);
      auto [files, hidden] = expand(path);
      const bool is_hidden = files.empty() && ::access(path.c_str(), F_OK) != 0 && errno == EACCES;
      if (is_hidden && hidden.empty()) hidden.push_back(path);
      for (const std::string& folder : hidden) {
        warnings_.push_back(
            format("{}: include: {} is not read: {}", from, folder, why_unreadable(folder, EACCES)));
      }
      if (files.empty() && hidden.empty() && warn) {
        warnings_.push_back(format("{}: include: {} matches no file", from, in_quotes(path)));
      }
      for (const std::string& file : files) {
        auto root = read_one(file);
        if (!root) return root;
        merge_included(merged, *std::move(root));
      }
    }
    return merged;
  }

 private:
  static std::string relative_to(const std::string& file, const std::string& pattern) {
    if (pattern.starts_with('/') || pattern.starts_with('~')) return pattern;
    return std::filesystem::path(file).parent_path() / pattern;
  }

  Result<Node> read_one(const std::string& file) {
    auto root = read_map(file, owners_);
    if (!root) return root;
    const Entry* include = root->find("include");
    if (include == nullptr) return root;
    auto patterns = patterns_of(include->value);
    if (!patterns) return std::move(patterns).error();
    if (depth_ == kDeepestInclude) {
      return mistake_at(include->place, format("include: found includes nested more than {} deep, expected "
                                               "fewer: the files may include each other",
                                               kDeepestInclude));
    }
    ++depth_;
    auto included = read(*patterns, file, true);
    --depth_;
    if (!included) return included;
    replace_keys(*root, *std::move(included));
    return root;
  }

  std::vector<std::string>& warnings_;
  std::vector<Owned>& owners_;
  int depth_ = 1;
};

/// Returns a warning for each file whose owner could change what this process does. The master's user is
/// trusted by a process without root's rights.
std::vector<std::string> warnings_of(const std::vector<Owned>& owners, const Node& root) {
  const uid_t self = ::geteuid();
  const Entry* user = root.find("user");
  const auto master = user != nullptr && self != 0 ? account_of(user->value.text) : std::nullopt;
  std::vector<std::string> warnings;
  for (const auto& [path, owner] : owners) {
    if (owner == 0 || owner == self || (master && owner == master->uid)) continue;
    warnings.push_back(
        format("{}: found the owner {}, expected root{}: this user may change what this "
               "program does; chown root {}",
               path, shown_user(owner), self == 0 ? "" : " or " + shown_user(self), path));
  }
  return warnings;
}

}  // namespace

Result<MasterFile> read_master_file(const std::string& path) {
  MasterFile master;
  std::vector<Owned> owners;
  auto root = read_map(path, owners);
  if (!root) return std::move(root).error();
  master.root = *std::move(root);

  // Reads `default_include` and `include` before the merge, because the merge may replace the values of the
  // main file.
  const Entry* usual = master.root.find("default_include");
  auto by_default =
      usual == nullptr ? Result(std::vector{std::string(kDefaultInclude)}) : patterns_of(usual->value);
  if (!by_default) return std::move(by_default).error();
  const Entry* include = master.root.find("include");
  auto named = include == nullptr ? Result(std::vector<std::string>()) : patterns_of(include->value);
  if (!named) return std::move(named).error();

  Includer includer(master.warnings, owners);
  auto first = includer.read(*by_default, path, false);
  if (!first) return std::move(first).error();
  auto second = includer.read(*named, path, true);
  if (!second) return std::move(second).error();
  replace_keys(master.root, *std::move(first));
  replace_keys(master.root, *std::move(second));
  for (std::string& warning : warnings_of(owners, master.root)) master.warnings.push_back(std::move(warning));
  return master;
}

}  // namespace rest_fcgi::config

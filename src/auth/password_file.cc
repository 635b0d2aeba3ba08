// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/password_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "auth/file_eauth.h"
#include "rest_fcgi/auth/crypt_hash.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::auth {
namespace {

using Type = FileSettings::Type;

Error mistake(std::string text) {
  return {ErrorKind::configuration, std::move(text)};
}

Error cannot_write(const std::string& path) {
  return {ErrorKind::internal, format("{}: cannot be written: {}", path, errno_text())};
}

/// Returns the settings of `external_auth: file:`. Errors: configuration, also if the file cannot have hashes
/// of crypt(3).
Result<FileSettings> settings_of(const Options& options) {
  const auto& eauths = options.external_auth;
  const auto file =
      std::find_if(eauths.begin(), eauths.end(), [](const EauthOptions& one) { return one.name == "file"; });
  if (file == eauths.end()) {
    return wrong_setting(
        "external_auth",
        "found no `file`, expected it with ^filename: only this back end has a file of users");
  }
  auto settings = read_file_settings(file->settings);
  if (!settings) return settings;
  if (settings->type == Type::htpasswd) return settings;
  const std::string& hashtype = settings->hashtype;
  if (settings->type == Type::text && (hashtype == "crypt" || hashtype == "htpasswd")) return settings;
  const bool is_text = settings->type == Type::text;
  return wrong_setting(
      is_text ? "external_auth: file: ^hashtype" : "external_auth: file: ^filetype",
      format("found {}, expected {}, because the passwords are written as hashes of crypt(3)",
             is_text ? hashtype : "htdigest", is_text ? "crypt" : "htpasswd"));
}

/// Returns `line` with the user and the stored password in their fields, and keeps the other fields.
std::string with_user(std::string_view line, const FieldLayout& layout, std::string_view user,
                      std::string_view stored) {
  std::vector<std::string_view> fields = split(line, layout.separator);
  fields.resize(std::max({fields.size(), layout.username + 1, layout.password + 1}));
  fields[layout.username] = user;
  fields[layout.password] = stored;
  std::string text(fields.front());
  for (std::size_t i = 1; i < fields.size(); ++i) text.append(layout.separator).append(fields[i]);
  return text;
}

/// Rules have other meanings for `*`, `GROUP%` and `^SETTING`. A new line must read back as this user.
bool is_user(std::string_view name, const FieldLayout& layout) {
  constexpr std::string_view kSample = "x";
  const bool has_control = std::any_of(name.begin(), name.end(), [](char c) { return c >= 0 && c < ' '; });
  if (name.empty() || name == "*" || name.front() == '^' || name.back() == '%' || has_control) return false;
  if (stripped(name) != name) return false;
  const std::string line = with_user("", layout, name, kSample);
  const auto entry = layout.read(line);
  return entry && entry->username == name && entry->stored == kSample;
}

/// The line of a user in the text of a file. `number` is 0 if there is no such line.
struct Line {
  std::size_t number = 0;
  std::size_t begin = 0;
  std::size_t size = 0;
};

Line find_line(std::string_view text, const FieldLayout& layout, std::string_view user) {
  std::size_t begin = 0;
  for (std::size_t number = 1; begin < text.size(); ++number) {
    const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    const auto entry = layout.read(line);
    if (entry && entry->username == user) return {number, begin, line.size()};
    begin += line.size() + 1;
  }
  return {};
}

Result<void> replace_file(const std::string& path, std::string_view text, const struct stat& like) {
  const std::string unfinished = path + ".new";
  ::unlink(unfinished.c_str());  // Removes the unfinished file that an interrupted run may have left.
  const UniqueFd file(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool is_replaced = file.is_open() && write_all(file.get(), text).ok() &&
                           ::fchown(file.get(), like.st_uid, like.st_gid) == 0 &&
                           ::fchmod(file.get(), like.st_mode & 07777U) == 0 && ::fsync(file.get()) == 0 &&
                           ::rename(unfinished.c_str(), path.c_str()) == 0;
  if (is_replaced) return {};
  Error error = cannot_write(path);
  if (file.is_open()) ::unlink(unfinished.c_str());
  return error;
}

Result<std::string> read_text(const std::string& path, struct stat& status) {
  constexpr std::size_t kLargest = std::size_t{16} << 20;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::string();
  if (!file || ::fstat(file.get(), &status) != 0) {
    return mistake(format("{}: cannot be opened: {}", path, errno_text()));
  }
  auto bytes = read_to_end(file.get(), kLargest);
  if (!bytes) return mistake(format("{}: {}", path, bytes.error().message));
  return bytes;
}

/// Returns the text of the file `path` with the user's new line. Calls `ask` after all checks.
Result<std::string> with_change(std::string text, const std::string& path, const UserChange& change,
                                const FieldLayout& layout, const std::function<Result<Secret>()>& ask) {
  const Line line = find_line(text, layout, change.user);
  if (change.is_new && line.number != 0) {
    return mistake(format(
        "{0}:{1}: found the user {2}, expected a new user: rest_fcgi --passwd {2} changes the password", path,
        line.number, change.user));
  }
  if (!change.is_new && line.number == 0) {
    return mistake(format("{0}: found no user \"{1}\", expected one: rest_fcgi --add-user {1} adds the user",
                          path, change.user));
  }
  const auto password = ask();
  if (!password) return password.error();
  const auto hash = crypt_hash(*password);
  if (!hash) return hash.error();
  const std::string made =
      with_user(std::string_view(text).substr(line.begin, line.size), layout, change.user, *hash);
  if (line.number != 0) return text.replace(line.begin, line.size, made);
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text.append(made).append("\n");
}

}  // namespace

Result<std::string> write_user(const Options& options, const UserChange& change,
                               const std::function<Result<Secret>()>& ask) {
  const auto settings = settings_of(options);
  if (!settings) return settings.error();
  const FieldLayout& layout = settings->layout;
  if (change.is_new && !is_user(change.user, layout)) {
    return mistake(format(
        "found the user \"{}\", expected a name that is not *, does not begin with ^ or #, does not end "
        "with %, and has no \"{}\" or line break",
        change.user, layout.separator));
  }
  // A link to the file stays a link.
  std::error_code no_link;
  const std::filesystem::path real = std::filesystem::canonical(settings->filename, no_link);
  const std::string path = no_link ? settings->filename : real.string();
  // Only one process at a time changes files of this folder.
  const std::string folder_path = std::filesystem::path(path).parent_path();
  const UniqueFd folder(::open(folder_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::flock(folder.get(), LOCK_EX) != 0) return cannot_write(path);
  struct stat status {};
  status.st_uid = ::geteuid();
  status.st_gid = change.group;
  status.st_mode = 0640;
  auto text = read_text(path, status);
  if (text) text = with_change(*std::move(text), path, change, layout, ask);
  if (!text) return text;
  if (auto written = replace_file(path, *text, status); !written) return std::move(written).error();
  return path;
}

}  // namespace rest_fcgi::auth

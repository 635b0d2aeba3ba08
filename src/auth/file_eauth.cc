// SPDX-License-Identifier: MIT
#include "auth/file_eauth.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::auth {
namespace {

using Type = FileSettings::Type;

constexpr std::size_t kMaxFileSize = std::size_t{16} << 20;

Error mistake(std::string_view setting, std::string_view found, std::string_view expected) {
  return wrong_setting(format("external_auth: file: ^{}", setting),
                       format("found \"{}\", expected {}", found, expected));
}

/// The setting counts fields from 1, and `index` counts from 0.
Result<void> read_index(const std::string& setting, std::string_view text, std::size_t& index) {
  const auto number = parse_number<std::size_t>(text);
  if (!number || *number < 1) return mistake(setting, text, "a number from 1");
  index = *number - 1;
  return {};
}

Result<void> read_setting(const std::string& name, const std::string& value, FileSettings& to) {
  if (name == "filetype") {
    constexpr std::string_view kNames[] = {"text", "htpasswd", "htdigest"};
    const auto* const found = std::find(std::begin(kNames), std::end(kNames), value);
    if (found == std::end(kNames)) return mistake(name, value, "text, htpasswd or htdigest");
    to.type = static_cast<Type>(found - std::begin(kNames));
    return {};
  }
  if (name == "username_field") return read_index(name, value, to.layout.username);
  if (name == "password_field") return read_index(name, value, to.layout.password);
  if (name == "field_separator" && value.empty()) return mistake(name, value, "at least one character");
  std::string* const text = name == "filename"          ? &to.filename
                            : name == "hashtype"        ? &to.hashtype
                            : name == "realm"           ? &to.layout.realm
                            : name == "field_separator" ? &to.layout.separator
                                                        : nullptr;
  if (text == nullptr) {
    return wrong_setting(format("external_auth: file: ^{}", name),
                         "unknown setting; settings: ^filename, ^filetype, ^realm, ^hashtype, "
                         "^field_separator, ^username_field, ^password_field");
  }
  *text = value;
  return {};
}

std::optional<std::string_view> field(std::string_view line, std::string_view separator, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t end = line.find(separator);
    if (end == std::string_view::npos) return std::nullopt;
    line.remove_prefix(end + separator.size());
  }
  return line.substr(0, line.find(separator));
}

struct OpenFile {
  UniqueFd fd;
  std::string stamp;
};

Result<OpenFile> open_trusted(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) {
    const ErrorKind kind = errno == ENOENT ? ErrorKind::not_found : errno_kind();
    return Error{kind, format("cannot be opened: {}", why_unreadable(path))};
  }
  if (!S_ISREG(status.st_mode)) return Error{ErrorKind::internal, "is not a regular file"};
  if (auto why = why_untrusted(status)) return Error{ErrorKind::configuration, *std::move(why)};
  return OpenFile{std::move(fd), file_stamp(status)};
}

/// The parsed content of a file with user names and passwords. Users is immutable and thread-safe.
class Users {
 public:
  Users(std::string bytes, const FieldLayout& layout);

  struct Found {
    std::string_view stored;
    bool is_user = false;
  };

  /// Returns the first entry with the user's name. For an unknown user, `stored` is the stored password of
  /// another user, so that the check takes as long as for a wrong password.
  [[nodiscard]] Found find(std::string_view username) const;

 private:
  const std::string bytes_;
  std::vector<FieldLayout::Entry> entries_;
  std::vector<std::string_view> stored_;
};

class FileEauth {
 public:
  /// An empty `hashtype` means that lines are not checked.
  FileEauth(std::string path, FieldLayout layout, PasswordHash matches,
            std::shared_ptr<PasswordHashLimiter> limiter, std::string hashtype = "")
      : path_(std::move(path)),
        layout_(std::move(layout)),
        matches_(std::move(matches)),
        limiter_(std::move(limiter)),
        hashtype_(std::move(hashtype)) {}

  Result<Verdict> verify(const Login& login);

  /// Reads the file again if it has changed. Errors: not_found; configuration, if other users may change the
  /// file; unavailable, if the system lacks a resource; internal. The error message continues a sentence that
  /// begins with the path of the file.
  Result<std::shared_ptr<const Users>> users();

  /// Returns a text that identifies the version of the file. If the file changed a moment ago, returns a new
  /// text in each call, because a further change may not change the file's time.
  [[nodiscard]] std::string stamp() const;

  [[nodiscard]] Error unreadable(const Error& error) const {
    log::error(format("external_auth: file: {} {}; all logins with this file fail", path_, error.message));
    return {error.kind == ErrorKind::unavailable ? error.kind : ErrorKind::internal,
            "The eauth back end failed; the log has the cause."};
  }

 private:
  /// Logs a warning for each line whose user cannot log in, because the line has no hash of `hashtype_`.
  void warn_of_lines(std::string_view text) const;

  const std::string path_;
  const FieldLayout layout_;
  const PasswordHash matches_;
  const std::shared_ptr<PasswordHashLimiter> limiter_;
  const std::string hashtype_;
  RefusalTime refusals_{std::chrono::milliseconds(50)};
  Mutex mutex_;
  std::string stamp_ GUARDED_BY(mutex_);
  std::shared_ptr<const Users> users_ GUARDED_BY(mutex_);
};

Result<Verdict> FileEauth::verify(const Login& login) {
  const Waiting waiting;  // a password hash takes several milliseconds
  const auto read = users();
  if (!read) return unreadable(read.error());
  const Users& users = **read;
  const Users::Found found = users.find(login.username);
  SteadyTime begun;
  {
    const auto pass = limiter_->enter(login.remote, login.deadline);
    if (!pass) return pass.error();
    // Starts the measured time after the wait for the limiter, because this wait does not depend on the user
    // name.
    begun = std::chrono::steady_clock::now();
    if (matches_(login.username, login.password, found.stored) && found.is_user) return Verdict{true};
  }
  refusals_.wait(begun);
  return Verdict{};
}

Users::Users(std::string bytes, const FieldLayout& layout) : bytes_(std::move(bytes)) {
  std::string_view left = bytes_;
  while (!left.empty()) {
    const auto entry = layout.read(next_token(left, '\n'));
    if (!entry) continue;
    entries_.push_back(*entry);
    if (!entry->stored.empty()) stored_.push_back(entry->stored);
  }
}

/// Compares the name with all entries, even after a match, so that the duration does not depend on the name.
Users::Found Users::find(std::string_view username) const {
  Found found;
  if (!stored_.empty()) found.stored = stored_[std::hash<std::string_view>()(username) % stored_.size()];
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->username == username) found = {entry->stored, true};
  }
  return found;
}

std::string FileEauth::stamp() const {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return "gone";
  std::string stamp = file_stamp(status);
  if (!stamp.empty()) return stamp;
  static std::atomic<std::uint64_t> number = 0;
  return format("changed just now {}", ++number);
}

void FileEauth::warn_of_lines(std::string_view text) const {
  constexpr std::size_t kMostWarnings = 10;
  if (hashtype_.empty()) return;
  const std::string what = hashtype_.starts_with("plain") ? "password" : hashtype_ + " hash";
  std::size_t number = 0, wrong = 0;
  while (!text.empty()) {
    const std::string_view line = next_token(text, '\n');
    ++number;
    const auto entry = layout_.read(line);
    if (entry ? is_hash_or_locked(hashtype_, entry->stored) : layout_.ignores(line)) continue;
    if (++wrong > kMostWarnings) continue;
    const std::string user = entry ? format(" for the user {}", quoted_excerpt(entry->username)) : "";
    log::warning(format("external_auth: file: {}:{}: found no {}{}, expected one; this user cannot log in",
                        path_, number, what, user));
  }
  if (wrong > kMostWarnings) {
    log::warning(
        format("external_auth: file: {}: {} more lines have no {}", path_, wrong - kMostWarnings, what));
  }
}

Result<std::shared_ptr<const Users>> FileEauth::users() {
  const MutexLock lock(mutex_);
  if (users_ != nullptr && stamp() == stamp_) return users_;
  users_.reset();
  auto opened = open_trusted(path_);
  if (!opened) return std::move(opened).error();
  auto bytes = read_to_end(opened->fd.get(), kMaxFileSize);
  if (!bytes) return std::move(bytes).error();
  warn_of_lines(*bytes);
  auto users = std::make_shared<const Users>(*std::move(bytes), layout_);
  if (!opened->stamp.empty()) {
    users_ = users;
    stamp_ = std::move(opened->stamp);
  }
  return std::shared_ptr<const Users>(users);
}

Eauth eauth_of(const std::shared_ptr<FileEauth>& parts) {
  return {"file", [parts](const Login& login) { return parts->verify(login); },
          [parts] { return parts->stamp(); }};
}

}  // namespace

bool FieldLayout::ignores(std::string_view line) const {
  line = stripped(line);
  return line.empty() || (comments && line.starts_with('#')) ||
         (!realm.empty() && field(line, separator, 1) != realm);
}

std::optional<FieldLayout::Entry> FieldLayout::read(std::string_view line) const {
  if (ignores(line)) return std::nullopt;
  line = stripped(line);
  const auto name = field(line, separator, username);
  const auto stored = field(line, separator, password);
  if (!name || !stored) return std::nullopt;
  return Entry{*name, *stored};
}

Result<FileSettings> read_file_settings(const std::vector<std::pair<std::string, std::string>>& settings) {
  FileSettings result;
  for (const auto& [name, value] : settings) {
    if (auto read = read_setting(name, value, result); !read) return std::move(read).error();
  }
  if (result.filename.empty()) return mistake("filename", "", "the path of the file with the users");
  // Apache's files have a fixed layout, which replaces the layout in the settings.
  if (result.type == Type::htpasswd) result.layout = {":", 0, 1, "", true};
  if (result.type == Type::text) result.layout.realm.clear();
  if (result.type != Type::htdigest) return result;
  if (result.layout.realm.empty()) return mistake("realm", "", "the realm of the htdigest file");
  result.layout = {":", 0, 2, std::move(result.layout.realm), true};
  return result;
}

Eauth file_eauth(std::string path, FieldLayout layout, PasswordHash hash,
                 std::shared_ptr<PasswordHashLimiter> limiter) {
  return eauth_of(
      std::make_shared<FileEauth>(std::move(path), std::move(layout), std::move(hash), std::move(limiter)));
}

Result<Eauth> make_file_eauth(const EauthOptions& options, std::shared_ptr<PasswordHashLimiter> limiter) {
  auto settings = read_file_settings(options.settings);
  if (!settings) return std::move(settings).error();
  const std::string hashtype = settings->type == Type::htdigest   ? "htdigest"
                               : settings->type == Type::htpasswd ? "htpasswd"
                                                                  : settings->hashtype;
  auto hash = settings->type == Type::htdigest ? make_htdigest_hash(settings->layout.realm)
                                               : make_password_hash(hashtype);
  if (!hash) return wrong_setting("external_auth: file: ^hashtype", hash.error().message);
  const auto parts = std::make_shared<FileEauth>(settings->filename, std::move(settings->layout),
                                                 *std::move(hash), std::move(limiter), hashtype);
  // A missing file is not an error here, because the administrator may create the file later.
  const auto users = parts->users();
  if (!users && users.error().kind == ErrorKind::configuration) {
    return wrong_setting("external_auth: file: ^filename",
                         format("{} {}", settings->filename, users.error().message));
  }
  if (!users) static_cast<void>(parts->unreadable(users.error()));
  return eauth_of(parts);
}

}  // namespace rest_fcgi::auth

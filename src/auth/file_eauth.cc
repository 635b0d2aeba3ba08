// SPDX-License-Identifier: MIT
#include "auth/file_eauth.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::auth {
namespace {

using Type = FileSettings::Type;

std::optional<std::string_view> field(std::string_view line, std::string_view separator, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t end = line.find(separator);
    if (end == std::string_view::npos) return std::nullopt;
    line.remove_prefix(end + separator.size());
  }
  return line.substr(0, line.find(separator));
}

Error mistake(std::string_view setting, std::string_view found, std::string_view accepted) {
  return {ErrorKind::configuration,
          format("external_auth: file: ^{}: \"{}\" found, {} expected", setting, found, accepted)};
}

/// A field's number, which counts from 1, as an index.
Result<std::size_t> read_index(std::string_view setting, std::string_view text) {
  const auto number = number_in<std::size_t>(text);
  if (!number || *number < 1) return mistake(setting, text, "a number from 1");
  return *number - 1;
}

Result<Type> read_type(std::string_view text) {
  if (text == "text") return Type::text;
  if (text == "htpasswd") return Type::htpasswd;
  if (text == "htdigest") return Type::htdigest;
  return mistake("filetype", text, "text, htpasswd or htdigest");
}

template <class T>
Result<void> store(Result<T> value, T& to) {
  if (!value) return std::move(value).error();
  to = *std::move(value);
  return {};
}

Result<void> read_setting(const std::string& name, const std::string& value, FileSettings& to) {
  if (name == "filename") return store<std::string>(value, to.filename);
  if (name == "filetype") return store(read_type(value), to.type);
  if (name == "hashtype") return store<std::string>(value, to.hashtype);
  if (name == "realm") return store<std::string>(value, to.layout.realm);
  if (name == "username_field") return store(read_index(name, value), to.layout.username);
  if (name == "password_field") return store(read_index(name, value), to.layout.password);
  if (name == "field_separator") {
    if (value.empty()) return mistake(name, value, "at least one character");
    return store<std::string>(value, to.layout.separator);
  }
  return Error{
      ErrorKind::configuration,
      format("external_auth: file: ^{}: unknown setting; there are ^filename, ^filetype, ^realm, ^hashtype, "
             "^field_separator, ^username_field and ^password_field",
             name)};
}

/// Apache's files have a layout of their own, whatever the settings for text say.
Result<FieldLayout> layout_of(const FileSettings& settings) {
  if (settings.type == Type::htpasswd) return FieldLayout{":", 0, 1, "", true};
  if (settings.type == Type::htdigest) {
    if (settings.layout.realm.empty()) {
      return mistake("realm", "", "the realm, which htdigest files need,");
    }
    return FieldLayout{":", 0, 2, settings.layout.realm, true};
  }
  FieldLayout layout = settings.layout;
  layout.realm.clear();
  return layout;
}

constexpr std::size_t kMaxFileSize = std::size_t{16} << 20;

struct StoredPassword {
  std::string_view text;
  bool known = false;
};

/// What is stored for a user: their first entry. For an unknown user it is what the file's first entry
/// stores, so that a hash of the same kind and cost is computed. Always looks at all lines. Borrows from
/// `file`.
StoredPassword find_user(std::string_view file, const FieldLayout& layout, std::string_view username) {
  StoredPassword found;
  while (!file.empty()) {
    const std::size_t end = std::min(file.find('\n'), file.size() - 1);
    const auto entry = layout.read(file.substr(0, end + 1));
    file.remove_prefix(end + 1);
    if (!entry || found.known) continue;
    if (entry->username == username) {
      found = {entry->stored, true};
    } else if (found.text.empty()) {
      found.text = entry->stored;
    }
  }
  return found;
}

Result<PasswordHash> hash_for(const FileSettings& settings) {
  if (settings.type == Type::htdigest) return make_htdigest_hash(settings.layout.realm);
  return make_password_hash(settings.type == Type::htpasswd ? "htpasswd" : settings.hashtype);
}

/// Errors: internal, after the cause was logged.
Result<WipedBytes> read_users(const std::string& filename) {
  auto file = read_regular_file(AT_FDCWD, filename, Links::follow, kMaxFileSize);
  if (file) return file;
  log::error(
      format("external_auth: file: {} {}; nobody can log in through it", filename, file.error().message));
  return Error{ErrorKind::internal, "The eauth back end failed; the log has the cause."};
}

}  // namespace

std::optional<FieldLayout::Entry> FieldLayout::read(std::string_view line) const {
  line = stripped(line);
  if (comments && line.starts_with('#')) return std::nullopt;
  if (!realm.empty() && field(line, separator, 1) != realm) return std::nullopt;
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
  auto layout = layout_of(result);
  if (!layout) return std::move(layout).error();
  result.layout = *std::move(layout);
  return result;
}

Eauth file_eauth(std::string filename, FieldLayout layout, PasswordHash hash) {
  const auto verify = [filename = std::move(filename), layout = std::move(layout),
                       matches = std::move(hash)](const Login& login) -> Result<Verdict> {
    const auto file = read_users(filename);
    if (!file) return file.error();
    const StoredPassword stored = find_user({file->data(), file->size()}, layout, login.username);
    const bool good = matches(login.username, login.password, stored.text);
    return Verdict{good && stored.known};
  };
  return {"file", verify};
}

Result<Eauth> make_file_eauth(const EauthOptions& options) {
  auto settings = read_file_settings(options.settings);
  if (!settings) return std::move(settings).error();
  auto hash = hash_for(*settings);
  if (!hash) {
    return Error{ErrorKind::configuration,
                 format("external_auth: file: ^hashtype: {}", hash.error().message)};
  }
  // The file may come later, so this is no mistake; but whoever reads the log should not have to wait for a
  // login.
  static_cast<void>(read_users(settings->filename));
  return file_eauth(std::move(settings->filename), std::move(settings->layout), *std::move(hash));
}

}  // namespace rest_fcgi::auth

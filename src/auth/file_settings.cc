// SPDX-License-Identifier: MIT
#include "auth/file_settings.h"

#include <charconv>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

using Type = FileSettings::Type;

constexpr std::string_view kWhitespace = " \t\n\v\f\r";

/// As Python's `str.strip()`.
std::string_view strip(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kWhitespace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhitespace) - first + 1);
}

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
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) {
    return mistake(setting, text, "a number from 1");
  }
  return number - 1;
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

}  // namespace

std::optional<FieldLayout::Entry> FieldLayout::read(std::string_view line) const {
  line = strip(line);
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

}  // namespace rest_fcgi::auth

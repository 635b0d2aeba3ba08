// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/eauth.h"
#include "auth/password_hash.h"
#include "rest_fcgi/auth/password_hash_limiter.h"
#include "rest_fcgi/core/result.h"

// A file of users has one user in each line. The formats of a line (`^filetype`):
//   htpasswd  user:password
//   htdigest  user:realm:password. Lines with another realm are ignored.
//   text      fields with `^field_separator` between them. `^username_field` and `^password_field` are the
//             numbers of two fields, counted from 1.
// Empty lines, and white space around a line, are ignored. In htpasswd and htdigest, a line that begins with
// `#` is a comment. If a user has several lines, the first line counts.

namespace rest_fcgi::auth {

/// The format of a line in a file with users. `username` and `password` are field numbers, counted from 0.
struct FieldLayout {
  std::string separator = ":";
  std::size_t username = 0;
  std::size_t password = 1;
  std::string realm;
  bool comments = false;

  struct Entry {
    std::string_view username;
    std::string_view stored;
  };

  /// Returns whether a line is empty, a comment, or for another realm.
  [[nodiscard]] bool ignores(std::string_view line) const;

  /// Reads a line. Returns std::nullopt for an ignored line, and for a line that lacks a field. Borrows from
  /// `line`.
  [[nodiscard]] std::optional<Entry> read(std::string_view line) const;
};

/// Salt's settings of `external_auth: file:`.
struct FileSettings {
  enum class Type { text, htpasswd, htdigest };

  std::string filename;
  Type type = Type::text;
  std::string hashtype = "plaintext";
  FieldLayout layout;
};

/// Reads the settings of `external_auth: file:`. Errors: configuration. The message has the setting, the
/// value found and the value expected.
Result<FileSettings> read_file_settings(const std::vector<std::pair<std::string, std::string>>& settings);

/// Makes the back end `file` for the file `path`. `hash` compares a password with a stored password.
[[nodiscard]] Eauth file_eauth(std::string path, FieldLayout layout, PasswordHash hash,
                               std::shared_ptr<PasswordHashLimiter> limiter);

}  // namespace rest_fcgi::auth

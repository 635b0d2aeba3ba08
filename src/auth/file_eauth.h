// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/eauth.h"
#include "auth/password_hash.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// Where user name and stored password stand in a line. Fields count from 0. Value type.
struct FieldLayout {
  std::string separator = ":";
  std::size_t username = 0;
  std::size_t password = 1;
  std::string realm;      ///< what field 1 has to be; empty: that field is like any other
  bool comments = false;  ///< a line that starts with `#` is none

  struct Entry {
    std::string_view username;
    std::string_view stored;
  };

  /// What a line says; absent where it lacks a field, or is of another realm. Borrows from `line`.
  [[nodiscard]] std::optional<Entry> read(std::string_view line) const;
};

/// The settings of `external_auth: file:`, with Salt's names and defaults. Value type.
struct FileSettings {
  enum class Type { text, htpasswd, htdigest };

  std::string filename;
  Type type = Type::text;
  std::string hashtype = "plaintext";  ///< type text only
  FieldLayout layout;
};

/// Errors: configuration, naming the setting, what was found and what is accepted.
Result<FileSettings> read_file_settings(const std::vector<std::pair<std::string, std::string>>& settings);

/// The back end over a file whose path, layout and hash are known.
[[nodiscard]] Eauth file_eauth(std::string filename, FieldLayout layout, PasswordHash hash);

}  // namespace rest_fcgi::auth

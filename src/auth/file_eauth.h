// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
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

/// Salt's `file`: users and stored passwords in a file, which is read at each check, so that a change counts
/// at once. Thread-safe.
class FileEauth final : public Eauth {
 public:
  FileEauth(std::string filename, FieldLayout layout, std::unique_ptr<PasswordHash> hash);

  [[nodiscard]] std::string_view name() const noexcept override { return "file"; }
  [[nodiscard]] Result<Verdict> verify(const Login& login) const override;

 private:
  friend Result<std::unique_ptr<Eauth>> make_file_eauth(const EauthOptions& options);

  /// Errors: internal, after the cause was logged.
  [[nodiscard]] Result<WipedBytes> read() const;

  // constant after construction
  std::string filename_;
  FieldLayout layout_;
  std::unique_ptr<PasswordHash> hash_;
};

}  // namespace rest_fcgi::auth

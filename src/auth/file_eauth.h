// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "auth/eauth.h"
#include "auth/file_settings.h"
#include "auth/password_hash.h"

namespace rest_fcgi::auth {

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

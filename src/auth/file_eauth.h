// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "auth/eauth.h"
#include "auth/password_hash.h"
#include "auth/user_file.h"
#include "rest_fcgi/auth/password_hash_limiter.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

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

/// The back end over a file whose hash is known.
[[nodiscard]] Eauth file_eauth(std::shared_ptr<UserFile> file, PasswordHash hash,
                               std::shared_ptr<PasswordHashLimiter> limiter);

}  // namespace rest_fcgi::auth

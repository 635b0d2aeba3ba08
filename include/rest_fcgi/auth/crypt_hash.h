// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// Returns crypt(3) of a password with a new salt, by the method that the system prefers. A line `USER:HASH`
/// of a password file has it. Errors: internal, if there is no random salt; configuration, for a password
/// that crypt(3) refuses, such as one of more than 512 bytes. Thread-safe.
[[nodiscard]] Result<std::string> crypt_hash(SecretView password);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// Returns the hash of a password for a line `USER:HASH` of a password file. The hash is made by crypt(3)
/// with a new random salt and the method that the system prefers. Errors: internal, if the system provides no
/// random salt; configuration, for a password that crypt(3) refuses, such as a password of more than 512
/// bytes. Thread-safe.
[[nodiscard]] Result<std::string> crypt_hash(SecretView password);

}  // namespace rest_fcgi::auth

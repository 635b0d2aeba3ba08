// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// Returns the hash of a password for a password file, made by crypt(3) with a new random salt. The function
/// is thread-safe. Errors: internal, if the system gives no random salt; configuration, if crypt(3) refuses
/// the password.
Result<std::string> crypt_hash(SecretView password);

}  // namespace rest_fcgi::auth

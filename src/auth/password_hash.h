// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// A way to store passwords in a file: is `stored` what stands there for this password of this user? Never
/// true for an empty `stored`. Compares in constant time. Thread-safe.
using PasswordHash =
    std::function<bool(std::string_view username, SecretView password, std::string_view stored)>;

/// Salt's `^hashtype`: `plaintext`; `md5`, `sha512` and the like, as hexadecimal digits; `crypt`, as crypt(5)
/// has it; `htpasswd`, what Apache's program of that name writes, but no plain text. Errors: configuration,
/// listing the names that there are, or where OpenSSL lacks the digest.
Result<PasswordHash> make_password_hash(std::string_view hashtype);

/// Bytes that the computation of `stored` takes, as far as they matter: those of yescrypt (`$y$`, `$gy$`) and
/// scrypt (`$7$`), by the cost that it names. The most there is for a cost that no host is expected to bear.
[[nodiscard]] std::size_t memory_of_hash(std::string_view stored);

/// What htdigest writes: MD5 of user name, realm and password. Errors: configuration, where OpenSSL has no
/// MD5.
Result<PasswordHash> make_htdigest_hash(std::string realm);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// Returns whether `stored` is the stored form of this password of this user. Returns false for an empty
/// `stored`. Compares in constant time. Thread-safe.
using PasswordHash =
    std::function<bool(std::string_view username, SecretView password, std::string_view stored)>;

/// Salt's `^hashtype`: `plaintext`; `md5`, `sha512` and the like, in hexadecimal; `crypt`, see crypt(5);
/// `htpasswd`, the output of Apache's htpasswd, except plain text. Errors: configuration, with the known
/// names, or if OpenSSL lacks the digest.
Result<PasswordHash> make_password_hash(std::string_view hashtype);

/// The output of Apache's htdigest: MD5 of user name, realm and password. Errors: configuration, if OpenSSL
/// has no MD5.
Result<PasswordHash> make_htdigest_hash(std::string realm);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// Checks a password. Returns whether `stored` is the stored form of this password of this user, and false if
/// `stored` is empty. Compares in constant time. Thread-safe.
using PasswordHash =
    std::function<bool(std::string_view username, SecretView password, std::string_view stored)>;

/// Makes the check for Salt's setting `^hashtype`. The types are `plaintext`; digests such as `md5` and
/// `sha512`, in hexadecimal; `crypt`, see crypt(5); and `htpasswd`, the output of Apache's htpasswd except
/// plain text. Errors: configuration, if the type is unknown, with the known types; or if OpenSSL lacks the
/// digest.
Result<PasswordHash> make_password_hash(std::string_view hashtype);

/// Makes the check for the output of Apache's htdigest: MD5 of user name, realm and password. Errors:
/// configuration, if OpenSSL has no MD5.
Result<PasswordHash> make_htdigest_hash(std::string realm);

}  // namespace rest_fcgi::auth

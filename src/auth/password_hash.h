// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// A function that returns whether `stored` is the stored form of a user's password. The function compares in
/// constant time and is thread-safe.
using PasswordHash =
    std::function<bool(std::string_view username, SecretView password, std::string_view stored)>;

/// Makes the check for Salt's setting `^hashtype`: `plaintext`, a hexadecimal digest such as `sha512`,
/// `crypt` (see crypt(5)), or `htpasswd`. Errors: configuration, if the type is unknown or OpenSSL lacks the
/// digest.
Result<PasswordHash> make_password_hash(std::string_view hashtype);

/// Returns whether `stored` has the form of a hash of `hashtype`, or is a locked entry, which begins with `!`
/// or `*`. Here `hashtype` can also be `htdigest`. Another text matches no password.
[[nodiscard]] bool is_hash_or_locked(std::string_view hashtype, std::string_view stored);

/// Makes the check for Apache's htdigest. Errors: configuration, if OpenSSL has no MD5.
Result<PasswordHash> make_htdigest_hash(std::string realm);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// A way to store passwords in a file. Abstract so that `FileEauth` knows none of them, and so that a test
/// can see which passwords are checked. Thread-safe.
class PasswordHash {
 public:
  virtual ~PasswordHash() = default;

  /// Is this what was stored for that password? Never true for an empty `stored`. Compares in constant time.
  [[nodiscard]] virtual bool matches(std::string_view username, SecretView password,
                                     std::string_view stored) const = 0;
};

/// Salt's `^hashtype`: `plaintext`; `md5`, `sha512` and the like, as hexadecimal digits; `crypt`, as crypt(5)
/// has it; `htpasswd`, what Apache's program of that name writes, but no plain text. Errors: configuration,
/// listing the names that there are.
Result<std::unique_ptr<PasswordHash>> make_password_hash(std::string_view hashtype);

/// What htdigest writes: MD5 of user name, realm and password. Errors: configuration, where OpenSSL has no
/// MD5.
Result<std::unique_ptr<PasswordHash>> make_htdigest_hash(std::string realm);

/// `stored` as htpasswd writes it, for `make_password_hash`. Errors: configuration, where OpenSSL lacks MD5
/// or SHA-1.
Result<std::unique_ptr<PasswordHash>> make_htpasswd_hash();

/// Is `stored` crypt(3) of the password, by whatever method it names?
[[nodiscard]] bool crypt_matches(SecretView password, std::string_view stored);

}  // namespace rest_fcgi::auth

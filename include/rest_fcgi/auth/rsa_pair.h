// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// A pair of RSA keys in the forms that Salt's minions read and write.
struct RsaPair {
  Secret priv;      ///< PEM, PKCS#1: `BEGIN RSA PRIVATE KEY`
  std::string pub;  ///< PEM: `BEGIN PUBLIC KEY`

  /// A new one; 2048 bits take some 0.1 seconds, 4096 a second or two. Errors: internal.
  static Result<RsaPair> make(int bits);
};

/// Returns the part of a PEM text that Salt's fingerprints are made of: the lines between the first and the
/// last, with their ends.
[[nodiscard]] std::string_view pem_body(std::string_view pem);

/// Returns a digest of the text in the form of Salt's `key.finger`: `aa:bb:...`. `hash_type` is a name of
/// Salt's option of that name, such as `sha256`. Errors: invocation, for a name that is not known;
/// configuration, where this host's OpenSSL does not offer the digest.
[[nodiscard]] Result<std::string> fingerprint_of(std::string_view text, std::string_view hash_type);

}  // namespace rest_fcgi::auth

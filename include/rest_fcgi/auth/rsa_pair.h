// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// A pair of RSA keys in the formats of Salt's minions.
struct RsaPair {
  Secret priv;      ///< private key as PEM in PKCS#1 form: `BEGIN RSA PRIVATE KEY`
  std::string pub;  ///< public key as PEM: `BEGIN PUBLIC KEY`

  /// Makes a new pair. This takes about 0.1 seconds for 2048 bits, and about a second for 4096 bits. Errors:
  /// internal.
  static Result<RsaPair> make(int bits);
};

/// Returns the part of a PEM text from which Salt makes fingerprints: all lines except the first and the
/// last.
[[nodiscard]] std::string_view pem_body(std::string_view pem);

/// Returns the fingerprint of a text in the form of Salt's `key.finger`: `aa:bb:...`. `hash_type` is a value
/// of Salt's option `hash_type`, such as `sha256`. Errors: invocation, for an unknown name; configuration, if
/// OpenSSL does not offer the digest.
[[nodiscard]] Result<std::string> fingerprint_of(std::string_view text, std::string_view hash_type);

}  // namespace rest_fcgi::auth

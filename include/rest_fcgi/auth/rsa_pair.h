// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// A pair of RSA keys in the formats of Salt's minions.
struct RsaPair {
  Secret priv;      ///< PEM, PKCS#1: `BEGIN RSA PRIVATE KEY`
  std::string pub;  ///< PEM: `BEGIN PUBLIC KEY`

  /// Makes a new pair. Takes 0.1 seconds for 2048 bits, about a second for 4096. Errors: internal.
  static Result<RsaPair> make(int bits);
};

/// Returns the part of a PEM text that Salt's fingerprints hash: the lines between the first and the last.
[[nodiscard]] std::string_view pem_body(std::string_view pem);

/// Returns a digest of the text in the form of Salt's `key.finger`: `aa:bb:...`. `hash_type` is a value of
/// Salt's option `hash_type`, such as `sha256`. Errors: invocation, for an unknown name; configuration, if
/// OpenSSL does not offer the digest.
[[nodiscard]] Result<std::string> fingerprint_of(std::string_view text, std::string_view hash_type);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// A pair of RSA keys in the formats of Salt's minions.
struct RsaPair {
  Secret priv;
  std::string pub;

  /// Makes a new pair of keys. The call takes up to a second. Errors: internal.
  static Result<RsaPair> make(int bits);
};

/// Returns a PEM text without its first and last line. Salt makes fingerprints from these texts.
[[nodiscard]] std::string_view pem_body(std::string_view pem);

/// Returns the fingerprint of a text as Salt's `key.finger` does. `hash_type` is a value of Salt's option
/// `hash_type`. Errors: invocation, for an unknown `hash_type`; configuration, if OpenSSL does not offer the
/// digest.
Result<std::string> fingerprint_of(std::string_view text, std::string_view hash_type);

}  // namespace rest_fcgi::auth

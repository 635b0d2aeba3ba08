// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// A pair of RSA keys in the forms that Salt's minions read and write.
struct RsaPair {
  Secret priv;              ///< PEM, PKCS#1: `BEGIN RSA PRIVATE KEY`
  std::string pub;          ///< PEM: `BEGIN PUBLIC KEY`
  std::string fingerprint;  ///< of `pub`, SHA-256, `aa:bb:...`, as Salt's `key.finger` shows it

  /// A new one; 2048 bits take some 0.1 seconds, 4096 a second or two. Errors: internal.
  static Result<RsaPair> make(int bits);
};

}  // namespace rest_fcgi::auth

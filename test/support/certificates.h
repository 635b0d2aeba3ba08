// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi::test {

/// The paths of PEM files in one directory. `ca` is the CA certificate that signed the server certificate and
/// the client certificate.
struct Certificates {
  std::string ca, server_cert, server_key, client_cert, client_key, other_ca;
};

/// Creates certificates and keys in `directory` with `openssl`. The certificates are valid for two days.
/// Throws on failure.
Certificates make_certificates(const std::string& directory);

}  // namespace rest_fcgi::test

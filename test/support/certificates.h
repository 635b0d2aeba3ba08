// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi::test {

/// Paths of PEM files in one directory. They are a certificate authority, a server certificate for
/// `127.0.0.1`, `::1` and `localhost`, a client certificate, and another authority that signed none of these.
struct Certificates {
  std::string ca, server_cert, server_key, client_cert, client_key, other_ca;
};

/// Creates certificates and keys in `directory` with `openssl`. The certificates are valid for two days.
/// Throws on failure.
Certificates make_certificates(const std::string& directory);

}  // namespace rest_fcgi::test

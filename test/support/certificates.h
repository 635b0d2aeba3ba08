// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi::test {

/// Names of PEM files in one directory: an authority, a server's pair for `127.0.0.1`, `::1` and `localhost`,
/// and a client's pair; and an authority that signed none of them.
struct Certificates {
  std::string ca, server_cert, server_key, client_cert, client_key, other_ca;
};

/// Makes them in `directory` with the program `openssl`; throws where it fails. Good for two days.
Certificates make_certificates(const std::string& directory);

}  // namespace rest_fcgi::test

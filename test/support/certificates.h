// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi::test {

/// Names of PEM files in one directory: an authority, a server pair for `127.0.0.1`, `::1` and `localhost`, a
/// client pair, and an authority that signed none of them.
struct Certificates {
  std::string ca, server_cert, server_key, client_cert, client_key, other_ca;
};

/// Creates the files in `directory` with `openssl`. Throws on failure. They are valid for two days.
Certificates make_certificates(const std::string& directory);

}  // namespace rest_fcgi::test

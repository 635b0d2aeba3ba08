// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include <openssl/ssl.h>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// Makes `context` ask each client for a certificate that a CA in `ssl_ca_certs` has signed. Errors:
/// configuration, with the port, the option and the file.
Result<void> ask_for_client_certificates(SSL_CTX& context, const HttpOptions& options);

/// Returns the common name (CN) of the client's certificate. Returns std::nullopt for no or several names.
[[nodiscard]] std::optional<std::string> common_name(const SSL& tls);

/// Returns why the client's certificate was refused. `error` is OpenSSL's error of the failed handshake.
/// Returns an empty text if the handshake failed for another reason.
[[nodiscard]] std::string certificate_refusal(const SSL& tls, unsigned long error);

}  // namespace rest_fcgi::gateway

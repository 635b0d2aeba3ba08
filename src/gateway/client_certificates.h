// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include <openssl/ssl.h>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// Makes `context` ask clients for a certificate of a CA in `ssl_ca_certs`, on each connection. Errors:
/// configuration, with the port, the option and the file.
[[nodiscard]] Result<void> ask_for_client_certificates(SSL_CTX& context, const HttpOptions& options);

/// Returns the only common name (CN) in the client's certificate, or std::nullopt.
[[nodiscard]] std::optional<std::string> common_name(const SSL& tls);

/// Returns why a handshake that failed with OpenSSL's `error` refused the client's certificate. Returns an
/// empty text if the handshake failed for another reason.
[[nodiscard]] std::string certificate_refusal(const SSL& tls, unsigned long error);

}  // namespace rest_fcgi::gateway

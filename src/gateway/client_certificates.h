// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include <openssl/ssl.h>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// Makes `context` ask clients for a certificate, as `ssl_cert_reqs` of `options` says. Loads the
/// certificates of `ssl_ca_certs`, one of which has to sign each client's certificate. Such a port does not
/// resume sessions, so that each connection is checked. Errors: configuration, with the names of the port,
/// the option and the file.
[[nodiscard]] Result<void> ask_for_client_certificates(SSL_CTX& context, const HttpOptions& options);

/// Returns the common name (CN) in the subject of the client's certificate; std::nullopt if there is no
/// certificate, or if its subject has no CN or several.
[[nodiscard]] std::optional<std::string> common_name(const SSL& tls);

/// Returns why a handshake refused the client's certificate; empty if the handshake failed for another
/// reason. `error` is the error of the handshake, from OpenSSL.
[[nodiscard]] std::string certificate_refusal(const SSL& tls, unsigned long error);

}  // namespace rest_fcgi::gateway

// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "gateway/asio.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// Returns the text of this thread's first OpenSSL or system error. Clears the thread's errors.
[[nodiscard]] std::string openssl_text();

/// Makes the TLS context of a port. Returns null if `ssl_crt` and `ssl_key` are empty. Errors: configuration,
/// with the option, the file and the reason.
Result<std::unique_ptr<asio::ssl::context>> make_tls_context(const HttpOptions& options);

}  // namespace rest_fcgi::gateway

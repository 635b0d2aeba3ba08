// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "gateway/asio.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// Returns what OpenSSL says about the first failure on the calling thread, or the system's text for a file
/// that cannot be read. Forgets the failures of this thread.
[[nodiscard]] std::string openssl_text();

/// Makes the certificate, key and rules of TLS for one port from the files of `options`; nullptr where
/// `ssl_crt` and `ssl_key` are empty. Errors: configuration, naming the option, the file and what is wrong
/// with it.
Result<std::unique_ptr<asio::ssl::context>> make_tls_context(const HttpOptions& options);

}  // namespace rest_fcgi::gateway

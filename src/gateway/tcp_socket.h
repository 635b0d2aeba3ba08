// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "gateway/sys.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::gateway {

/// Listens on `address`, which is `HOST:PORT` with an IPv4 address, an IPv6 address in brackets or
/// `localhost`. Another address than loopback's takes `allow_remote`. Errors: configuration, saying why
/// without naming the address.
Result<UniqueFd> open_tcp_socket(std::string_view address, bool allow_remote);

}  // namespace rest_fcgi::gateway

// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// Is it `tcp://HOST:PORT`, with an IPv6 address in brackets? ZeroMQ takes more, such as an address to
/// connect from, and finds out about some mistakes only when it connects, without a word. Errors:
/// configuration.
Result<void> check_endpoint(std::string_view uri);

}  // namespace rest_fcgi::salt

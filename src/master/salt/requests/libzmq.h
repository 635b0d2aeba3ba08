// SPDX-License-Identifier: MIT
#pragma once

#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// Loads libzmq, which only who has a Salt master needs. To be called before anything of zmq.hpp; further
/// calls change nothing. Thread-safe. Errors: configuration, where `name` is not there or is something else.
[[nodiscard]] Result<void> load_zmq(const char* name = "libzmq.so.5");

}  // namespace rest_fcgi::salt

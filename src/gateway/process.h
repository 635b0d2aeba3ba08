// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

/// What a serving process does to itself; `harden_process` is declared in rest_fcgi/gateway/gateway.h.
namespace rest_fcgi::gateway {

/// Waits for a signal that asks for something, SIGHUP, SIGTERM, SIGINT or SIGUSR1, and returns it. REQUIRES:
/// they are blocked in all threads.
int wait_for_signal();

/// Allows this process `wanted` open files, or as many as it may have.
void raise_file_limit(std::size_t wanted);

}  // namespace rest_fcgi::gateway

// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/process/run_wire.h"

namespace rest_fcgi::helper {

/// Starts a program with these standard descriptors, and says on `socket` what becomes of it. Returns when
/// neither it nor anything that it started is left, or when what is left cannot be ended. It is ended when
/// its time is over, when the other end of `socket` is closed, wholly or for writing, and when this process
/// gets SIGTERM.
///
/// REQUIRES: this process has one thread, and no other children.
void run(const process::StartOrder& order, std::array<UniqueFd, 3> streams, int socket);

}  // namespace rest_fcgi::helper

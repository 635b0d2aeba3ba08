// SPDX-License-Identifier: MIT
#pragma once

#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/result.h"

/// The commands of the operator, which are all actions of the command line other than `serve`.
namespace rest_fcgi::command {

/// Writes the error to standard error. Returns the exit status: `status`, or by default EX_CONFIG for the
/// kind configuration and EX_SOFTWARE for other kinds (sysexits.h).
int fail(const Error& error, int status);
int fail(const Error& error);

/// Runs the command. Returns the exit status. REQUIRES: the action is not `serve`.
int run(const config::CommandLine& command_line);

}  // namespace rest_fcgi::command

// SPDX-License-Identifier: MIT
#pragma once

#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::engine {

/// Reads the settings for a command of the operator, which then works as the service does: with the
/// STATE_DIRECTORY of the service's unit of systemd. If this process is root, and `stays_root` is false, it
/// becomes the user of the unit, or else the owner of the database. Errors: configuration; internal.
Result<config::Settings> settings_of_service(const config::CommandLine& command_line, bool stays_root);

}  // namespace rest_fcgi::engine

// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/core/result.h"

/// Functions with which a command of the operator works as the service does.
namespace rest_fcgi::engine {

/// Sets STATE_DIRECTORY as the unit of systemd that runs with the master file `config` does. If this process
/// is root and `becomes_user` is true, makes the unit's folders, and takes the user and the groups of the
/// unit. Does nothing if there is no such unit. Errors: configuration, if the user does not exist; internal.
Result<void> work_as_service(const std::string& config, bool becomes_user);

/// If this process is root, becomes the owner of the folder of the database `path`. Does nothing if the
/// folder does not exist. Errors: internal.
Result<void> work_as_owner(const std::string& path);

}  // namespace rest_fcgi::engine

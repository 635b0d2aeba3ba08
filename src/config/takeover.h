// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/config/units.h"
#include "rest_fcgi/core/result.h"

/// The steps of `--init` and `--undo` on a host with a Salt master: rest_fcgi takes the place of salt-api.
namespace rest_fcgi::config {

/// Returns whether this host has the file and the service of a Salt master.
[[nodiscard]] bool has_salt_master();

/// Takes the place of salt-api: writes the file of the master's `master.d`, checks the configuration, stops
/// salt-api, and starts rest_fcgi-salt. After a failure everything is as before. Returns a text for the user.
/// Errors: configuration; internal.
Result<std::string> take_over();

/// Takes back `take_over`. Returns std::nullopt if its file does not exist. Errors: internal.
Result<std::optional<std::string>> give_back();

/// Returns the text of the file that `take_over` writes. The text keeps the earlier state of salt-api.
[[nodiscard]] std::string takeover_file(const std::vector<std::string>& modules, const UnitState& salt_api);

/// Returns the state of salt-api in the text of such a file. Returns std::nullopt if `take_over` did not
/// write the text.
[[nodiscard]] std::optional<UnitState> salt_api_before(std::string_view text);

/// Returns the netapi modules that salt-api serves: their sections in the master file `path` have a port.
/// Errors: the errors of `read_master_file`.
Result<std::vector<std::string>> served_modules(const std::string& path);

}  // namespace rest_fcgi::config

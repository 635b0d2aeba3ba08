// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "rest_fcgi/core/result.h"

/// Functions for commands that run systemctl(1). What systemctl prints goes to standard error.
namespace rest_fcgi::config {

/// Runs a program and waits for its end. Returns whether its exit status is 0.
[[nodiscard]] bool run_program(const std::vector<std::string>& argv);

/// As `run_program`, but only the program's standard error is shown.
[[nodiscard]] bool run_quietly(const std::vector<std::string>& argv);

/// Returns what the program prints, without its standard error and without spaces at its ends. Returns an
/// empty text after a failure, and for more than 64 KiB.
[[nodiscard]] std::string output_of(const std::vector<std::string>& argv);

/// Returns whether systemd is the service manager of this host.
[[nodiscard]] bool has_systemd();

struct UnitState {
  bool is_enabled = false;
  bool is_active = false;
};

[[nodiscard]] UnitState state_of(const std::string& unit);

/// Enables and starts the units in this order. If a unit does not start, prints the status of all units, then
/// disables and stops them. Errors: internal.
Result<void> start_units(const std::vector<std::string>& units);

/// Disables and stops the units.
Result<void> stop_units(const std::vector<std::string>& units);

}  // namespace rest_fcgi::config

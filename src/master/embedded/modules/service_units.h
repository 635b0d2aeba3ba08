// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>

#include "master/embedded/modules/systemctl.h"

/// What Salt's service module knows of units without asking systemd.
namespace rest_fcgi::embedded {

/// Those that have a unit file.
[[nodiscard]] std::set<std::string> systemd_services(const Systemctl& systemctl);

/// Those that have nothing but an init script.
[[nodiscard]] std::set<std::string> sysv_services(const Systemctl& systemctl);

/// Is an init script started in a runlevel with several users?
[[nodiscard]] bool is_sysv_enabled(const Systemctl& systemctl, const std::string& name);

/// Was the unit masked, for good or (`runtime`) until the next boot?
[[nodiscard]] bool is_masked(const Systemctl& systemctl, const std::string& unit, bool runtime);

}  // namespace rest_fcgi::embedded

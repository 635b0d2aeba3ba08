// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "rest_fcgi/config/config.h"

/// Functions that keep listening sockets open while the service restarts. The sockets are kept in systemd's
/// file descriptor store (sd_notify(3)). Without the store the functions do nothing.
namespace rest_fcgi::engine {

/// Closes the sockets in systemd's file descriptor store whose ports are not in `http`. REQUIRES: the gateway
/// is not open yet.
void drop_stale_ports(const std::vector<gateway::HttpOptions>& http);

/// Puts the listening sockets of the ports `http` into systemd's store. REQUIRES: the gateway is open.
void store_ports(const std::vector<gateway::HttpOptions>& http);

}  // namespace rest_fcgi::engine

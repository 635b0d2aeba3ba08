// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "rest_fcgi/config/config.h"

/// Keeps listening sockets open while the service restarts, so that clients wait and are not refused. systemd
/// stores the sockets and passes them to the next process (FileDescriptorStoreMax=, sd_notify(3)). If systemd
/// provides no file descriptor store, these functions do nothing.
namespace rest_fcgi::engine {

/// Closes the stored sockets that no port of `http` uses, for example after a change of the configuration.
/// REQUIRES: the gateway is not open yet.
void drop_stale_ports(const std::vector<gateway::HttpOptions>& http);

/// Puts the listening sockets of the ports `http` into systemd's store. REQUIRES: the gateway is open.
void store_ports(const std::vector<gateway::HttpOptions>& http);

}  // namespace rest_fcgi::engine

// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "rest_fcgi/config/config.h"

/// Ports that systemd keeps open from one process of a service to the next (FileDescriptorStoreMax=,
/// sd_notify(3)), so that clients wait during a restart instead of being refused. Without a file descriptor
/// store, these functions do nothing.
namespace rest_fcgi::engine {

/// Closes sockets of the store that no port of `http` uses, after a change of the configuration.
/// REQUIRES: the gateway is not open yet.
void drop_stale_ports(const std::vector<gateway::HttpOptions>& http);

/// Puts the listening sockets of the ports `http` into the store. REQUIRES: the gateway is open.
void store_ports(const std::vector<gateway::HttpOptions>& http);

}  // namespace rest_fcgi::engine

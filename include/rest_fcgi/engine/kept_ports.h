// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/unique_fd.h"

/// Functions that keep descriptors while the service restarts, above all listening sockets. The descriptors
/// are kept in systemd's file descriptor store (sd_notify(3)). Without the store the functions do nothing.
namespace rest_fcgi::engine {

/// Takes the descriptors whose names `is_wanted` selects out of those that systemd passes (sd_listen_fds(3)).
/// REQUIRES: the process has one thread.
[[nodiscard]] std::vector<UniqueFd> take_passed(const std::function<bool(const std::string&)>& is_wanted);

/// Puts a descriptor into systemd's store under a name. Returns whether systemd got it.
bool store(std::string_view name, int fd);

/// Removes all descriptors with this name from systemd's store.
void drop_stored(std::string_view name);

/// Closes the sockets in systemd's file descriptor store whose ports are not in `http`. REQUIRES: the gateway
/// is not open yet.
void drop_stale_ports(const std::vector<gateway::HttpOptions>& http);

/// Puts a listening socket into systemd's store, so that the next process gets it. Returns whether systemd
/// got it.
bool store_port(const gateway::HttpOptions& options, int fd);

}  // namespace rest_fcgi::engine

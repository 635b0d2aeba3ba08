// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

#include "master/embedded/host/routes.h"
#include "rest_fcgi/core/json.h"

/// What `network` makes of tables of the kernel. Each writes one value; lines that are not as they should be
/// are left out.
namespace rest_fcgi::embedded::network_parts {

/// The connections that stand, out of the texts of /proc/net/tcp and /proc/net/tcp6.
void write_connections(JsonWriter& writer, std::string_view tcp, std::string_view tcp6);

/// Hardware addresses with their IP addresses, out of the text of /proc/net/arp.
void write_arp(JsonWriter& writer, std::string_view text);

void write_routes(JsonWriter& writer, const std::vector<Route>& routes);

}  // namespace rest_fcgi::embedded::network_parts

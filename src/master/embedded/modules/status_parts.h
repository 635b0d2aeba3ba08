// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "rest_fcgi/core/json.h"

/// What `status` makes of the texts of /proc. Each writes one value; lines that are not as they should be are
/// left out.
namespace rest_fcgi::embedded::status_parts {

void write_cpuinfo(JsonWriter& writer, std::string_view text);
void write_cpustats(JsonWriter& writer, std::string_view text);  ///< of /proc/stat
void write_diskstats(JsonWriter& writer, std::string_view text);
void write_meminfo(JsonWriter& writer, std::string_view text);
void write_netdev(JsonWriter& writer, std::string_view text);    ///< of /proc/net/dev
void write_netstats(JsonWriter& writer, std::string_view text);  ///< of /proc/net/netstat
void write_vmstats(JsonWriter& writer, std::string_view text);

}  // namespace rest_fcgi::embedded::status_parts

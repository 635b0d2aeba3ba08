// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "etcd/gateway_error.h"
#include "etcd/transport.h"

namespace rest_fcgi::etcd {

/// What a member tells anybody.
struct Probed {
  std::string prefix;            ///< of its API
  std::uint64_t cluster_id = 0;  ///< 0: it does not tell it to anybody
};

/// Asks a member for its version, and whether its API is where that version has it.
[[nodiscard]] Tried<Probed> probe(Transport& transport, const std::string& url, Deadline deadline);

/// The prefix that a server of that version (`3.4.23`) has; that of today's where the text is no version.
[[nodiscard]] std::string_view prefix_of_version(std::string_view version);

/// The older one that follows after a prefix; empty after the last.
[[nodiscard]] std::string_view older_prefix(std::string_view prefix);

}  // namespace rest_fcgi::etcd

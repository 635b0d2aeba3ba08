// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rest_fcgi::embedded {

/// A mounted file system. Plain value.
struct Mount {
  std::string device;
  std::string point;
  std::string type;
};

/// What the text of `/proc/mounts` says. Lines that cannot be read are left out.
[[nodiscard]] std::vector<Mount> parse_mounts(std::string_view text);

/// Those that this process sees, now.
[[nodiscard]] std::vector<Mount> host_mounts();

}  // namespace rest_fcgi::embedded

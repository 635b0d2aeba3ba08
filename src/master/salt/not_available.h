// SPDX-License-Identifier: MIT
#pragma once

namespace rest_fcgi::salt {

/// Salt's sentence for a master that is not there.
inline constexpr const char* kMasterNotAvailable = "Salt Master is not available.";

}  // namespace rest_fcgi::salt

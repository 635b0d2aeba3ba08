// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::lowstate {

/// The names of all target types, for a message.
[[nodiscard]] std::string all_target_types();

}  // namespace rest_fcgi::lowstate

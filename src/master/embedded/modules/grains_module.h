// SPDX-License-Identifier: MIT
#pragma once

#include "master/embedded/modules/module.h"

namespace rest_fcgi::embedded::grains_module {

/// All grains of the minion, whatever the arguments.
[[nodiscard]] Reply all_items(const Call& call);

}  // namespace rest_fcgi::embedded::grains_module

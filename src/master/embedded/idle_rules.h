// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "master/embedded/minion.h"
#include "master/embedded/modules/loader.h"
#include "master/embedded/runners/runners.h"
#include "master/embedded/target/target.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/master/embedded/embedded.h"

namespace rest_fcgi::embedded {

/// See Runtime::idle_parts. REQUIRES: the patterns of the rules compile.
[[nodiscard]] std::vector<IdlePart> find_idle_parts(const MasterFacts& facts,
                                                    const std::vector<auth::EauthOptions>& external_auth);

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "master/embedded/runners/runners.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/master/embedded/embedded.h"

namespace rest_fcgi::embedded {

/// Finds the parts of rules that match nothing, for Runtime::unmatched_rule_parts. REQUIRES: the patterns of
/// the rules compile.
[[nodiscard]] std::vector<UnmatchedRulePart> find_unmatched(
    const MasterData& data, const std::vector<auth::EauthOptions>& external_auth);

}  // namespace rest_fcgi::embedded

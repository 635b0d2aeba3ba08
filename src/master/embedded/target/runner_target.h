// SPDX-License-Identifier: MIT
#pragma once

#include "master/embedded/minion.h"
#include "master/embedded/target/target.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::embedded {

/// The minions that a runner's arguments `tgt` and `tgt_type` mean; left out, that is all of them.
/// Errors: invocation, for what is no target.
[[nodiscard]] Result<Selection> select_as_runner(const Minions& minions, JsonValue tgt, JsonValue tgt_type);

}  // namespace rest_fcgi::embedded

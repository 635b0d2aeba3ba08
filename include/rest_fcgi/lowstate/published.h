// SPDX-License-Identifier: MIT
#pragma once

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/lowstate/lowstate.h"

/// How a job's record shows a local call: as Salt publishes it.
namespace rest_fcgi::lowstate {

/// `fun`: a name, or the list of them for compound functions.
[[nodiscard]] Json published_functions(const LocalCall& call);

/// `arg`: a list, or a list of lists for compound functions. Keyword arguments are marked as such.
[[nodiscard]] Json published_arguments(const LocalCall& call);

}  // namespace rest_fcgi::lowstate

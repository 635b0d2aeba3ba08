// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "master/salt/calls/load.h"
#include "master/salt/calls/nodegroups.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/master/salt/options.h"

namespace rest_fcgi::salt {

/// The function of Salt that is published to ask this. REQUIRES: it is not the chunk's own call.
[[nodiscard]] std::string_view function_of(master::Publication::What what);

/// The load that publishes this under a permit: the chunk's own functions, or those of Salt that stand for
/// what is asked (`test.ping`, `sys.list_functions`, `saltutil.find_job`). Borrows from all that it is given.
/// Errors: those of `Nodegroups::expand`.
[[nodiscard]] Result<PublishLoad> publication_load(const master::Permit& permit,
                                                   const master::Publication& publication,
                                                   const Options& options, const Nodegroups& nodegroups);

}  // namespace rest_fcgi::salt

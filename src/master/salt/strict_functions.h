// SPDX-License-Identifier: MIT
#pragma once

#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::salt {

/// May somebody run this list of functions? A master lets a list pass where any one function of it is
/// permitted (`auth_check`, on all living lines), and `saltutil.find_job` is permitted to everybody. So each
/// function has to be permitted here, by the master's own `external_auth`, alone; a rule for some minions
/// only counts where it is plain that the target lies within: the same text, or ids that its glob matches. A
/// single function is left to the master. Errors: authorization.
[[nodiscard]] Result<void> check_each_function(const auth::Permissions& permissions,
                                               const auth::Subject& subject, const lowstate::LocalCall& call);

/// May somebody run this on hosts of a roster? Salt's netapi holds the target of a rule against the minions
/// whose keys the master has, and a roster's hosts are none of these (`_authorize_ssh`; 3008 alone makes an
/// exception for `*`); where the target matches nobody at all, each such rule allows it (compare
/// CVE-2022-22941). So only rules without a target count here, which no line takes for less. Errors:
/// authorization.
[[nodiscard]] Result<void> check_on_roster(const auth::Permissions& permissions, const auth::Subject& subject,
                                           const lowstate::LocalCall& call);

/// A rule may have conditions on a wheel's arguments. A master looks for these under the names `arg` and
/// `kwarg` among the keyword arguments (`wheel_check`, on all living lines): whoever sends keyword arguments
/// of such names would choose what it looks at, beside what the function gets. Errors: invocation.
[[nodiscard]] Result<void> check_wheel_arguments(const lowstate::MasterCall& call);

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "master/embedded/host/users.h"
#include "master/embedded/modules/cmd_options.h"

namespace rest_fcgi::embedded {

/// The environment of a command, as `NAME=value`: what this process has, unless `clean_env`; the login of
/// `account`, where there is one; `env`; the C locale, unless `reset_system_locale` is off; `prepend_path`.
[[nodiscard]] std::variant<std::vector<std::string>, Raised> cmd_environment(
    const CmdOptions& options, const std::optional<Account>& account);

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "master/embedded/modules/script_function.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/embedded/options.h"

namespace rest_fcgi::embedded {

/// The functions in the folders of script modules, no name twice: the first folder that has one wins. What
/// looks like a script and is none, and what others could have written, is left out, and the log says so.
/// Errors: configuration, for a folder that cannot be read and a user who does not exist.
[[nodiscard]] Result<std::vector<std::unique_ptr<const ScriptFunction>>> load_scripts(
    const ModuleOptions& options);

/// What the lines of comment at the start of a script say, behind its `#!` line; empty where there are none.
[[nodiscard]] std::string script_doc(std::string_view text);

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rest_fcgi::embedded {

/// The release of Salt whose behaviour the engine has, for clients that choose by it: `test.version`, the
/// grains `saltversion` and `saltversioninfo`, `manage.versions`. Our own version is in `--version` and in
/// `test.versions_information`.
inline constexpr std::string_view kSaltVersion = "3006.28";

}  // namespace rest_fcgi::embedded

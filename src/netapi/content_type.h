// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rest_fcgi::netapi {

/// Does a Content-Type (RFC 9110, section 8.3) name JSON in UTF-8? Parameters other than `charset` change
/// nothing.
[[nodiscard]] bool is_json(std::string_view content_type);

}  // namespace rest_fcgi::netapi

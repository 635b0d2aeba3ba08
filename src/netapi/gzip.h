// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::netapi {

/// Packs a text of 1 KiB and more where an Accept-Encoding header takes gzip (RFC 9110, section 12.5.3) and
/// it becomes shorter. What is packed in itself, such as a picture, stays as it is.
void pack_where_accepted(std::string_view accept_encoding, http::Response& response);

}  // namespace rest_fcgi::netapi

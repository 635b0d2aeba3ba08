// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "etcd/failure.h"
#include "etcd/transport.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/etcd/client.h"

/// Messages of API v2.
namespace rest_fcgi::etcd {

/// Returns the header `Authorization` with name and password (RFC 7617); empty without a username.
[[nodiscard]] Secret basic_authorization(const Options& options);

/// Returns `/v2/keys/...`, escaped. Several slashes become one, since the server would redirect. Errors:
/// invocation, for the parts `.` and `..`, which the server would redirect to other keys.
[[nodiscard]] Result<std::string> v2_path(std::string_view key);

/// Returns the body of a put (`application/x-www-form-urlencoded`).
[[nodiscard]] std::string v2_form(const PutV2& request);

/// `url` is the member's, for messages, which hold no value.
[[nodiscard]] Tried<NodeV2> read_v2_node(const HttpReply& reply, std::string_view url);

}  // namespace rest_fcgi::etcd

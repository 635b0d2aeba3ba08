// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "etcd/gateway_error.h"
#include "etcd/transport.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/keys_v2.h"

/// Requests and replies of the API v2, as text.
namespace rest_fcgi::etcd {

/// The value of `Authorization` that says name and password (RFC 7617); empty without a username.
[[nodiscard]] Secret basic_authorization(const Options& options);

/// `/v2/keys/...`, escaped, with one `/` where `key` has several, which the server would redirect to. Errors:
/// invocation, for names `.` and `..`, which it would redirect to other keys.
[[nodiscard]] Result<std::string> v2_path(std::string_view key);

/// A put's body (`application/x-www-form-urlencoded`).
[[nodiscard]] std::string v2_form(const PutV2& request);

/// The node of a reply, or what its status refuses. `url` is the member's, for messages; those hold no value.
[[nodiscard]] Tried<NodeV2> read_v2_node(const HttpReply& reply, std::string_view url);

}  // namespace rest_fcgi::etcd

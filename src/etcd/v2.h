// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "etcd/failure.h"
#include "etcd/transport.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/etcd/client.h"

/// Requests and replies of etcd's API v2.
namespace rest_fcgi::etcd {

/// Returns the value of the header `Authorization` with name and password (RFC 7617); empty without a
/// username.
[[nodiscard]] Secret basic_authorization(const Options& options);

/// Returns the escaped path `/v2/keys/...` of a key. Several slashes become one, because the server would
/// answer with a redirect. Errors: invocation, if a part of the key is `.` or `..`. The server would redirect
/// these to other keys.
[[nodiscard]] Result<std::string> v2_path(std::string_view key);

/// Returns the body of a put (`application/x-www-form-urlencoded`).
[[nodiscard]] std::string v2_form(const PutV2& request);

/// Reads the node in a reply. Error messages name the member by its `url`, and contain no value.
[[nodiscard]] Tried<NodeV2> read_v2_node(const HttpReply& reply, std::string_view url);

}  // namespace rest_fcgi::etcd

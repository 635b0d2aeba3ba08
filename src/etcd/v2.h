// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "etcd/failure.h"
#include "etcd/transport.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::etcd {

/// Returns the value of the header `Authorization` with name and password (RFC 7617). Without a username, the
/// value is empty.
[[nodiscard]] Secret basic_authorization(const Options& options);

/// Returns the escaped path `/v2/keys/...` of a key, without double slashes. Errors: invocation, if a part of
/// the key is `.` or `..`, because etcd would redirect such a request to another key.
Result<std::string> v2_path(std::string_view key);

/// Reads the node in a reply. `url` is the member's URL for error messages. Error messages contain no value
/// of a key.
[[nodiscard]] Tried<NodeV2> read_v2_node(const HttpReply& reply, std::string_view url);

}  // namespace rest_fcgi::etcd

// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <variant>

#include "etcd/transport.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::etcd {

/// What the client does after a failed attempt.
enum class RetryAction {
  none,          ///< give up, because every member would fail in the same way
  next_member,   ///< ask another member
  authenticate,  ///< log in again
  other_prefix,  ///< look for the prefix of the API again
};

/// A failed attempt of a request.
struct Failure {
  Error error;
  RetryAction action = RetryAction::none;
  bool is_outcome_known = true;  ///< false if the request may have been executed
  bool lacks_api = false;        ///< the member answers, but has no API v3
};

template <class T>
using Tried = std::variant<T, Failure>;

[[nodiscard]] Failure transport_failure(Error error);

/// Returns the failure of an answer whose status is not 200. The message names the member by its `url`.
[[nodiscard]] Failure gateway_failure(const HttpReply& reply, std::string_view url);

/// Returns the failure for an error object in a stream: `{"grpc_code":…,"http_code":…,"message":…}`. The
/// message names the member by its `url`.
[[nodiscard]] Failure stream_failure(JsonValue error, std::string_view url);

}  // namespace rest_fcgi::etcd

// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <variant>

#include "etcd/transport.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::etcd {

enum class RetryAction {
  none,          ///< The client gives up, because every member would return this error.
  next_member,   ///< The client asks another member.
  authenticate,  ///< The client logs in again.
  other_prefix,  ///< The client asks the member for its API prefix again.
};

struct Failure {
  Error error;
  RetryAction action = RetryAction::none;
  bool is_outcome_known = true;  ///< Whether the client knows that etcd did not execute the request.
  bool lacks_api = false;        ///< Whether the member answers but has no API v3.
};

template <class T>
using Tried = std::variant<T, Failure>;

[[nodiscard]] Failure transport_failure(Error error);

/// Returns the failure for an HTTP reply whose status is not 200. `url` is the member's URL for the message.
[[nodiscard]] Failure gateway_failure(const HttpReply& reply, std::string_view url);

/// Returns the failure for an error object in a stream. `url` is the member's URL for the message.
[[nodiscard]] Failure stream_failure(JsonValue error, std::string_view url);

}  // namespace rest_fcgi::etcd

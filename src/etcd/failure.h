// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <variant>

#include "etcd/transport.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::etcd {

enum class RetryAction {
  none,           ///< `none` means that the client gives up, because every member would return this error.
  next_member,    ///< `next_member` means that the client asks another member.
  authenticate,   ///< `authenticate` means that the client logs in again.
  other_prefix,   ///< `other_prefix` means that the client asks the member for its API prefix again.
  without_token,  ///< `without_token` means that etcd checks no logins, so a request needs no token.
  without_fragments,  ///< `without_fragments` means that this etcd cannot split the replies of a watch.
};

struct Failure {
  Error error;
  RetryAction action = RetryAction::none;
  bool is_outcome_known = true;  ///< `is_outcome_known` says that etcd surely did not execute the request.
  bool lacks_api = false;        ///< `lacks_api` says that the member answers but has no API v3.
};

template <class T>
using Tried = std::variant<T, Failure>;

[[nodiscard]] Failure transport_failure(Error error);

/// Returns the failure for an HTTP reply whose status is not 200. `url` is the member's URL for the message.
[[nodiscard]] Failure gateway_failure(const HttpReply& reply, std::string_view url);

/// Returns the failure for an error object in a stream. `url` is the member's URL for the message.
[[nodiscard]] Failure stream_failure(JsonValue error, std::string_view url);

}  // namespace rest_fcgi::etcd

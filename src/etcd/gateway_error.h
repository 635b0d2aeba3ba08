// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <variant>

#include "etcd/transport.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::etcd {

/// What helps against a failure.
enum class Remedy {
  none,          ///< the same request fails everywhere
  next_member,   ///< this one cannot (now)
  authenticate,  ///< another token
  other_prefix,  ///< the API is not where it was thought to be
};

/// A try that failed.
struct Failure {
  Error error;
  Remedy remedy = Remedy::none;
  bool outcome_known = true;  ///< false: it may have been carried out all the same
  bool lacks_api = false;     ///< the member answers, and has API v3 at no prefix
};

/// A value, or why there is none.
template <class T>
using Tried = std::variant<T, Failure>;

/// What `Transport` told.
[[nodiscard]] Failure transport_failure(Error error);

/// What an answer that is not 200 means, by its status, the code of gRPC in it, and its text. `url` is the
/// member's, for the message.
[[nodiscard]] Failure gateway_failure(const HttpReply& reply, std::string_view url);

/// The same for an error inside of a stream, `{"grpc_code":…,"http_code":…,"message":…}`.
[[nodiscard]] Failure stream_failure(JsonValue error, std::string_view url);

/// Is it the answer to a login where the cluster has no users?
[[nodiscard]] bool says_auth_is_off(const Failure& failure);

/// Is it the answer to a grant whose lease is there already?
[[nodiscard]] bool says_lease_exists(const Error& error);

}  // namespace rest_fcgi::etcd

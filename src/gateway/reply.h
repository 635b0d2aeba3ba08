// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// The reply to a refused request. Its text never quotes the request.
struct Refusal {
  http::Status status = http::Status::bad_request;
  std::string_view sentence;
};

inline constexpr Refusal kBusy = {
    http::Status::service_unavailable,
    "All threads are busy (max_threads), and the queue of waiting requests is full "
    "(max_waiting); try again later"};

[[nodiscard]] http::Response reply_to(const Refusal& refusal);

/// Returns `text` without control characters, because a control character could add another header.
[[nodiscard]] std::string without_control(std::string_view text);

/// Appends the headers of a response to `head`, with `Content-Length` if the size of the body is known.
void append_headers(const http::Response& response, std::string& head);

/// Returns the response of `application`. Logs an exception of `application` and returns status 500.
[[nodiscard]] http::Response answer_of(const http::Application& application, const http::Environ& environ);

}  // namespace rest_fcgi::gateway

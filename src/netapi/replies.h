// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::netapi {

/// How errors of one kind are answered, logged and audited.
struct ErrorRow {
  ErrorKind kind;
  http::Status status;
  log::Level level;
  std::string_view outcome;   ///< word in the audit line
  bool prefixed = false;      ///< rest_wsgi's text begins with the status code
  bool confidential = false;  ///< the message is only logged; the caller gets a reference
};

/// Returns the row of an error kind. This table is the only one from kinds to statuses.
[[nodiscard]] const ErrorRow& row_for(ErrorKind kind) noexcept;

/// A chunk that ran, with its results. Only the last one of a list can have a failure.
struct Completed {
  lowstate::Client client;
  client::Reply reply;
};

/// Moves the start gates of asynchronous jobs out of the replies.
[[nodiscard]] std::vector<master::StartGate> take_gates(std::vector<Completed>& completed);

/// `text` is one JSON value.
[[nodiscard]] http::Response json_reply(http::Status status, std::string text);

/// Returns `{"return": [...]}` with the items of all chunks in order.
[[nodiscard]] std::string items_text(std::vector<Completed> completed);

/// Returns a reply such as `{"return": "404: Not Found"}`, in the format of rest_wsgi.
[[nodiscard]] http::Response status_reply(http::Status status, std::string_view text);

/// Logs a text that the caller must not see, with a random reference, and returns that reference.
[[nodiscard]] std::string log_with_reference(log::Level level, std::string_view subject,
                                             std::string_view text);

/// Returns the Error for an exception: unavailable for std::bad_alloc, otherwise internal.
[[nodiscard]] Error error_of_exception(const std::exception& exception);

/// Logs the error with the client's address and returns the text for the caller. For internal errors that is
/// only a reference to the log.
[[nodiscard]] std::string report(const Error& error, std::string_view remote);

/// Writes the members `jid`, `completed` and `partial` of an error object: the job that was started, the
/// results of earlier chunks, and the partial results of the failed one.
void write_completed_work(JsonWriter& writer, const Error& error, const std::vector<Completed>& completed);

/// Adds Retry-After to responses with status 429 and 503.
void add_retry_after(const Error& error, http::Response& response);

/// Returns rest_wsgi's response for an error: `{"return": "TEXT"}` and what ran before it.
[[nodiscard]] http::Response error_reply(const Error& error, const std::vector<Completed>& completed,
                                         std::string_view remote);

}  // namespace rest_fcgi::netapi

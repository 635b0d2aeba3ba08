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

/// The status, the log level and the audit outcome for one kind of error.
struct ErrorRow {
  ErrorKind kind;
  http::Status status;
  log::Level level;
  std::string_view outcome;   ///< The outcome in the audit line.
  bool prefixed = false;      ///< The text of rest_wsgi begins with the status code.
  bool confidential = false;  ///< The message is only logged. The caller gets a reference to the log.
};

/// Returns the table row for an error kind. Every status of an error comes from this table.
[[nodiscard]] const ErrorRow& row_for(ErrorKind kind) noexcept;

/// A chunk that ran, with its results. In a list, only the last chunk can have failed.
struct Completed {
  lowstate::Client client;
  client::Reply reply;
};

/// Moves the start gates of asynchronous jobs out of the replies, and returns them.
[[nodiscard]] std::vector<master::StartGate> take_gates(std::vector<Completed>& completed);

/// Returns a response with `text`, which is one JSON value.
[[nodiscard]] http::Response json_reply(http::Status status, std::string text);

/// Returns `{"return": [...]}` with the items of all chunks in order.
[[nodiscard]] std::string items_text(std::vector<Completed> completed);

/// Returns a reply such as `{"return": "404: Not Found"}`, in the format of rest_wsgi.
[[nodiscard]] http::Response status_reply(http::Status status, std::string_view text);

/// Logs a text that the caller must not see, together with a random reference. Returns the reference.
[[nodiscard]] std::string log_with_reference(log::Level level, std::string_view subject,
                                             std::string_view text);

/// Returns the Error for an exception. std::bad_alloc becomes the kind `unavailable`, and other exceptions
/// become `internal`.
[[nodiscard]] Error error_of_exception(const std::exception& exception);

/// Logs the error with the client's address. Returns the text for the caller. For internal errors this text
/// is only a reference to the log.
[[nodiscard]] std::string report(const Error& error, std::string_view remote);

/// Writes the members `jid`, `completed` and `partial` of an error object. `jid` is the job that was started.
/// `completed` has the results of earlier chunks, and `partial` those of the failed chunk.
void write_completed_work(JsonWriter& writer, const Error& error, const std::vector<Completed>& completed);

/// Adds the header Retry-After to a response with status 429 or 503.
void add_retry_after(const Error& error, http::Response& response);

/// Returns rest_wsgi's response for an error. It has `{"return": "TEXT"}` and the results of the chunks that
/// ran before the error.
[[nodiscard]] http::Response error_reply(const Error& error, const std::vector<Completed>& completed,
                                         std::string_view remote);

}  // namespace rest_fcgi::netapi

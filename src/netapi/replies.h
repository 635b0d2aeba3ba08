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

struct ErrorRow {
  ErrorKind kind;
  http::Status status;
  log::Level level;
  std::string_view outcome;   ///< `outcome` is the outcome in the audit line.
  bool prefixed = false;      ///< With `prefixed`, rest_wsgi puts the status code before the text.
  bool confidential = false;  ///< With `confidential`, the caller gets only a reference to the log message.
};

/// Returns the row for a kind of error in the table of errors, which has the HTTP status of each kind.
[[nodiscard]] const ErrorRow& row_for(ErrorKind kind) noexcept;

/// A chunk that ran, with its results. In a list of chunks, only the last one can have failed.
struct Completed {
  lowstate::Client client;
  client::Reply reply;
};

/// Moves the start gates out of the replies. A start gate holds back an asynchronous job until the gate is
/// destroyed.
[[nodiscard]] std::vector<master::StartGate> take_gates(std::vector<Completed>& completed);

[[nodiscard]] http::Response json_reply(http::Status status, std::string text);

/// Returns `{"return": [...]}` with the items of all chunks in order.
[[nodiscard]] std::string items_text(std::vector<Completed> completed);

/// Returns rest_wsgi's reply, such as `{"return": "404: Not Found"}`.
[[nodiscard]] http::Response status_reply(http::Status status, std::string_view text);

/// Logs a confidential text with a random reference. Returns the reference.
[[nodiscard]] std::string log_with_reference(log::Level level, std::string_view subject,
                                             std::string_view text);

/// Returns an Error of the kind `unavailable` for std::bad_alloc, and of the kind `internal` for any other
/// exception.
[[nodiscard]] Error error_of_exception(const std::exception& exception);

/// Logs the error with the client's address. Returns the text for the caller. For an internal error, this
/// text is a reference to the log.
[[nodiscard]] std::string report(const Error& error, std::string_view remote);

/// Writes these members into the JSON object of an error: `jid` (the started job), `completed` (the results
/// of earlier chunks) and `partial` (the results of the failed chunk).
void write_completed_work(JsonWriter& writer, const Error& error, const std::vector<Completed>& completed);

void add_retry_after(const Error& error, http::Response& response);

/// Returns rest_wsgi's `{"return": "TEXT"}` for an error, with the results of earlier chunks.
[[nodiscard]] http::Response error_reply(const Error& error, const std::vector<Completed>& completed,
                                         std::string_view remote);

}  // namespace rest_fcgi::netapi

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

/// How one kind of error is answered, logged and audited.
struct ErrorRow {
  ErrorKind kind;
  http::Status status;
  log::Level level;
  std::string_view outcome;  ///< the word in the audit line
  bool prefixed = false;     ///< the text begins with the status code, as that of rest_wsgi's own errors does
  bool confidential = false;  ///< the message is for the log alone
};

/// The one table from kinds of errors to statuses.
[[nodiscard]] const ErrorRow& row_for(ErrorKind kind) noexcept;

/// A chunk that ran, and what it gave; where its reply has a failure, it is the last one.
struct Completed {
  lowstate::Client client;
  client::Reply reply;
};

/// Takes the gates of asynchronous jobs, which go with the reply.
[[nodiscard]] std::vector<master::StartGate> take_gates(std::vector<Completed>& completed);

/// `text` is JSON.
[[nodiscard]] http::Response json_reply(http::Status status, std::string text);

/// `{"return": [...]}`: the items of all chunks, in order.
[[nodiscard]] std::string items_text(std::vector<Completed> completed);

/// `{"return": "404: Not Found"}`: what rest_wsgi says by itself.
[[nodiscard]] http::Response status_reply(http::Status status, std::string_view text);

/// Puts a text into the log that no caller reads, and gives what the caller reads instead: the reference that
/// stands beside it.
[[nodiscard]] std::string reference_to(log::Level level, std::string_view about, std::string_view text);

/// An error for what was thrown: unavailable where memory is short, as another try may succeed; else
/// internal.
[[nodiscard]] Error thrown(const std::exception& exception);

/// What the caller reads of an error, and a line in the log that names `remote`. Of an error of ours the
/// caller gets a reference, which stands in the log beside the true cause.
[[nodiscard]] std::string told(const Error& error, std::string_view remote);

/// Writes the members of an error's object that say what is lost otherwise: the job's id, `jid`; the chunks
/// that were completed before, `completed`; and what the failed one had given by then, `partial`.
void write_what_ran(JsonWriter& writer, const Error& error, const std::vector<Completed>& completed);

/// Says when another try is worth it, where that is known.
void add_retry_after(const Error& error, http::Response& response);

/// `{"return": "<text>"}` with what ran; rest_wsgi's answer to an error.
[[nodiscard]] http::Response error_reply(const Error& error, const std::vector<Completed>& completed,
                                         std::string_view remote);

}  // namespace rest_fcgi::netapi

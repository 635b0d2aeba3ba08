// SPDX-License-Identifier: MIT
#pragma once

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

/// `text` is JSON.
[[nodiscard]] http::Response json_reply(http::Status status, std::string text);

/// `{"return": [...]}`: the items of all chunks, in order.
[[nodiscard]] http::Response items_reply(std::vector<Completed> completed);

/// `{"return": "404: Not Found"}`: what rest_wsgi says by itself.
[[nodiscard]] http::Response status_reply(http::Status status, std::string_view text);

/// `{"return": "<text>"}`, with the job's id, the chunks that were completed before, and what the failed one
/// had given by then, `partial`, where there is any of it; and a line in the log that names `remote`. Of an
/// error of ours the caller gets a reference, which stands in the log beside the true cause.
[[nodiscard]] http::Response error_reply(const Error& error, const std::vector<Completed>& completed,
                                         std::string_view remote);

}  // namespace rest_fcgi::netapi

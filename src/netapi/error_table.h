// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/http/status.h"

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

}  // namespace rest_fcgi::netapi

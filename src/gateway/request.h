// SPDX-License-Identifier: MIT
#pragma once

#include <fcgiapp.h>

#include <chrono>
#include <string>
#include <string_view>

#include "gateway/incoming.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/http/environ.h"

namespace rest_fcgi::gateway {

/// Makes libfcgi ready, puts back the signal handlers that it replaces, and makes sure that it reads through
/// `Incoming`. Errors: internal. Thread-safe.
Result<void> init_libfcgi();

/// One connection from the web server with, one after the other, the requests that come on it. Owns the
/// connection, and what libfcgi allocates for a request. Used and destroyed on the thread that made it.
///
/// libfcgi gets connections that we accepted and bytes that `Incoming` let pass, so that a peer can neither
/// hold a thread for long nor harm the process; and it never closes a connection that is fine: its way to
/// close waits for the peer, two seconds for each thing that it sends.
class Request {
 public:
  Request(UniqueFd connection, std::chrono::milliseconds receive_timeout);
  ~Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// Reads the next request's variables. False: there is no next request that we could answer, be it that the
  /// peer is gone, silent, no FastCGI client, or wants another role than RESPONDER. The connection is then of
  /// no more use.
  bool receive();

  /// Which rule of the protocol or of ours the peer broke, where that ended `receive` or the input. Empty:
  /// none.
  [[nodiscard]] std::string problem() const { return incoming_.problem(); }

  /// Adds the variables of the request.
  void copy_variables(http::Environ& environ) const;

  [[nodiscard]] FCGX_Stream& input() const noexcept { return *libfcgi_.in; }

  /// Appends to the reply. False: the connection failed. Small replies go out with `finish`.
  bool write(std::string_view text);

  /// Sends what is left of the reply, and its end. False: the connection failed, now or in `write`.
  bool finish();

  /// Why `write` or `finish` failed, as an errno.
  [[nodiscard]] int write_error() const noexcept { return write_error_; }

  /// Does the web server keep the connection for further requests?
  [[nodiscard]] bool keeps_connection() const noexcept { return keeps_connection_; }

  [[nodiscard]] int connection() const noexcept { return connection_.get(); }

 private:
  bool failed_to_write();

  UniqueFd connection_;
  Incoming incoming_;
  FCGX_Request libfcgi_ = {};
  bool keeps_connection_ = false;
  int write_error_ = 0;
};

}  // namespace rest_fcgi::gateway

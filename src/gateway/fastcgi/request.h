// SPDX-License-Identifier: MIT
#pragma once

#include <fcgiapp.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/body_budget.h"
#include "gateway/fastcgi/incoming.h"
#include "gateway/streams/gathered.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/http/application.h"

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
  /// How long it waits for the peer.
  struct Patience {
    std::chrono::milliseconds receive;  ///< as `Incoming` says
    std::chrono::milliseconds send;     ///< to take a part of what is sent
  };
  Request(UniqueFd connection, Patience patience);
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

  /// Adds the variables of the request to `environ`, and wipes libfcgi's.
  void take_variables(http::Environ& environ);

  [[nodiscard]] FCGX_Stream& input() const noexcept { return *libfcgi_.in; }

  /// Gives back what libfcgi holds for the request, 20 KiB and more, once variables and body were read: an
  /// application may take its time.
  void release_input() noexcept;

  /// Sends `head` and `body` as FCGI_STDOUT, and FCGI_END_REQUEST where they are `last`. Returns 0, or why
  /// that failed as an errno: EAGAIN where the peer took nothing for too long. The connection is then of no
  /// more use.
  [[nodiscard]] int reply(std::string_view head, std::string_view body, bool last = true);

  /// Does the web server keep the connection for further requests?
  [[nodiscard]] bool keeps_connection() const noexcept { return keeps_connection_; }

  [[nodiscard]] int connection() const noexcept { return connection_.get(); }

  /// FastCGI's.
  [[nodiscard]] int id() const noexcept { return libfcgi_.requestId; }

  /// Gives the connection away. The request is of no more use then.
  [[nodiscard]] UniqueFd release_connection() noexcept { return std::move(connection_); }

 private:
  UniqueFd connection_;
  const std::chrono::milliseconds send_timeout_;
  Incoming incoming_;
  FCGX_Request libfcgi_ = {};
  Gathered records_;  // of a reply
  bool keeps_connection_ = false;
};

struct BodyLimits {
  std::size_t max_size = 0;                   ///< bytes; beyond it: too_large
  std::size_t max_discarded = 8u << 20;       ///< bytes of a refused body that are read all the same
  std::chrono::milliseconds discard_time{0};  ///< and for how long
};

/// Reads the body of one request after the other into one buffer, and wipes both that and libfcgi's, since a
/// body holds passwords. Owns the buffer. Not synchronized: one for each thread.
class Body {
 public:
  /// How far the stream was read.
  enum class End {
    complete,   ///< to its end
    abandoned,  ///< not to its end: what comes next on the connection is not the next request
    broken,     ///< the web server went away, fell silent or broke the protocol: nobody waits for an answer
  };

  /// `budget` outlives it; null: nothing counts its bytes.
  explicit Body(BodyLimits limits, BodyBudget* budget = nullptr) : limits_(limits), budget_(budget) {}

  /// Reads the stream FCGI_STDIN. `content_length` is the variable CONTENT_LENGTH, empty where it was not
  /// sent. A body that is refused is read and thrown away, within limits: a web server that is still sending
  /// would not see our answer. May throw std::bad_alloc.
  End read(FCGX_Stream& stream, std::string_view content_length);

  /// What was read, valid until the next call of `read` or `wipe`; or too_large or malformed, as
  /// `http::Environ` says; or unavailable, where it does not fit into the budget.
  [[nodiscard]] Result<std::string_view> content() const;

  /// Forgets and wipes what was read, and gives a large buffer back.
  void wipe() noexcept;

 private:
  void accept_length(std::string_view content_length);
  void take(std::string_view chunk);
  void check_length();
  bool count(std::size_t bytes);
  void release() noexcept;
  [[gnu::cold]] void refuse(ErrorKind kind, std::string message);
  [[nodiscard]] bool tired_of_discarding(SteadyTime deadline) const;

  BodyLimits limits_;
  BodyBudget* budget_;
  std::size_t counted_ = 0;  ///< in the budget
  WipedBytes bytes_;
  std::optional<std::size_t> declared_;  ///< CONTENT_LENGTH
  std::size_t received_ = 0;
  std::size_t discarded_ = 0;
  std::optional<Error> error_;
};

/// Replaces `head` by the head of a CGI response (RFC 3875): `Status`, the response's headers,
/// `Content-Length` where its body is a text, and the blank line. Control characters in headers, which the
/// seam forbids, are dropped, so that no text can add a header.
void write_head(const http::Response& response, std::string& head);

}  // namespace rest_fcgi::gateway

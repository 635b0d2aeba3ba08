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
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// Makes libfcgi ready, and puts back the signal handlers that it replaces. Errors: internal. Thread-safe.
Result<void> init_libfcgi();

/// Why a body is not given to the application, and when it is given up.
struct BodyLimits {
  std::size_t max_size = 0;                   ///< bytes; beyond it: too_large
  std::size_t max_discarded = 8u << 20;       ///< bytes of a refused body that are read all the same
  std::chrono::milliseconds discard_time{0};  ///< and for how long
};

/// One request on a connection of FastCGI, from libfcgi's FCGX_Accept_r to its FCGX_Finish_r. Reads and
/// writes block. Owns the connection for that time. Used by one thread at a time.
///
/// libfcgi knows one request at a time on a connection: it refuses FCGI_BEGIN_REQUEST of another one
/// (FCGI_CANT_MPX_CONN), and loses what a web server sends before the reply to the request before it. No web
/// server does either.
class FastCgiRequest {
 public:
  enum class End {
    kept,    ///< the connection may carry another request
    closed,  ///< it is closed, or of no more use
    feed,    ///< the head of a feed was sent: see `release_feed`
  };

  /// REQUIRES: `connection` blocks, for as long as SO_RCVTIMEO and SO_SNDTIMEO let it.
  explicit FastCgiRequest(UniqueFd connection) : connection_(std::move(connection)) {}
  ~FastCgiRequest();
  FastCgiRequest(const FastCgiRequest&) = delete;
  FastCgiRequest& operator=(const FastCgiRequest&) = delete;

  /// Reads the variables. Returns false where there is no request that we could answer.
  bool receive(http::Environ& environ);

  /// Reads the body and returns it, or why it is refused: too_large or malformed, as `http::Environ` says;
  /// unavailable where it does not fit into `budget`. A refused body is read and thrown away within limits: a
  /// web server that is still sending would not see the reply. std::nullopt: the web server went away, or
  /// fell silent. The text is valid as long as the request. Call once.
  std::optional<Result<std::string_view>> read_body(std::string_view content_length, const BodyLimits& limits,
                                                    BodyBudget& budget);

  /// Forgets and wipes the body.
  void forget_body() noexcept;

  /// Sends `response`, without a body where the request was HEAD's.
  End reply(http::Response response, bool is_head);

  /// Gives the connection away, after `End::kept` and `End::feed`.
  [[nodiscard]] UniqueFd release_connection() noexcept { return std::move(connection_); }

  /// Returns FastCGI's id of the request.
  [[nodiscard]] int id() const noexcept { return id_; }

 private:
  void take_length(std::string_view content_length, const BodyLimits& limits);
  void take(std::string_view bytes, const BodyLimits& limits);
  void refuse_body(ErrorKind kind, std::string why);
  bool put(std::string_view text) noexcept;
  bool put_stream(http::Stream& stream);
  End finish();

  UniqueFd connection_;
  FCGX_Request libfcgi_ = {};
  int id_ = 0;
  bool is_kept_ = false;  ///< the web server keeps the connection
  BodyBudget* budget_ = nullptr;
  std::size_t counted_ = 0;  ///< in the budget
  WipedBytes body_;
  std::optional<std::size_t> declared_;  ///< CONTENT_LENGTH
  std::size_t received_ = 0;
  std::optional<Error> body_error_;
};

/// Returns the head of a CGI response (RFC 3875): `Status`, the response's headers, `Content-Length` where
/// its body is a text, and the blank line.
[[nodiscard]] std::string cgi_head(const http::Response& response);

}  // namespace rest_fcgi::gateway

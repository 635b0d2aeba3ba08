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

/// Initializes libfcgi and restores the signal handlers that it replaces. Errors: internal. Thread-safe.
Result<void> init_libfcgi();

/// The limits of a request's body. The server reads a refused body too, because a web server that is still
/// sending does not read the reply.
struct BodyLimits {
  std::size_t max_size = 0;  ///< the largest body in bytes; the error of a larger body is too_large
  std::size_t max_discarded = 8u << 20;       ///< the most bytes of a refused body that the server reads
  std::chrono::milliseconds discard_time{0};  ///< the longest time for reading a refused body
};

/// One FastCGI request, from FCGX_Accept_r to FCGX_Finish_r. Owns the connection for that time. Reads and
/// writes block. Used by one thread at a time. libfcgi serves one request at a time on a connection and
/// refuses a second FCGI_BEGIN_REQUEST with FCGI_CANT_MPX_CONN.
class FastCgiRequest {
 public:
  enum class End {
    kept,
    closed,  ///< the connection is closed, or the caller has to close it
    feed,    ///< the head of a feed was sent, and `Streams` has to send the feed
  };

  /// REQUIRES: `connection` is blocking and has SO_RCVTIMEO and SO_SNDTIMEO.
  explicit FastCgiRequest(UniqueFd connection) : connection_(std::move(connection)) {}
  ~FastCgiRequest();
  FastCgiRequest(const FastCgiRequest&) = delete;
  FastCgiRequest& operator=(const FastCgiRequest&) = delete;

  /// Reads the variables. Returns false if no complete request with the role responder arrives.
  bool receive(http::Environ& environ);

  /// Reads the body. May be called once. Errors: too_large; malformed; unavailable, if `budget` has no space.
  /// Returns std::nullopt if the web server stopped sending. The text is valid as long as the request.
  std::optional<Result<std::string_view>> read_body(std::string_view content_length, const BodyLimits& limits,
                                                    BodyBudget& budget);

  /// Wipes and frees the body.
  void forget_body() noexcept;

  /// Sends `response`, without the body if `is_head`.
  End reply(http::Response response, bool is_head);

  /// Returns the connection after `End::kept` or `End::feed`.
  [[nodiscard]] UniqueFd release_connection() noexcept { return std::move(connection_); }

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
  bool is_kept_ = false;
  BodyBudget* budget_ = nullptr;
  std::size_t counted_ = 0;  ///< the bytes of the body that the budget counts
  WipedBytes body_;
  std::optional<std::size_t> declared_;
  std::size_t received_ = 0;
  std::optional<Error> body_error_;
};

/// Returns the head of a CGI response (RFC 3875): `Status`, the headers and the empty line.
[[nodiscard]] std::string cgi_head(const http::Response& response);

}  // namespace rest_fcgi::gateway

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
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// Initializes libfcgi. Restores the signal handlers that libfcgi replaces. Errors: internal. Thread-safe.
Result<void> init_libfcgi();

/// The limits of a request's body. The server also reads a refused body, because the web server sends the
/// whole body before it reads the reply.
struct BodyLimits {
  std::size_t max_size = 0;  ///< A body of more bytes than `max_size` gives the error too_large.
  std::string_view key{};    ///< The configuration key of `max_size`.
  /// At most `max_discarded` bytes of a refused body are read. The sites in nginx/ and apache/ refuse bodies
  /// of more than 64 MiB. A web server whose connection ends before that would answer 503 in place of 413.
  std::size_t max_discarded = 128u << 20;
  std::chrono::milliseconds discard_time{0};  ///< `discard_time` limits the reading of a refused body.
};

/// One FastCGI request, from FCGX_Accept_r to FCGX_Finish_r. Owns the connection until the request ends.
/// Reads and writes block. Used by one thread at a time. On a connection, libfcgi serves one request at a
/// time and refuses a second FCGI_BEGIN_REQUEST with FCGI_CANT_MPX_CONN.
class FastCgiRequest {
 public:
  enum class End {
    kept,
    closed,  ///< `closed` means that the connection can have no further request.
    feed,    ///< `feed` means that the head of an event feed was sent. `Streams` has to send the events.
  };

  /// Takes ownership of the connection. REQUIRES: `connection` is blocking and has SO_RCVTIMEO and
  /// SO_SNDTIMEO.
  explicit FastCgiRequest(UniqueFd connection) : connection_(std::move(connection)) {}
  ~FastCgiRequest();
  FastCgiRequest(const FastCgiRequest&) = delete;
  FastCgiRequest& operator=(const FastCgiRequest&) = delete;

  /// Reads the CGI variables. Returns false if no complete request with the role responder arrives.
  bool receive(http::Environ& environ);

  /// Reads the body. May be called once. Errors: too_large; malformed; unavailable, if `budget` has no space.
  /// Returns std::nullopt if the web server stopped sending. The text is valid during the request.
  std::optional<Result<std::string_view>> read_body(std::string_view content_length, const BodyLimits& limits,
                                                    BodyBudget& budget);

  /// Frees the memory of the body.
  void forget_body() noexcept;

  /// Sends `response`. Sends no body if `is_head` is true.
  End reply(http::Response response, bool is_head);

  /// Returns the connection. REQUIRES: `reply` returned `End::kept` or `End::feed`.
  [[nodiscard]] UniqueFd release_connection() noexcept { return std::move(connection_); }

  [[nodiscard]] int id() const noexcept { return id_; }

 private:
  void take_length(std::string_view content_length, const BodyLimits& limits);
  void take(std::string_view bytes, const BodyLimits& limits);
  void refuse_body(ErrorKind kind, std::string why);
  void refuse_large_body(const BodyLimits& limits);
  bool put(std::string_view text) noexcept;
  bool put_stream(http::Stream& stream);
  End finish();

  UniqueFd connection_;
  FCGX_Request libfcgi_ = {};
  int id_ = 0;
  bool is_kept_ = false;
  bool has_arrived_ = false;  ///< Whether `receive` found that the whole request had arrived.
  BodyBudget* budget_ = nullptr;
  std::size_t counted_ = 0;  ///< The bytes of the body that were added to the BodyBudget.
  std::string body_;
  std::optional<std::size_t> declared_;
  std::size_t received_ = 0;
  std::optional<Error> body_error_;
};

/// Returns the head of a CGI response (RFC 3875): `Status`, the headers and an empty line.
[[nodiscard]] std::string cgi_head(const http::Response& response);

}  // namespace rest_fcgi::gateway

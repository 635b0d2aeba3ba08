// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

/// The interface between front ends and applications.
namespace rest_fcgi::http {

/// One request as variables and a body, as in CGI (RFC 3875) and WSGI (PEP 3333). Owns copies of the
/// variables and wipes them, because they contain passwords, cookies and tokens. Borrows the body from the
/// front end, which wipes the body. Not synchronized.
class Environ {
 public:
  /// Returns the value of a variable such as `CONTENT_TYPE` or `HTTP_ACCEPT`; empty if it is not set.
  [[nodiscard]] std::string_view get(std::string_view name) const noexcept;

  /// Returns the names and values in the order of the calls of `set`. A name that was set twice appears
  /// twice.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> all() const;

  /// Sets a variable. If the same name is set twice, `get` returns the last value.
  void set(std::string_view name, std::string_view value);

  /// Sets a variable from a text `NAME=VALUE`. `equals` is the position of the equals sign in the text.
  void set(std::string_view variable, std::size_t equals);

  /// The body, or the Error that the application has to answer in its own format. Errors: too_large, if the
  /// body exceeds `max_request_body_size`; malformed, if the body's length differs from CONTENT_LENGTH, or
  /// CONTENT_LENGTH is not a number.
  Result<std::string_view> body = std::string_view();

 private:
  struct Variable {
    std::uint32_t name, name_size, value, value_size;  // offsets and sizes of parts of text_
  };
  WipedBytes text_;
  std::vector<Variable> variables_;
};

/// HTTP status codes (RFC 9110) that applications and front ends use.
enum class Status {
  /// The start of a WebSocket. It needs a `Feed` as body and a front end that supports WebSockets.
  switching_protocols = 101,
  ok = 200,
  accepted = 202,
  no_content = 204,
  partial_content = 206,
  moved_permanently = 301,
  not_modified = 304,
  bad_request = 400,
  unauthorized = 401,
  forbidden = 403,
  not_found = 404,
  method_not_allowed = 405,
  not_acceptable = 406,
  request_timeout = 408,
  conflict = 409,
  content_too_large = 413,
  unsupported_media_type = 415,
  range_not_satisfiable = 416,
  upgrade_required = 426,
  too_many_requests = 429,
  request_header_fields_too_large = 431,
  internal_server_error = 500,
  service_unavailable = 503,
  gateway_timeout = 504,
  http_version_not_supported = 505,
  insufficient_storage = 507,
};

/// Returns the reason phrase, such as `Not Found`.
[[nodiscard]] std::string_view reason(Status status) noexcept;

/// Returns the time in the format of HTTP headers, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section
/// 5.6.7).
[[nodiscard]] std::string http_date(std::chrono::system_clock::time_point time);

/// Returns whether a response of this status can have a body (RFC 9110, sections 15.3.5 and 15.4.5).
[[nodiscard]] bool may_have_body(Status status) noexcept;

/// A body that is produced while it is sent, such as a file. The front end owns the Stream and uses it on one
/// thread at a time. It destroys the Stream at the end or when the client disconnects.
class Stream {
 public:
  virtual ~Stream() = default;

  /// Returns the next part, or an empty text at the end. The part is valid until the next call. After an
  /// Error, the front end logs the message and closes the connection.
  virtual Result<std::string_view> next() = 0;
};

/// A function that tells the front end that a `Feed` may have more to send. Any thread may call it; the call
/// does not block. Many Feeds may share one Wake, and one call then wakes all of them.
using Wake = std::shared_ptr<const std::function<void()>>;

/// A body without a fixed end, such as a stream of events. With the status switching_protocols, each part is
/// a text message of a WebSocket (RFC 6455). The front end owns the Feed, and calls it on one thread at a
/// time from an event loop. So the functions must not block. The front end destroys the Feed when the feed or
/// the client ends the stream.
class Feed {
 public:
  virtual ~Feed() = default;

  /// A text that is valid as long as a copy of `owner` exists. Several Feeds may share one text.
  struct Part {
    std::shared_ptr<const void> owner;
    std::string_view text;

    /// Returns a part that owns its text.
    [[nodiscard]] static Part of(std::string text) {
      auto owner = std::make_shared<const std::string>(std::move(text));
      return {owner, *owner};
    }
  };

  /// The reason for the end of a feed: a WebSocket close code (RFC 6455, section 7.4) and a text of at most
  /// 123 bytes.
  struct End {
    std::uint16_t code = 0;
    std::string reason;
  };

  /// Appends the next parts to send to `parts`, in total about `most_bytes`. If there is nothing to send, the
  /// feed calls `wake` as soon as there is something. The front end may also call `take` before that. After
  /// the feed has returned an End, `take` is not called again.
  [[nodiscard]] virtual std::optional<End> take(std::vector<Part>& parts, std::size_t most_bytes,
                                                const Wake& wake) = 0;

  /// Handles a message that the client sent on the WebSocket.
  virtual void on_message(std::string_view message, bool is_text) = 0;

  /// Returns a text that the front end sends when the feed was silent for some time, so that proxies keep the
  /// connection open. If the text is empty, nothing is sent. WebSockets use pings instead.
  [[nodiscard]] virtual std::string_view keep_alive() const noexcept = 0;
};

/// The response of an application. It can only be moved.
struct Response {
  Status status = Status::ok;
  /// Header names and values. The front end adds Content-Length if the body is a text, and does not send the
  /// body in reply to HEAD. REQUIRES: the headers have no control characters and do not concern the
  /// connection. Content-Length is set only if the body is a Stream.
  std::vector<std::pair<std::string, std::string>> headers;
  std::variant<std::string, std::unique_ptr<Stream>, std::unique_ptr<Feed>> body;
  /// Objects that the front end releases after the response was written to the socket, or after the write
  /// failed.
  std::vector<std::shared_ptr<const void>> held{};
  /// The label of this request in the metrics, such as the name of the Salt client. It is one of a few string
  /// literals, or empty.
  std::string_view metric_label{};

  /// Returns the body. REQUIRES: the body is a text.
  [[nodiscard]] const std::string& text() const { return std::get<std::string>(body); }
};

/// A function that answers requests, like a WSGI application. Many threads may call it at the same time. It
/// throws no exceptions.
using Application = std::function<Response(const Environ&)>;

}  // namespace rest_fcgi::http

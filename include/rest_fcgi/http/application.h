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

/// One request in terms of CGI (RFC 3875) and WSGI (PEP 3333): variables and body. Owns copies of the
/// variables, and wipes them, since they contain passwords, cookies and tokens. The body is borrowed from the
/// front end, which wipes it. Not synchronized.
class Environ {
 public:
  /// Returns the value of a variable such as `CONTENT_TYPE` or `HTTP_ACCEPT`; empty if it is not set.
  [[nodiscard]] std::string_view get(std::string_view name) const noexcept;

  /// Returns names and values in the order in which they were set, including names that were set twice.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> all() const;

  /// Sets a variable. If it is set twice, `get` returns the last value.
  void set(std::string_view name, std::string_view value);

  /// Sets a variable from a text `NAME=VALUE`. REQUIRES: the equals sign is at `equals`.
  void set(std::string_view variable, std::size_t equals);

  /// The body, or an Error: too_large, beyond `max_request_body_size`; malformed, if its length differs from
  /// CONTENT_LENGTH or that is not a number. The application answers such an error in its own format.
  Result<std::string_view> body = std::string_view();

 private:
  struct Variable {
    std::uint32_t name, name_size, value, value_size;  // offsets into text_
  };
  WipedBytes text_;
  std::vector<Variable> variables_;
};

/// HTTP status codes (RFC 9110) that applications and front ends use.
enum class Status {
  switching_protocols = 101,  ///< only with a `Feed`, if the front end can send WebSockets
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

/// Returns the time in the format of headers (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
[[nodiscard]] std::string http_date(std::chrono::system_clock::time_point time);

/// Returns whether a response of this status can have a body (RFC 9110, sections 15.3.5 and 15.4.5).
[[nodiscard]] bool may_have_body(Status status) noexcept;

/// A body that is produced while it is sent, such as a file. The front end uses it on one thread at a time,
/// and destroys it at the end or when the client disconnects.
class Stream {
 public:
  virtual ~Stream() = default;

  /// Returns the next part, valid until the next call; empty at the end. On an Error, the front end logs its
  /// message and closes the connection.
  virtual Result<std::string_view> next() = 0;
};

/// Tells the front end that a `Feed` may have more to send. Callable from any thread; does not block. Feeds
/// with the same Wake are all woken by one call.
using Wake = std::shared_ptr<const std::function<void()>>;

/// A body without a fixed end, such as a stream of events. With the status switching_protocols, each part is
/// a text message of a WebSocket (RFC 6455). The front end calls it from an event loop, one thread at a time,
/// and destroys it when either side ends. No function blocks.
class Feed {
 public:
  virtual ~Feed() = default;

  /// A text that is valid as long as `owner` is held. Feeds may share it.
  struct Part {
    std::shared_ptr<const void> owner;
    std::string_view text;

    /// Returns a part that owns its text.
    [[nodiscard]] static Part of(std::string text) {
      auto owner = std::make_shared<const std::string>(std::move(text));
      return {owner, *owner};
    }
  };

  /// Why the feed ends: a close code (RFC 6455, section 7.4) and a reason of at most 123 bytes.
  struct End {
    std::uint16_t code = 0;
    std::string reason;
  };

  /// Adds what has to be sent now to `parts`, about `most_bytes`. If there is nothing, the feed calls `wake`
  /// when there is; the front end may also call earlier. An End is the last result.
  [[nodiscard]] virtual std::optional<End> take(std::vector<Part>& parts, std::size_t most_bytes,
                                                const Wake& wake) = 0;

  /// Handles a message that the client sent on the WebSocket.
  virtual void on_message(std::string_view message, bool is_text) = 0;

  /// Returns the text that is sent after a time without others, so that proxies keep the connection; empty:
  /// none. WebSockets use pings instead.
  [[nodiscard]] virtual std::string_view keep_alive() const noexcept = 0;
};

/// The response of an application. Moves only.
struct Response {
  Status status = Status::ok;
  /// Header names and values. The front end adds Content-Length for a text. It does not send the body in
  /// reply to HEAD. REQUIRES: no control characters; Content-Length only with a stream; no headers about the
  /// connection.
  std::vector<std::pair<std::string, std::string>> headers;
  std::variant<std::string, std::unique_ptr<Stream>, std::unique_ptr<Feed>> body;
  /// Objects that the front end destroys after the response was written to the socket, or when that failed.
  std::vector<std::shared_ptr<const void>> held{};
  /// What the request asked for, as a label of its count: one of a few literals. Empty: nothing.
  std::string_view metric_label{};

  /// Returns the body. REQUIRES: it is a text.
  [[nodiscard]] const std::string& text() const { return std::get<std::string>(body); }
};

/// A callable that answers requests, like a WSGI application. Many threads may call it at once. It returns
/// when the response is complete, and throws nothing.
using Application = std::function<Response(const Environ&)>;

}  // namespace rest_fcgi::http

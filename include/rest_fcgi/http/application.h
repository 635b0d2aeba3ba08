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

namespace rest_fcgi::http {

/// A request as variables and a body, as in CGI (RFC 3875) and WSGI (PEP 3333). Owns the variables. The front
/// end owns the body. An Environ is not thread-safe.
class Environ {
 public:
  /// Returns the value of a variable such as `CONTENT_TYPE`, or an empty text if the variable is not set.
  [[nodiscard]] std::string_view get(std::string_view name) const noexcept;

  /// Returns the names and values in the order of the calls of `set`, with repeated names.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> all() const;

  /// Sets a variable. If a name is set several times, `get` returns the last value.
  void set(std::string_view name, std::string_view value);

  /// Sets a variable from `NAME=VALUE`. `equals` is the offset of the equals sign.
  void set(std::string_view variable, std::size_t equals);

  /// The body, or an Error for which the application has to return an error response. Errors: too_large, if
  /// the body exceeds `max_request_body_size`; malformed, if CONTENT_LENGTH is wrong.
  Result<std::string_view> body = std::string_view();

  /// The time at which the front end had received the whole request, before it waited for a thread. The
  /// default value means that the time is unknown.
  std::chrono::steady_clock::time_point received{};

 private:
  struct Variable {
    std::uint32_t name, name_size, value, value_size;
  };
  std::string text_;
  std::vector<Variable> variables_;
};

enum class Status {
  /// Starts a WebSocket. REQUIRES: the body of the response is a `Feed`.
  switching_protocols = 101,
  ok = 200,
  accepted = 202,
  no_content = 204,
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
  unprocessable_content = 422,
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

/// Returns the time in the format of HTTP headers (RFC 9110, section 5.6.7).
[[nodiscard]] std::string http_date(std::chrono::system_clock::time_point time);

/// Returns whether a response of this status can have a body (RFC 9110, sections 15.3.5 and 15.4.5).
[[nodiscard]] bool may_have_body(Status status) noexcept;

/// A body that is produced while the front end sends it. The front end owns the Stream, uses it on one thread
/// at a time, and destroys it at the end or when the client disconnects.
class Stream {
 public:
  virtual ~Stream() = default;

  /// Returns the next part of the body, or an empty text at the end. The text is valid until the next call.
  /// An Error makes the front end close the connection.
  virtual Result<std::string_view> next() = 0;
};

/// A function that tells the front end that a `Feed` may have more to send. Any thread may call the function,
/// which does not block.
using Wake = std::shared_ptr<const std::function<void()>>;

/// A body without a fixed end, such as a stream of events or a WebSocket (RFC 6455). The front end owns the
/// Feed and calls its functions in an event loop, on one thread at a time. The functions of a Feed must not
/// block.
class Feed {
 public:
  virtual ~Feed() = default;

  /// A text that is valid as long as a copy of `owner` exists.
  struct Part {
    std::shared_ptr<const void> owner;
    std::string_view text;

    [[nodiscard]] static Part of(std::string text) {
      auto owner = std::make_shared<const std::string>(std::move(text));
      return {owner, *owner};
    }
  };

  /// A WebSocket close code (RFC 6455, section 7.4) and a text of at most 123 bytes.
  struct End {
    std::uint16_t code = 0;
    std::string reason;
    bool is_slow = false;  ///< Whether the reason is that the client read too slowly.
  };

  /// Appends texts to `parts`, about `most_bytes` bytes in total. If the feed has no text to send, the feed
  /// calls `wake` later. If the result is an End, the front end closes the stream, and does not call the feed
  /// again.
  [[nodiscard]] virtual std::optional<End> take(std::vector<Part>& parts, std::size_t most_bytes,
                                                const Wake& wake) = 0;

  virtual void on_message(std::string_view message, bool is_text) = 0;

  /// Returns a text that the front end sends after some time of silence, so that proxies keep the connection
  /// open. If the text is empty, the front end sends no text.
  [[nodiscard]] virtual std::string_view keep_alive() const noexcept = 0;
};

struct Response {
  Status status = Status::ok;
  /// Header names and values. The front end adds Content-Length. REQUIRES: no control characters, no
  /// Content-Length, and no headers about the connection such as `Connection`.
  std::vector<std::pair<std::string, std::string>> headers;
  std::variant<std::string, std::unique_ptr<Stream>, std::unique_ptr<Feed>> body;
  /// The number of bytes of a Stream, if known before it is sent.
  std::optional<std::uint64_t> stream_size{};
  /// The front end releases these objects after it has written the response or has failed to write it.
  std::vector<std::shared_ptr<const void>> held{};
  /// The request's label in the metrics: a string literal, or empty.
  std::string_view metric_label{};

  [[nodiscard]] const std::string& text() const { return std::get<std::string>(body); }

  /// Returns the number of bytes of the body, or std::nullopt if it is unknown or the status has no body.
  [[nodiscard]] std::optional<std::uint64_t> body_size() const;
};

/// A function that answers requests, like a WSGI application. The function is thread-safe and throws no
/// exceptions. Where it waits, it declares a `Waiting`, because other requests need its thread.
using Application = std::function<Response(const Environ&)>;

/// Returns an application that passes requests to `application`. If a request has an id of its web server
/// (the variable REQUEST_ID), the log lines of the request and the header X-Request-ID of the response have
/// it. Ignores an id of more than 128 bytes, and an id with other characters than letters, digits and
/// `-_.:@=+/`.
[[nodiscard]] Application with_request_id(Application application);

}  // namespace rest_fcgi::http

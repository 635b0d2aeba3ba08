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

/// What front ends hand to what answers, and get back.
namespace rest_fcgi::http {

/// One request as CGI (RFC 3875) and WSGI (PEP 3333) describe it: variables by name, and the body.
/// Holds copies of the variables, made anew for each request, so that nothing carries over from one to the
/// next, and wipes them, since passwords, cookies and tokens come in headers; the body is borrowed from
/// whoever made the Environ, who also wipes it. Not synchronized.
class Environ {
 public:
  /// The value of a variable such as `CONTENT_TYPE` or `HTTP_ACCEPT`; empty where it was not sent, which CGI
  /// treats as the same.
  [[nodiscard]] std::string_view get(std::string_view name) const noexcept;

  /// Name and value of each variable, in the order in which they were set; a name that was set twice stands
  /// there twice.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> all() const;

  /// Of two values for one name the last counts.
  void set(std::string_view name, std::string_view value);

  /// The same for one text, `NAME=VALUE`, as CGI has it. REQUIRES: an equals sign stands at `equals`.
  void set(std::string_view variable, std::size_t equals);

  /// Forgets all variables, wipes them, and forgets the body. Memory is kept for the next request, unless it
  /// is much.
  void clear() noexcept;

  /// The body, or why there is none: too_large beyond `max_request_body_size`; malformed where it is shorter
  /// or longer than CONTENT_LENGTH says, or that is no number. The application says so in its own format.
  Result<std::string_view> body = std::string_view();

 private:
  struct Variable {
    std::uint32_t name, name_size, value, value_size;  // into text_
  };
  void reserve_usual();

  WipedBytes text_;
  std::vector<Variable> variables_;
};

/// The statuses (RFC 9110) that we answer with.
enum class Status {
  switching_protocols = 101,  ///< with a `Feed` alone, where the front end can carry a WebSocket
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

/// The reason phrase, such as `Not Found`.
[[nodiscard]] std::string_view reason(Status status) noexcept;

/// A point in time as headers have it (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
[[nodiscard]] std::string http_date(std::chrono::system_clock::time_point time);

/// May a reply of this status have a body (RFC 9110, 15.3.5 and 15.4.5)? Where not, it is not sent.
[[nodiscard]] bool may_have_body(Status status) noexcept;

/// A body that is made while it is sent, such as that of a file. Whoever sends it pulls it on one thread at a
/// time, and destroys it at the end or when nobody takes it any more.
class Stream {
 public:
  virtual ~Stream() = default;

  /// The next part, valid until the next call; empty at the end. An Error cuts the reply off, and its message
  /// is logged.
  virtual Result<std::string_view> next() = 0;
};

/// Called when a `Feed` may have more; quick, and from any thread. Feeds that share one are woken by one
/// call.
using Wake = std::shared_ptr<const std::function<void()>>;

/// A body without an end of its own, whose parts come when they come, such as a stream of events. With the
/// status switching_protocols it is what goes out on a WebSocket (RFC 6455), each part one text message. Its
/// front end keeps it in a loop that has all feeds, and destroys it when either side is at its end. Used by
/// one thread at a time; nothing here waits for anything.
class Feed {
 public:
  virtual ~Feed() = default;

  /// A text that stays what it is for as long as `owner` is held, and may be shared by many feeds.
  struct Part {
    std::shared_ptr<const void> owner;
    std::string_view text;

    /// One that holds its text itself.
    [[nodiscard]] static Part of(std::string text) {
      auto owner = std::make_shared<const std::string>(std::move(text));
      return {owner, *owner};
    }
  };

  /// Why it is at its end: a status code of RFC 6455, 7.4, and a reason for people of at most 123 bytes.
  struct End {
    std::uint16_t code = 0;
    std::string reason;
  };

  /// Adds what is to go out now to `parts`, about `most_bytes` of it; nothing was there: `wake` is called
  /// when it is worth to ask again, and it may be asked before. With an End nothing more comes.
  [[nodiscard]] virtual std::optional<End> take(std::vector<Part>& parts, std::size_t most_bytes,
                                                const Wake& wake) = 0;

  /// A whole message of the WebSocket came.
  virtual void hear(std::string_view message, bool is_text) = 0;

  /// What goes out where nothing else did for a while, so that whoever is between keeps the connection;
  /// empty: nothing. WebSockets have pings for that.
  [[nodiscard]] virtual std::string_view keep_alive() const noexcept = 0;
};

/// What an application answers. Moves, but does not copy.
struct Response {
  Status status = Status::ok;
  /// Names and values as they go out. The front end adds Content-Length to a text, and drops the body of a
  /// reply to HEAD: a stream is not pulled then. REQUIRES: no control characters in them; Content-Length with
  /// a stream alone, where it is known how many bytes come; none that is about the connection.
  std::vector<std::pair<std::string, std::string>> headers;
  std::variant<std::string, std::unique_ptr<Stream>, std::unique_ptr<Feed>> body;
  /// What the front end destroys once the whole reply was handed to the peer's socket, or when that failed.
  std::vector<std::shared_ptr<const void>> held{};

  /// The body. REQUIRES: it is a text.
  [[nodiscard]] const std::string& text() const { return std::get<std::string>(body); }
};

/// A WSGI-like callable: the seam between front ends and what answers. It is called by many
/// threads at once, works on one request until its Response is whole, and throws nothing.
using Application = std::function<Response(const Environ&)>;

}  // namespace rest_fcgi::http

// SPDX-License-Identifier: MIT
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/channel.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// Bytes that go out together: texts from where they lie, and what is put between them. Its memory is used
/// again and again. Used by one thread.
class Gathered {
 public:
  using Part = http::Feed::Part;

  /// The most bytes that one call of `add_glue` may add.
  static constexpr std::size_t kMostGlue = 24;

  /// Forgets all. There is room for so many calls of `add_glue` then.
  void begin(std::size_t glue);

  /// A few bytes, which are copied. REQUIRES: there is room.
  void add_glue(std::string_view bytes);

  /// `text` is the part's, or a piece of it. Borrows both until the next `begin`.
  void add(const Part& part, std::string_view text);
  void add(const Part& part) { add(part, part.text); }

  /// Sends as much as can be sent now, and returns how many bytes; moved: all.
  [[nodiscard]] Progress send(Channel& channel) noexcept;

  /// What was not sent, held by owners: without one a text is copied.
  [[nodiscard]] std::vector<Part> rest() const;

 private:
  std::vector<iovec> pieces_;
  std::vector<const Part*> parts_;  ///< of each piece; nullptr: it is glue
  std::string glue_;
  std::size_t at_ = 0;  ///< the first piece that was not sent whole
};

/// What a feed's parts are put into on a connection.
class Framing {
 public:
  enum class Form {
    bare,      ///< nothing; the end of the connection is their end
    chunks,    ///< of HTTP/1.1
    records,   ///< FCGI_STDOUT
    messages,  ///< of a WebSocket, each part one
  };

  /// `request` is FastCGI's id.
  explicit Framing(Form form, int request = 0) noexcept
      : form_(form), request_(static_cast<unsigned>(request)) {}

  [[nodiscard]] Form form() const noexcept { return form_; }

  /// Replaces what is in `out` by `parts`, which it borrows. With `records` there is room for `end()` then.
  void gather(std::span<const http::Feed::Part> parts, Gathered& out) const;

  /// What follows the last part.
  [[nodiscard]] std::string end(const http::Feed::End& why) const;

 private:
  void gather_records(std::span<const http::Feed::Part> parts, std::size_t size, Gathered& out) const;

  Form form_;
  unsigned request_;
};

}  // namespace rest_fcgi::gateway

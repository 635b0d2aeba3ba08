// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/buffer.hpp>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// Buffers for one gathered write: texts from where they lie, and the few bytes that go between them. Used by
/// one thread.
class IovecBuffer {
 public:
  /// The most bytes that one call of `add_glue` may add.
  static constexpr std::size_t kMostGlue = 24;

  /// Forgets all. There is room for `glue` calls of `add_glue` then.
  void begin(std::size_t glue);

  /// Adds a few bytes, which are copied. REQUIRES: there is room.
  void add_glue(std::string_view bytes);

  /// Adds a text, which is borrowed.
  void add(std::string_view text) {
    if (!text.empty()) buffers_.emplace_back(text.data(), text.size());
  }

  [[nodiscard]] std::span<const boost::asio::const_buffer> buffers() const noexcept { return buffers_; }

 private:
  std::vector<boost::asio::const_buffer> buffers_;
  std::string glue_;
};

/// What the parts of a feed are put into on a connection. A value.
class Framing {
 public:
  enum class Form {
    bare,      ///< nothing; the end of the connection is their end
    chunks,    ///< of HTTP/1.1
    records,   ///< FCGI_STDOUT, written here since libfcgi writes to blocking sockets alone
    messages,  ///< text frames of a WebSocket, each part one
  };

  /// `request` is FastCGI's id.
  explicit Framing(Form form, int request = 0) noexcept
      : form_(form), request_(static_cast<unsigned>(request)) {}

  [[nodiscard]] Form form() const noexcept { return form_; }

  /// Replaces what is in `out` by `parts`, whose texts it borrows.
  void gather(std::span<const http::Feed::Part> parts, IovecBuffer& out) const;

  /// Returns what follows the last part; nothing for messages, whose end is a closing handshake.
  [[nodiscard]] std::string end() const;

 private:
  void gather_records(std::span<const http::Feed::Part> parts, std::size_t size, IovecBuffer& out) const;

  Form form_;
  unsigned request_;
};

}  // namespace rest_fcgi::gateway

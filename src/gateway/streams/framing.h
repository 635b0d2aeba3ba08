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

/// The buffers of one gathered write. Texts are borrowed. The few bytes that frame the texts (`glue`) are
/// copied. Used by one thread.
class IovecBuffer {
 public:
  /// The largest size of one frame header or end, in bytes.
  static constexpr std::size_t kMostGlue = 24;

  void begin(std::size_t glue);

  /// Adds a copy of `bytes`. REQUIRES: `begin` reserved memory for this call.
  void add_glue(std::string_view bytes);

  void add(std::string_view text) {
    if (!text.empty()) buffers_.emplace_back(text.data(), text.size());
  }

  [[nodiscard]] std::span<const boost::asio::const_buffer> buffers() const noexcept { return buffers_; }

 private:
  std::vector<boost::asio::const_buffer> buffers_;
  std::string glue_;
};

/// The format in which a connection sends the parts of an event feed.
class Framing {
 public:
  enum class Form {
    bare,      ///< `bare` means no frames. The end of the connection ends the stream.
    chunks,    ///< `chunks` means the chunks of HTTP/1.1.
    records,   ///< `records` means FCGI_STDOUT records without libfcgi, which needs blocking sockets.
    messages,  ///< `messages` means a WebSocket text frame for each part.
  };

  /// `request` is the id of the FastCGI request. Only `Form::records` uses this id.
  explicit Framing(Form form, int request = 0) noexcept
      : form_(form), request_(static_cast<unsigned>(request)) {}

  [[nodiscard]] Form form() const noexcept { return form_; }

  /// Fills `out` with the framed `parts`. `out` borrows the texts of the parts.
  void gather(std::span<const http::Feed::Part> parts, IovecBuffer& out) const;

  /// Returns the bytes that end the stream. Returns an empty text for a WebSocket.
  [[nodiscard]] std::string end() const;

 private:
  void gather_records(std::span<const http::Feed::Part> parts, std::size_t size, IovecBuffer& out) const;

  Form form_;
  unsigned request_;
};

}  // namespace rest_fcgi::gateway

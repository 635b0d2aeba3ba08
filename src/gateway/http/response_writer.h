// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "gateway/connections.h"
#include "gateway/http/request_parser.h"
#include "gateway/transport.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// Bytes a second that bodies, and readers of replies, have to do in the long run; a modem does as much.
inline constexpr std::size_t kLeastRate = 4096;

/// What a reply has to fit.
struct ResponseOptions {
  bool is_http_1_0 = false;
  bool is_head = false;           ///< the body is left out
  bool keeps_connection = false;  ///< another request may follow
};

/// Sends replies on one connection, as long as the peer takes them fast enough. Throws
/// boost::system::system_error where the connection is of no more use. Used by one thread at a time.
class ResponseWriter {
 public:
  /// All outlive the writer.
  ResponseWriter(Transport& transport, Connections::Entry& entry, std::chrono::milliseconds send_timeout)
      : transport_(transport), entry_(entry), send_timeout_(send_timeout) {}

  /// Sends a reply, of a feed the head. Returns whether another request may follow; false with a feed.
  Task<bool> send(http::Response response, ResponseOptions options);

  /// Sends a reply after which the connection ends.
  Task<> refuse(Refusal refusal);

  /// Tells the peer to send the body.
  Task<> send_continue();

 private:
  using Message = boost::beast::http::response<boost::beast::http::string_body>;

  Task<> write(Message& message);
  Task<> write_head(Message& message);
  Task<> write_part(std::string_view part, bool is_chunked);
  Task<bool> send_stream(http::Stream& stream, Message& message);
  void expect_progress(SteadyTime since, std::size_t sent) noexcept;

  Transport& transport_;
  Connections::Entry& entry_;
  const std::chrono::milliseconds send_timeout_;
};

}  // namespace rest_fcgi::gateway

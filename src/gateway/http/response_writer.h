// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "gateway/connections.h"
#include "gateway/http/request_parser.h"
#include "gateway/transport.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// The least average rate in bytes a second at which a peer has to send a body and to read a reply.
inline constexpr std::size_t kLeastRate = 4096;

struct ResponseOptions {
  bool is_http_1_0 = false;
  bool is_head = false;
  bool keeps_connection = false;
};

/// Sends replies on one connection. Throws boost::system::system_error if the connection fails, or if the
/// peer reads too slowly. Used by one thread at a time.
class ResponseWriter {
 public:
  /// Makes a writer. REQUIRES: the arguments outlive the writer.
  ResponseWriter(Transport& transport, Connections::Entry& entry, std::chrono::milliseconds send_timeout)
      : transport_(transport), entry_(entry), send_timeout_(send_timeout) {}

  /// Sends a reply. Of an event feed, sends only the head. Returns whether the connection stays usable.
  Task<bool> send(http::Response response, ResponseOptions options);

  Task<> refuse(Refusal refusal);

  /// Sends `100 Continue`, which makes the peer send the body.
  Task<> send_continue();

 private:
  using Message = boost::beast::http::response<boost::beast::http::string_body>;

  Task<> write(Message& message);
  Task<> write_head(Message& message, Connections::Stage stage = Connections::Stage::reader);
  Task<> write_part(std::string_view part, bool is_chunked);
  Task<bool> send_stream(http::Stream& stream, std::optional<std::uint64_t> promised, Message& message);
  void expect_progress(SteadyTime since, std::size_t sent,
                       Connections::Stage stage = Connections::Stage::reader) noexcept;

  Transport& transport_;
  Connections::Entry& entry_;
  const std::chrono::milliseconds send_timeout_;
};

}  // namespace rest_fcgi::gateway

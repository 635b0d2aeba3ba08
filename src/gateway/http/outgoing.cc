// SPDX-License-Identifier: MIT
#include "gateway/http/head.h"

#include <charconv>
#include <chrono>
#include <system_error>
#include <utility>

#include "gateway/reply.h"
#include "gateway/streams/websocket.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/http/date.h"

namespace rest_fcgi::gateway {

std::string head_of(const http::Response& response) {
  std::string head =
      format("HTTP/1.1 {} {}\r\nServer: rest_fcgi\r\nDate: {}\r\n", static_cast<int>(response.status),
             http::reason(response.status), http::http_date(std::chrono::system_clock::now()));
  append_headers(response, head);
  return head;
}

std::string upgrade_headers(std::string_view key) {
  return format("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
                websocket_accept(key));
}

std::string refusal_reply(const Refusal& refusal) {
  std::string body;
  JsonWriter(body)
      .begin_object()
      .key("status")
      .integer(static_cast<int>(refusal.status))
      .key("return")
      .string(refusal.sentence)
      .end_object();
  http::Response response{
      refusal.status, {{"Content-Type", "application/json"}, {"Connection", "close"}}, std::move(body)};
  if (refusal.status == http::Status::service_unavailable) response.headers.emplace_back("Retry-After", "1");
  return head_of(response) + "\r\n" + response.text();
}

std::optional<std::uint64_t> promised_size(const http::Response& response) {
  std::uint64_t size = 0;
  for (const auto& [name, value] : response.headers) {
    if (name != "Content-Length") continue;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), size);
    if (read.ec == std::errc()) return size;
  }
  return std::nullopt;
}

}  // namespace rest_fcgi::gateway

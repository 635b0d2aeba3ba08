// SPDX-License-Identifier: MIT
#include "gateway/http/response_writer.h"

#include <utility>
#include <variant>

#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include "gateway/reply.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

using boost::beast::http::field;

/// Returns the value of the header Date. Each thread formats the date at most once a second.
std::string_view date_of_now() {
  using std::chrono::seconds;
  thread_local std::chrono::sys_seconds written;
  thread_local std::string date;
  const auto now = std::chrono::floor<seconds>(std::chrono::system_clock::now());
  if (date.empty() || now != written) date = http::http_date(written = now);
  return date;
}

boost::beast::string_view view_of(std::string_view text) noexcept {
  return {text.data(), text.size()};
}

}  // namespace

void ResponseWriter::expect_progress(SteadyTime since, std::size_t sent, Connections::Stage stage) noexcept {
  const auto soon = system_clock().steady() + send_timeout_;
  const auto in_all = since + send_timeout_ + std::chrono::seconds(sent / kLeastRate);
  entry_.wait(stage, std::min(soon, in_all));
}

Task<bool> ResponseWriter::send(http::Response response, ResponseOptions options) {
  const bool may_have_body = http::may_have_body(response.status);
  const bool with_body = !options.is_head && may_have_body;
  auto* text = std::get_if<std::string>(&response.body);
  auto* stream = std::get_if<std::unique_ptr<http::Stream>>(&response.body);
  const bool has_feed = std::holds_alternative<std::unique_ptr<http::Feed>>(response.body);
  const bool is_endless = has_feed || (stream != nullptr && !response.stream_size);
  const bool closes =
      !options.keeps_connection || has_feed || (is_endless && options.is_http_1_0 && with_body);

  Message message;
  message.version(11);
  message.result(static_cast<unsigned>(response.status));
  message.reason(view_of(http::reason(response.status)));
  message.set(field::server, "rest_fcgi");
  message.set(field::date, view_of(date_of_now()));
  for (const auto& [name, value] : response.headers)
    message.insert(without_control(name), without_control(value));
  if (const auto size = response.body_size()) message.content_length(*size);
  if (is_endless && !options.is_http_1_0 && may_have_body) message.set(field::transfer_encoding, "chunked");
  if (response.status == http::Status::upgrade_required) {
    // With status 426, the header Upgrade has to name the protocol (RFC 9110, 15.5.22).
    message.set(field::upgrade, "websocket");
    message.insert(field::connection, "Upgrade");
  }
  if (closes) {
    message.insert(field::connection, "close");
  } else if (options.is_http_1_0) {
    message.insert(field::connection, "keep-alive");
  }

  if (has_feed && with_body) {
    // In the stage `work`, `Connections::make_room` cannot close the connection before `Streams` gets it.
    co_await write_head(message, Connections::Stage::work);
  } else if (!with_body) {
    co_await write_head(message);
  } else if (stream != nullptr) {
    const bool is_whole = co_await send_stream(**stream, response.stream_size, message);
    if (!is_whole) co_return false;
  } else {
    message.body() = std::move(*text);
    co_await write(message);
  }
  co_return !closes;
}

Task<> ResponseWriter::write(Message& message) {
  boost::beast::http::response_serializer<boost::beast::http::string_body> serializer(message);
  const SteadyTime since = system_clock().steady();
  std::size_t sent = 0;
  // Tries a direct write first. The kernel takes most replies at once, and an asynchronous write needs more
  // CPU.
  boost::system::error_code ignored;
  if (transport_.tls() == nullptr)
    sent = boost::beast::http::write_some(transport_.socket(), serializer, ignored);
  while (!serializer.is_done()) {
    expect_progress(since, sent);
    sent += co_await boost::beast::http::async_write_some(transport_, serializer, use_task);
  }
}

Task<> ResponseWriter::write_head(Message& message, Connections::Stage stage) {
  boost::beast::http::response_serializer<boost::beast::http::string_body> serializer(message);
  serializer.split(true);
  expect_progress(system_clock().steady(), 0, stage);
  co_await boost::beast::http::async_write_header(transport_, serializer, use_task);
}

Task<> ResponseWriter::write_part(std::string_view part, bool is_chunked) {
  expect_progress(system_clock().steady(), part.size());
  const asio::const_buffer bytes = asio::buffer(part);
  if (!is_chunked) {
    co_await asio::async_write(transport_, bytes, use_task);
  } else if (!part.empty()) {
    co_await asio::async_write(transport_, boost::beast::http::make_chunk(bytes), use_task);
  } else {
    co_await asio::async_write(transport_, boost::beast::http::make_chunk_last(), use_task);
  }
}

/// Returns false if the reply is incomplete.
Task<bool> ResponseWriter::send_stream(http::Stream& stream, std::optional<std::uint64_t> promised,
                                       Message& message) {
  const bool is_chunked = message.chunked();
  bool is_first = true;
  for (;;) {
    entry_.work();
    const auto part = stream.next();
    const bool is_wrong = part && promised && (part->empty() ? *promised != 0 : part->size() > *promised);
    if (!part || is_wrong) {
      log::error(
          format("a reply was sent only in part: {}",
                 part ? "the size of the body differs from its Content-Length" : part.error().message));
      co_return false;
    }
    if (std::exchange(is_first, false)) co_await write_head(message);
    if (promised) *promised -= part->size();
    co_await write_part(*part, is_chunked);
    if (part->empty()) co_return true;
  }
}

Task<> ResponseWriter::refuse(Refusal refusal) {
  co_await send(reply_to(refusal), {});
}

Task<> ResponseWriter::send_continue() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  co_await asio::async_write(transport_, asio::buffer(kContinue), use_task);
}

}  // namespace rest_fcgi::gateway

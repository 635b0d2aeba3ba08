// SPDX-License-Identifier: MIT
#include "gateway/http/outgoing.h"

#include <chrono>
#include <utility>

#include "gateway/reply.h"
#include "gateway/streams/websocket.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::gateway {
namespace {

/// What most heads take, so that they grow once at most.
constexpr std::size_t kUsualHead = 512;

/// A body that is copied behind its head, to go out with it.
constexpr std::size_t kSmallBody = 16u << 10;

/// What is made of a stream before it is sent.
constexpr std::size_t kStreamed = 64u << 10;

/// Each thread writes it once a second.
std::string_view date_of_now() {
  using std::chrono::seconds;
  thread_local std::chrono::sys_seconds written;
  thread_local std::string date;
  const auto now = std::chrono::floor<seconds>(std::chrono::system_clock::now());
  if (date.empty() || now != written) date = http::http_date(written = now);
  return date;
}

/// Status line and headers, but for the blank line.
std::string head_of(const http::Response& response) {
  std::string head;
  head.reserve(kUsualHead);
  head.append("HTTP/1.1 ").append(std::to_string(static_cast<int>(response.status)));
  head.append(" ").append(http::reason(response.status));
  head.append("\r\nServer: rest_fcgi\r\nDate: ").append(date_of_now()).append("\r\n");
  append_headers(response, head);
  return head;
}

/// The headers with which a WebSocket begins; `key` is the peer's (RFC 6455, 4.2.2).
std::string upgrade_headers(std::string_view key) {
  return format("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
                websocket_accept(key));
}

std::string refusal_reply(const Refusal& refusal) {
  std::string body;
  JsonWriter writer(body);
  writer.begin_object().key("status").integer(static_cast<int>(refusal.status));
  writer.key("return").string(refusal.sentence).end_object();
  http::Response response{
      refusal.status, {{"Content-Type", "application/json"}, {"Connection", "close"}}, std::move(body)};
  if (refusal.status == http::Status::service_unavailable) response.headers.emplace_back("Retry-After", "1");
  return head_of(response) + "\r\n" + response.text();
}

/// How many bytes the application says that its stream has.
std::optional<std::uint64_t> promised_size(const http::Response& response) {
  for (const auto& [name, value] : response.headers) {
    if (name == "Content-Length") return parse_number<std::uint64_t>(value);
  }
  return std::nullopt;
}

void wipe_text(std::string& text) noexcept {
  wipe(text.data(), text.size());
  text = std::string();
}

}  // namespace

void Outgoing::begin(http::Response response, const Asked& asked) {
  held_ = std::move(response.held);
  begin_head(response, asked);
  if (!asked.is_head && http::may_have_body(response.status)) begin_body(std::move(response), asked);
}

void Outgoing::begin_head(const http::Response& response, const Asked& asked) {
  const bool with_body = !asked.is_head && http::may_have_body(response.status);
  const bool has_feed = std::holds_alternative<std::unique_ptr<http::Feed>>(response.body);
  const bool websocket = has_feed && response.status == http::Status::switching_protocols;
  const bool has_stream = std::holds_alternative<std::unique_ptr<http::Stream>>(response.body);
  promised_ = has_stream ? promised_size(response) : std::nullopt;
  const bool endless = !websocket && (has_feed || (has_stream && !promised_));
  chunked_ = endless && !asked.http_1_0;
  closes_ = !asked.keeps_connection || has_feed || (endless && asked.http_1_0 && with_body);
  output_ = head_of(response);
  // Who is told that an upgrade is needed is told to what (RFC 9110, 15.5.22).
  if (response.status == http::Status::upgrade_required) {
    output_ += "Upgrade: websocket\r\nConnection: Upgrade\r\n";
  }
  if (chunked_ && http::may_have_body(response.status)) output_ += "Transfer-Encoding: chunked\r\n";
  if (websocket) {
    output_ += upgrade_headers(asked.websocket_key);
  } else if (closes_) {
    output_ += "Connection: close\r\n";
  } else if (asked.http_1_0) {
    output_ += "Connection: keep-alive\r\n";
  }
  output_ += "\r\n";
}

void Outgoing::begin_body(http::Response response, const Asked& asked) {
  if (auto* feed = std::get_if<std::unique_ptr<http::Feed>>(&response.body)) {
    using Form = Framing::Form;
    const bool websocket = response.status == http::Status::switching_protocols;
    feed_framing_ = Framing(websocket ? Form::messages : asked.http_1_0 ? Form::bare : Form::chunks);
    feed_ = std::move(*feed);
    return;
  }
  if (auto* stream = std::get_if<std::unique_ptr<http::Stream>>(&response.body)) {
    stream_ = std::move(*stream);
    return pull();
  }
  auto& text = std::get<std::string>(response.body);
  if (text.size() > kSmallBody) {
    text_ = std::move(text);
    return;
  }
  output_ += text;
  wipe_text(text);
}

void Outgoing::refuse(const Refusal& refusal) {
  forget_sent();
  output_ = refusal_reply(refusal);
  closes_ = true;
}

void Outgoing::go_on() {
  forget_sent();
  pull();
}

/// At the stream's end the stream is gone.
void Outgoing::pull() {
  while (stream_ && output_.size() < kStreamed) {
    const auto part = stream_->next();
    if (!part) return cut_off(part.error().message);
    if (promised_ && (part->empty() ? *promised_ != 0 : part->size() > *promised_)) {
      return cut_off("a stream has not as many bytes as its Content-Length says");
    }
    if (promised_) *promised_ -= part->size();
    if (chunked_) output_ += format("{:x}\r\n", part->size());  // which for the last one is 0
    output_ += *part;
    if (chunked_) output_ += "\r\n";
    if (part->empty()) stream_.reset();
  }
}

void Outgoing::cut_off(std::string_view why) {
  log::error(format("a reply was cut off: {}", why));
  break_off();
}

Progress Outgoing::flush(Channel& channel) noexcept {
  for (;;) {
    while (sent_ < output_.size()) {
      const Progress progress = channel.write(std::string_view(output_).substr(sent_));
      if (progress.outcome != Progress::Outcome::moved) return progress;
      sent_ += progress.bytes;
      sent_all_ += progress.bytes;
    }
    if (text_.empty()) {
      if (!has_stream()) held_.clear();
      return {Progress::Outcome::moved};
    }
    output_.swap(text_);
    wipe_text(text_);
    sent_ = 0;
  }
}

void Outgoing::forget_sent() noexcept {
  wipe_text(output_);
  wipe_text(text_);
  sent_ = sent_all_ = 0;
}

void Outgoing::drop() noexcept {
  forget_sent();
  stream_.reset();
  feed_.reset();
  held_.clear();
}

}  // namespace rest_fcgi::gateway

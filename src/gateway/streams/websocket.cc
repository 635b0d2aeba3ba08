// SPDX-License-Identifier: MIT
#include "gateway/streams/websocket.h"

#include <algorithm>
#include <new>

#include <openssl/evp.h>

#include "rest_fcgi/core/base64.h"
#include "rest_fcgi/core/excerpt.h"

namespace rest_fcgi::gateway {
namespace {

constexpr std::size_t kMaxControl = 125;

/// What a message may leave allocated for the next one.
constexpr std::size_t kKeptCapacity = 4096;

/// May a peer close with it (RFC 6455, 7.4, and what IANA registered since)?
bool is_close_code(unsigned code) noexcept {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

}  // namespace

FrameHeader::FrameHeader(Opcode opcode, std::size_t payload) noexcept {
  bytes_[0] = static_cast<char>(0x80U | static_cast<unsigned>(opcode));
  std::size_t length_bytes = 0;
  if (payload <= kMaxControl) {
    bytes_[1] = static_cast<char>(payload);
  } else if (payload <= 0xFFFF) {
    bytes_[1] = 126;
    length_bytes = 2;
  } else {
    bytes_[1] = 127;
    length_bytes = 8;
  }
  size_ += length_bytes;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    bytes_[size_ - 1 - i] = static_cast<char>(payload >> (8 * i) & 0xFFU);
  }
}

std::string control_frame(Opcode opcode, std::string_view payload) {
  return std::string(FrameHeader(opcode, payload.size()).bytes()).append(payload);
}

std::string close_frame(std::uint16_t code, std::string_view reason) {
  if (code == 0) return control_frame(Opcode::close, {});
  std::string payload = {static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
  std::size_t size = std::min(reason.size(), kMaxControl - payload.size());
  while (!is_utf8(reason.substr(0, size))) --size;  // which ends with the empty text
  payload.append(reason.substr(0, size));
  return control_frame(Opcode::close, payload);
}

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1)
    throw std::bad_alloc();
  std::string accept;
  append_base64(accept, {reinterpret_cast<const char*>(digest.data()), size});
  return accept;
}

void WebSocketReader::break_off(CloseCode code, std::string_view why) {
  broken_ = {Message::Kind::broken, why, static_cast<std::uint16_t>(code)};
}

WebSocketReader::Message WebSocketReader::next(std::string_view& bytes) {
  forget_last();
  while (!is_broken()) {
    if (!in_payload_ && !take_header(bytes)) break;
    take_payload(bytes);
    if (taken_ != length_) return {};
    in_payload_ = false;
    header_size_ = 0;
    if (is_control()) return end_control();
    if (is_last()) return end_message();
  }
  if (is_broken()) bytes = {};
  return broken_;
}

void WebSocketReader::forget_last() {
  if (!message_over_) return;
  message_over_ = false;
  message_opcode_ = Opcode::continuation;
  message_.clear();
  if (message_.capacity() > kKeptCapacity) message_ = std::string();
}

/// How many bytes it has, as far as those that came tell.
std::size_t WebSocketReader::header_end() const noexcept {
  if (header_size_ < 2) return 2;
  const unsigned length = header_byte(1) & 0x7FU;
  return length < 126 ? 6 : length == 126 ? 8 : 14;
}

/// True: it is there and as it has to be.
bool WebSocketReader::take_header(std::string_view& bytes) {
  while (header_size_ != header_end()) {
    const std::size_t part = std::min(header_end() - header_size_, bytes.size());
    if (part == 0) return false;
    std::copy_n(bytes.begin(), part, header_.begin() + static_cast<std::ptrdiff_t>(header_size_));
    bytes.remove_prefix(part);
    header_size_ += part;
    if (header_size_ == 2) check_first_bytes();
    if (is_broken()) return false;
  }
  check_length();
  if (is_broken()) return false;
  in_payload_ = true;
  taken_ = 0;
  if (is_control()) {
    control_.clear();
  } else if (opcode() != Opcode::continuation) {
    message_opcode_ = opcode();
  }
  return true;
}

void WebSocketReader::check_first_bytes() {
  using enum CloseCode;
  const unsigned length = header_byte(1) & 0x7FU;
  if ((header_byte(0) & 0x70U) != 0) return break_off(protocol_error, "a reserved bit is set");
  if ((header_byte(1) & 0x80U) == 0) return break_off(protocol_error, "a frame is not masked");
  switch (opcode()) {
    case Opcode::continuation:
      if (message_opcode_ == Opcode::continuation)
        break_off(protocol_error, "a continuation without a beginning");
      return;
    case Opcode::text:
    case Opcode::binary:
      if (message_opcode_ != Opcode::continuation)
        break_off(protocol_error, "a message begins inside another one");
      return;
    case Opcode::close:
    case Opcode::ping:
    case Opcode::pong:
      if (!is_last()) return break_off(protocol_error, "a control frame in parts");
      if (length > kMaxControl) break_off(protocol_error, "a control frame of more than 125 bytes");
      return;
  }
  break_off(protocol_error, "a reserved opcode");
}

void WebSocketReader::check_length() {
  const std::size_t end = header_size_ - 4;  // the mask is behind it
  length_ = header_byte(1) & 0x7FU;
  if (end > 2) {
    length_ = 0;
    for (std::size_t i = 2; i < end; ++i) length_ = length_ << 8 | header_byte(i);
    const std::uint64_t least = end == 4 ? kMaxControl + 1 : 0x10000;
    if (length_ < least) return break_off(CloseCode::protocol_error, "a length in more bytes than it takes");
  }
  if (!is_control() && length_ > kMaxMessage - message_.size())
    break_off(CloseCode::too_big, "message too big");
}

void WebSocketReader::take_payload(std::string_view& bytes) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(length_ - taken_, bytes.size()));
  std::string& to = is_control() ? control_ : message_;
  const std::size_t begin = to.size();
  to.append(bytes.substr(0, size));
  bytes.remove_prefix(size);
  const std::size_t mask = header_size_ - 4;
  for (std::size_t i = 0; i < size; ++i, ++taken_) {
    to[begin + i] =
        static_cast<char>(static_cast<unsigned char>(to[begin + i]) ^ header_byte(mask + taken_ % 4));
  }
}

WebSocketReader::Message WebSocketReader::end_message() {
  const bool text = message_opcode_ == Opcode::text;
  if (text && !is_utf8(message_)) {
    break_off(CloseCode::not_utf8, "a text that is no UTF-8");
    return broken_;
  }
  message_over_ = true;
  return {text ? Message::Kind::text : Message::Kind::binary, message_};
}

WebSocketReader::Message WebSocketReader::end_control() {
  if (opcode() == Opcode::ping) return {Message::Kind::ping, control_};
  if (opcode() == Opcode::pong) return {Message::Kind::pong, control_};
  if (control_.empty()) return {Message::Kind::close};
  const auto byte = [this](std::size_t at) { return unsigned{static_cast<unsigned char>(control_[at])}; };
  const unsigned code = control_.size() < 2 ? 0 : byte(0) << 8 | byte(1);
  const std::string_view reason =
      std::string_view(control_).substr(std::min<std::size_t>(control_.size(), 2));
  if (!is_close_code(code)) {
    break_off(CloseCode::protocol_error, "a close code that nobody may send");
  } else if (!is_utf8(reason)) {
    break_off(CloseCode::not_utf8, "a reason that is no UTF-8");
  } else {
    return {Message::Kind::close, reason, static_cast<std::uint16_t>(code)};
  }
  return broken_;
}

}  // namespace rest_fcgi::gateway

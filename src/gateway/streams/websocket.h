// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The frames of WebSockets (RFC 6455, section 5), without input and output.
namespace rest_fcgi::gateway {

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

/// Status codes of RFC 6455, 7.4.1, that we close with.
enum class CloseCode : std::uint16_t {
  going_away = 1001,
  protocol_error = 1002,
  not_utf8 = 1007,
  too_big = 1009,
};

/// What a server puts before the payload of a frame that is whole.
class FrameHeader {
 public:
  FrameHeader(Opcode opcode, std::size_t payload) noexcept;
  [[nodiscard]] std::string_view bytes() const noexcept { return {bytes_.data(), size_}; }

 private:
  std::array<char, 10> bytes_ = {};
  std::size_t size_ = 2;
};

/// A whole control frame. REQUIRES: `payload` has at most 125 bytes.
[[nodiscard]] std::string control_frame(Opcode opcode, std::string_view payload);

/// With code 0 it says none. Of `reason` so much goes out as fits.
[[nodiscard]] std::string close_frame(std::uint16_t code, std::string_view reason);

/// What `Sec-WebSocket-Accept` says to a `Sec-WebSocket-Key` (RFC 6455, 4.2.2).
[[nodiscard]] std::string websocket_accept(std::string_view key);

/// Reads the frames of a client, from bytes as they come. What breaks a rule of section 5 ends it. Not
/// synchronized.
class WebSocketReader {
 public:
  static constexpr std::size_t kMaxMessage = 64u << 10;  ///< bytes

  struct Message {
    enum class Kind {
      none,    ///< more bytes have to come
      text,    ///< of which all is UTF-8
      binary,  ///< any bytes
      ping,
      pong,
      close,   ///< `code` is what the peer said, 0 where that was nothing; `payload` its reason
      broken,  ///< `code` is what to close with, `payload` why; nothing that comes has a meaning
    };
    Kind kind = Kind::none;
    std::string_view payload{};
    std::uint16_t code = 0;
  };

  /// The next message in `bytes`, which is then left with what comes behind it. A message is valid until the
  /// next call. May throw std::bad_alloc.
  Message next(std::string_view& bytes);

 private:
  [[nodiscard]] bool take_header(std::string_view& bytes);
  [[nodiscard]] std::size_t header_end() const noexcept;
  void check_first_bytes();
  void check_length();
  void take_payload(std::string_view& bytes);
  Message end_message();
  Message end_control();
  void forget_last();
  void break_off(CloseCode code, std::string_view why);

  [[nodiscard]] unsigned header_byte(std::size_t at) const noexcept {
    return static_cast<unsigned char>(header_[at]);
  }
  [[nodiscard]] bool is_broken() const noexcept { return broken_.kind == Message::Kind::broken; }
  [[nodiscard]] Opcode opcode() const noexcept { return static_cast<Opcode>(header_byte(0) & 0x0FU); }
  [[nodiscard]] bool is_last() const noexcept { return (header_byte(0) & 0x80U) != 0; }
  [[nodiscard]] bool is_control() const noexcept { return (header_byte(0) & 0x08U) != 0; }

  std::array<char, 14> header_ = {};
  std::size_t header_size_ = 0;  ///< bytes of it that came
  bool in_payload_ = false;
  std::uint64_t length_ = 0;  ///< of the frame's payload
  std::uint64_t taken_ = 0;   ///< bytes of it

  Opcode message_opcode_ = Opcode::continuation;  ///< none has begun
  std::string message_;                           ///< all frames of a text or of binary data
  std::string control_;                           ///< a control frame's, which comes in between
  bool message_over_ = false;                     ///< it was given out
  Message broken_;                                ///< how it ended; none: it has not
};

}  // namespace rest_fcgi::gateway

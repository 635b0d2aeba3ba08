// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Builds WebSocket frames as a client sends them (RFC 6455, 5.2). A test can also build invalid frames.
namespace rest_fcgi::gateway::test {

struct ClientFrame {
  /// The first byte, with FIN and the opcode. 0x81 is a whole text message.
  int first = 0x81;
  std::string payload{};
  bool masked = true;
  /// The size of the extended length in bytes. -1 chooses the smallest size.
  int length_bytes = -1;

  [[nodiscard]] std::string bytes() const {
    const std::size_t size = payload.size();
    const int extra = length_bytes >= 0 ? length_bytes : size < 126 ? 0 : size < 0x10000 ? 2 : 8;
    const int length = extra == 0 ? static_cast<int>(size) : extra == 2 ? 126 : 127;
    std::string bytes = {static_cast<char>(first), static_cast<char>(length | (masked ? 0x80 : 0))};
    for (int i = extra - 1; i >= 0; --i) bytes += static_cast<char>(size >> (8 * i));
    constexpr std::string_view kMask = "\x11\xa2\x33\xf4";
    if (!masked) return bytes + payload;
    bytes += kMask;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(payload[i] ^ kMask[i % 4]);
    return bytes;
  }
};

inline std::string client_frame(int first, std::string payload = {}) {
  return ClientFrame{first, std::move(payload)}.bytes();
}

constexpr int kText = 0x81;
constexpr int kBinary = 0x82;
constexpr int kClose = 0x88;
constexpr int kPing = 0x89;
constexpr int kPong = 0x8A;

inline std::string close_payload(int code, std::string_view reason = {}) {
  return std::string{static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)}.append(reason);
}

}  // namespace rest_fcgi::gateway::test

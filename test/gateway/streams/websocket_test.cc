// SPDX-License-Identifier: MIT
#include "gateway/streams/websocket.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "client_frames.h"

namespace rest_fcgi::gateway::test {
namespace {

using Kind = WebSocketReader::Message::Kind;

/// What is read of `bytes`, which come `step` at a time: one line for each message.
std::vector<std::string> read(std::string_view bytes, std::size_t step) {
  constexpr std::string_view kNames[] = {"none", "text", "binary", "ping", "pong", "close", "broken"};
  WebSocketReader reader;
  std::vector<std::string> found;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    std::string_view part = bytes.substr(at, step);
    for (auto message = reader.next(part); message.kind != Kind::none; message = reader.next(part)) {
      std::string line(kNames[static_cast<std::size_t>(message.kind)]);
      if (message.kind == Kind::close || message.kind == Kind::broken)
        line += " " + std::to_string(message.code);
      if (message.kind != Kind::broken) line.append(" ").append(message.payload);
      found.push_back(line);
      if (message.kind == Kind::broken) return found;
    }
    CHECK(part.empty());
  }
  return found;
}

using Lines = std::vector<std::string>;

/// However it comes.
Lines read(std::string_view bytes) {
  const Lines whole = read(bytes, bytes.size());
  for (const std::size_t step : {1U, 2U, 3U, 7U}) CHECK(read(bytes, step) == whole);
  return whole;
}

TEST_CASE("messages of a WebSocket are read with what comes between their frames") {
  CHECK(read(client_frame(kText, "websocket client ready")) == Lines{"text websocket client ready"});
  CHECK(read(client_frame(kText)) == Lines{"text "});
  CHECK(read(client_frame(kBinary, "\xff\x80")) == Lines{"binary \xff\x80"});
  CHECK(read(client_frame(0x01, "one ") + client_frame(0x00, "two ") + client_frame(kPing, "?") +
             client_frame(0x80, "three") + client_frame(kText, "four")) ==
        Lines{"ping ?", "text one two three", "text four"});
  CHECK(read(client_frame(kPong, "!") + client_frame(kPing)) == Lines{"pong !", "ping "});
  const std::string large(WebSocketReader::kMaxMessage, 'x');
  CHECK(read(client_frame(kText, large), 4000) == Lines{"text " + large});
  CHECK(read(client_frame(kText, std::string(126, 'y'))) == Lines{"text " + std::string(126, 'y')});
}

TEST_CASE("a character may be cut by frames, and has to be one in the end") {
  CHECK(read(client_frame(0x01, "\xc3") + client_frame(0x80, "\xa4")) == Lines{"text \xc3\xa4"});
  CHECK(read(client_frame(0x01, "\xc3") + client_frame(0x80, "x")) == Lines{"broken 1007"});
  CHECK(read(client_frame(kText, "\xed\xa0\x80")) == Lines{"broken 1007"});
}

TEST_CASE("a close is read with its code and reason") {
  CHECK(read(client_frame(kClose)) == Lines{"close 0 "});
  CHECK(read(client_frame(kClose, close_payload(1000, "bye"))) == Lines{"close 1000 bye"});
  for (const int code : {1001, 1003, 1007, 1011, 1014, 3000, 4401, 4999})
    CHECK(read(client_frame(kClose, close_payload(code))) == Lines{"close " + std::to_string(code) + " "});
  for (const int code : {0, 1, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65535})
    CHECK(read(client_frame(kClose, close_payload(code))) == Lines{"broken 1002"});
  CHECK(read(client_frame(kClose, "x")) == Lines{"broken 1002"});
  CHECK(read(client_frame(kClose, close_payload(1000, "\xff"))) == Lines{"broken 1007"});
}

TEST_CASE("what breaks a rule of RFC 6455 is said with its code") {
  const auto masked = [](int first, std::string payload) { return client_frame(first, std::move(payload)); };
  const std::string good = masked(kText, "good");
  const std::vector<std::pair<std::string, int>> rows = {
      {ClientFrame{kText, "x", false}.bytes(), 1002},    // not masked
      {ClientFrame{kPing, "", false}.bytes(), 1002},     // nor this
      {masked(0xC1, "x"), 1002},                         // reserved bits
      {masked(0xA1, "x"), 1002},                         //
      {masked(0x91, "x"), 1002},                         //
      {masked(0x83, "x"), 1002},                         // reserved opcodes
      {masked(0x87, ""), 1002},                          //
      {masked(0x8B, ""), 1002},                          //
      {masked(0x8F, ""), 1002},                          //
      {masked(0x80, "x"), 1002},                         // continues nothing
      {masked(0x00, "x"), 1002},                         //
      {masked(0x01, "x") + masked(kText, "y"), 1002},    // begins inside another one
      {masked(0x09, "x"), 1002},                         // a ping in parts
      {masked(kPing, std::string(126, 'x')), 1002},      // and a long one
      {masked(kClose, std::string(126, 'x')), 1002},     //
      {ClientFrame{kText, "x", true, 2}.bytes(), 1002},  // longer lengths than it takes
      {ClientFrame{kText, std::string(300, 'x'), true, 8}.bytes(), 1002},
      {masked(kText, std::string(WebSocketReader::kMaxMessage + 1, 'x')), 1009},
      {masked(0x01, std::string(WebSocketReader::kMaxMessage, 'x')) + masked(0x80, "x"), 1009},
      {std::string("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10) + "mask", 1009},
  };
  for (const auto& [bytes, code] : rows) {
    const std::string_view begin = std::string_view(bytes).substr(0, 20);
    CAPTURE(begin);
    CHECK(read(good + bytes + good, 5000) == Lines{"text good", "broken " + std::to_string(code)});
  }
}

TEST_CASE("frames of ours have the shortest length and no mask") {
  const auto header = [](std::size_t size) { return std::string(FrameHeader(Opcode::text, size).bytes()); };
  CHECK(header(0) == std::string("\x81\x00", 2));
  CHECK(header(125) == "\x81\x7d");
  CHECK(header(126) == std::string("\x81\x7e\x00\x7e", 4));
  CHECK(header(65535) == "\x81\x7e\xff\xff");
  CHECK(header(65536) == std::string("\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10));
  CHECK(control_frame(Opcode::pong, "?") == "\x8a\x01?");
  CHECK(close_frame(0, "not said") == std::string("\x88\x00", 2));
  CHECK(close_frame(1001, "bye") ==
        "\x88\x05\x03\xe9"
        "bye");
  // So much of a reason as fits, and no half character.
  CHECK(close_frame(1001, std::string(122, 'x') + "\xc3\xa4") == "\x88\x7c\x03\xe9" + std::string(122, 'x'));
}

TEST_CASE("the accept is what RFC 6455 says to a key") {
  CHECK(websocket_accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

}  // namespace
}  // namespace rest_fcgi::gateway::test

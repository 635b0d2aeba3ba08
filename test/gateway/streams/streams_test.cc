// SPDX-License-Identifier: MIT
#include "gateway/streams/streams.h"

#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../running_gateway.h"
#include "client_frames.h"
#include "feed_source.h"

namespace rest_fcgi::gateway::test {
namespace {

using Form = Framing::Form;

class Peer {
 public:
  explicit Peer(UniqueFd fd) : fd_(std::move(fd)) {
    const timeval patience = {20, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  void send(std::string_view bytes) const {
    REQUIRE(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] bool try_send(std::string_view bytes) const {
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0;
  }
  [[nodiscard]] std::string bytes(std::size_t size) const {
    std::string found(size, '\0');
    std::size_t got = 0;
    while (got < size) {
      const ssize_t part = ::recv(fd_.get(), found.data() + got, size - got, 0);
      if (part <= 0) break;
      got += static_cast<std::size_t>(part);
    }
    return found.substr(0, got);
  }
  [[nodiscard]] bool at_end() const { return bytes(1).empty(); }
  void close() { fd_.reset(); }

 private:
  UniqueFd fd_;
};

/// Sockets belong to this io_context until the streams take them over.
asio::io_context& front_end_context() {
  static asio::io_context context;
  static const Socket socket(context);  // Asio opens the descriptors of `context` for its first socket.
  return context;
}

Peer add_stream(Streams& streams, std::unique_ptr<http::Feed> feed, Framing framing) {
  std::array<int, 2> ends = {};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  NewStream stream{Transport(Socket(front_end_context(), {AF_UNIX, 0}, ends[0]), nullptr), framing,
                   std::move(feed)};
  Peer peer{UniqueFd(ends[1])};
  if (framing.form() != Form::messages) {
    streams.add(std::move(stream));
    return peer;
  }
  using boost::beast::http::field;
  UpgradeRequest upgrade(boost::beast::http::verb::get, "/", 11);
  upgrade.set(field::host, "a");
  upgrade.set(field::connection, "Upgrade");
  upgrade.set(field::upgrade, "websocket");
  upgrade.set(field::sec_websocket_version, "13");
  upgrade.set(field::sec_websocket_key, "dGhlIHNhbXBsZSBub25jZQ==");
  stream.upgrade = std::move(upgrade);
  streams.add(std::move(stream));
  std::string head;
  while (!head.ends_with("\r\n\r\n")) {
    const std::string byte = peer.bytes(1);
    if (byte.empty()) break;
    head += byte;
  }
  CHECK(head.find("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") != std::string::npos);
  return peer;
}
Peer add_stream(Streams& streams, FeedSource& source, Form form) {
  return add_stream(streams, source.feed(), Framing(form, 0x0102));
}

StreamLimits quick_limits(StreamLimits limits = {}) {
  limits.sweep = milliseconds(10);
  return limits;
}

std::size_t stream_threads() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name.starts_with("streams");
  }
  return count;
}

TEST_CASE("parts that are ready together are sent together, in each form") {
  const auto source = FeedSource::make();
  source->publish("one\n");
  source->publish("");
  source->publish("two\n");
  source->end(1012, "bus lost");
  Streams streams(quick_limits());
  CHECK(add_stream(streams, *source, Form::bare).bytes(100) == "one\ntwo\n");
  CHECK(add_stream(streams, *source, Form::chunks).bytes(100) == "8\r\none\ntwo\n\r\n0\r\n\r\n");
  CHECK(add_stream(streams, *source, Form::records).bytes(100) ==
        std::string("\x01\x06\x01\x02\x00\x08\x00\x00one\ntwo\n", 16) +
            std::string("\x01\x06\x01\x02\x00\x00\x00\x00", 8) +
            std::string("\x01\x03\x01\x02\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 16));
  const Peer peer = add_stream(streams, *source, Form::messages);
  CHECK(peer.bytes(6 + 2 + 6) == std::string("\x81\x04one\n\x81\x00\x81\x04two\n", 14));
  CHECK(peer.bytes(12) ==
        "\x88\x0a\x03\xf4"
        "bus lost");
  peer.send(client_frame(kClose, close_payload(1012)));
  CHECK(peer.at_end());
}

TEST_CASE("a slow peer gets all parts, and a peer that reads nothing is dropped without delaying others") {
  const auto source = FeedSource::make();
  Streams streams(quick_limits({.blocked = milliseconds(1500)}));
  const Peer blocked = add_stream(streams, *source, Form::bare);
  const Peer good = add_stream(streams, *source, Form::bare);
  const Peer slow = add_stream(streams, *source, Form::chunks);
  const std::string text(10'000, 'x');
  for (int i = 0; i < 300; ++i) source->publish(text + std::to_string(i % 10));
  std::string got;
  while (got.size() < 300 * 10'001) {
    const std::string part = good.bytes(10'001);
    REQUIRE(part.size() == 10'001);
    got += part;
    if (got.size() % 20 == 0) static_cast<void>(slow.bytes(30'000));
  }
  CHECK(got.back() == '9');
  // The slow peer needs at least six seconds to read the other 2.5 MB. The stream of the blocked peer ends
  // earlier.
  while (source->open_feeds() == 3) {
    REQUIRE(slow.bytes(20'000).size() == 20'000);
    std::this_thread::sleep_for(milliseconds(50));
  }
  CHECK(source->open_feeds() == 2);
  source->end();
  CHECK(good.at_end());
  std::string rest = slow.bytes(10'000'000);
  CHECK(rest.ends_with("9\r\n0\r\n\r\n"));
}

TEST_CASE("a peer that reads below the least rate is dropped") {
  const auto source = FeedSource::make();
  Streams streams(quick_limits({.blocked = milliseconds(1000), .rate = std::size_t{1} << 30}));
  const Peer peer = add_stream(streams, *source, Form::bare);
  source->publish(std::string(100'000'000, 'x'));
  std::size_t got = 0;
  while (source->open_feeds() == 1 && got < 100'000'000) {
    got += peer.bytes(100'000).size();
    std::this_thread::sleep_for(milliseconds(20));
  }
  CHECK(got > 100'000);
  CHECK(got < 100'000'000);
}

TEST_CASE("a stream whose feed ends while the peer does not read is closed") {
  const auto source = FeedSource::make();
  Streams streams(quick_limits({.end = milliseconds(50)}));
  const Peer peer = add_stream(streams, *source, Form::messages);
  source->publish(std::string(10'000'000, 'x'));
  CHECK(peer.bytes(1) == "\x81");
  source->end(4401, "logged out");
  CHECK(eventually([&] { return source->open_feeds() == 0; }));
  CHECK(streams.slow() == 0);
}

TEST_CASE("a stream that its feed ends for a slow reader is counted, also while the peer reads nothing") {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{10'000'000}}) {
    const auto source = FeedSource::make();
    Streams streams(quick_limits({.end = milliseconds(50)}));
    const Peer peer = add_stream(streams, *source, Form::bare);
    source->publish(std::string(bytes, 'x'));
    CHECK(peer.bytes(1) == "x");
    source->end(1013, "You read too slowly.", true);
    CHECK(eventually([&] { return source->open_feeds() == 0; }));
    CHECK(streams.slow() == 1);
  }
}

TEST_CASE("what a feed says at its end is sent to a peer that reads again") {
  const auto source = FeedSource::make();
  source->last_part = "the reason";
  Streams streams(quick_limits({.end = std::chrono::seconds(20)}));
  const Peer peer = add_stream(streams, *source, Form::bare);
  source->publish(std::string(10'000'000, 'x'));
  CHECK(peer.bytes(1) == "x");
  source->end(1013, "You read too slowly.", true);
  CHECK(eventually([&] { return streams.slow() == 1; }));
  CHECK(peer.bytes(20'000'000).ends_with("xthe reason"));
}

TEST_CASE("a stream ends at once when its peer closes the connection") {
  const auto source = FeedSource::make();
  Streams streams(quick_limits({.end = milliseconds(600'000)}));
  for (const Form form : {Form::bare, Form::chunks, Form::records, Form::messages}) {
    Peer peer = add_stream(streams, *source, form);
    CHECK(eventually([&] { return source->open_feeds() == 1; }));
    peer.close();
    CHECK(eventually([&] { return source->open_feeds() == 0 && streams.count() == 0; }));
  }
  SUBCASE("bytes from a web server abort its stream") {
    const Peer peer = add_stream(streams, *source, Form::records);
    peer.send("x");
    CHECK(peer.at_end());
  }
  SUBCASE("another request behind the stream is not answered") {
    const Peer peer = add_stream(streams, *source, Form::chunks);
    peer.send("GET / HTTP/1.1\r\n\r\n");
    source->publish("x");
    CHECK(peer.bytes(6) == "1\r\nx\r\n");
  }
  SUBCASE("while parts wait to be sent") {
    Peer peer = add_stream(streams, *source, Form::messages);
    for (int i = 0; i < 100; ++i) source->publish(std::string(10'000, 'x'));
    CHECK(peer.bytes(5).size() == 5);
    peer.close();
    CHECK(eventually([&] { return source->open_feeds() == 0; }));
  }
}

TEST_CASE("keep-alives are sent on idle streams, and a WebSocket without pongs is closed") {
  const auto source = FeedSource::make();
  source->keep_alive = ": \n\n";
  Streams streams(quick_limits({.keep_alive = milliseconds(50), .silence = milliseconds(1000)}));
  const Peer records = add_stream(streams, *source, Form::records);
  const Peer chunks = add_stream(streams, *source, Form::chunks);
  const Peer answering = add_stream(streams, *source, Form::messages);
  const Peer silent = add_stream(streams, *source, Form::messages);
  CHECK(chunks.bytes(18) == "4\r\n: \n\n\r\n4\r\n: \n\n\r\n");
  CHECK(records.bytes(12) == std::string("\x01\x06\x01\x02\x00\x04\x00\x00: \n\n", 12));
  for (int i = 0; i < 3 || source->open_feeds() == 4; ++i) {
    REQUIRE(answering.bytes(2) == std::string("\x89\x00", 2));
    answering.send(client_frame(kPong));
  }
  CHECK(source->open_feeds() == 3);
  while (!silent.at_end()) {
  }
}

TEST_CASE("a feed gets the messages of its WebSocket, and its answers are sent") {
  const auto source = FeedSource::make();
  source->answers_messages = true;
  Streams streams(quick_limits());
  const Peer peer = add_stream(streams, *source, Form::messages);
  peer.send(client_frame(0x01, "first ").substr(0, 5));
  peer.send(client_frame(0x01, "first ").substr(5) + client_frame(0x80, "message"));
  CHECK(peer.bytes(7) == "\x81\x05heard");
  peer.send(client_frame(kBinary, "\xff"));
  CHECK(peer.bytes(7) == "\x81\x05heard");
  CHECK(source->messages() == std::vector<std::string>{"text:first message", "binary:\xff"});
}

TEST_CASE("a WebSocket close is answered with the peer's code") {
  const auto source = FeedSource::make();
  Streams streams(quick_limits());
  const auto answer = [&](std::string_view payload) {
    const Peer peer = add_stream(streams, *source, Form::messages);
    peer.send(client_frame(kClose, std::string(payload)) + client_frame(kText, "not heard"));
    return peer.bytes(100);
  };
  CHECK(answer("") == "\x88\x02\x03\xe8");
  CHECK(answer(close_payload(1000, "bye")) == "\x88\x02\x03\xe8");
  CHECK(answer(close_payload(4000)) == "\x88\x02\x0f\xa0");
  CHECK(answer(close_payload(1)).substr(2, 2) == "\x03\xea");
  CHECK(source->messages().empty());
  CHECK(eventually([&] { return source->open_feeds() == 0; }));
}

TEST_CASE("a WebSocket frame that violates RFC 6455 closes the connection with the matching code") {
  const auto source = FeedSource::make();
  Streams streams(quick_limits({.end = milliseconds(100)}));
  const auto code_after = [&](const std::string& frames) {
    const Peer peer = add_stream(streams, *source, Form::messages);
    peer.send(frames);
    const std::string close = peer.bytes(100);
    REQUIRE(close.size() >= 4);
    CHECK(close[0] == '\x88');
    return static_cast<unsigned char>(close[2]) * 256 + static_cast<unsigned char>(close[3]);
  };
  for (const std::string& frame : {ClientFrame{kText, "x", false}.bytes(), client_frame(0x83),
                                   client_frame(0xC1, "x"), client_frame(0x80, "x"), client_frame(0x09, "x")})
    CHECK(code_after(frame) == 1002);
  CHECK(code_after(client_frame(kText, "\xff")) == 1007);
  CHECK(code_after(client_frame(0x01, "\xc3") + client_frame(0x80)) == 1007);
  CHECK(code_after(client_frame(kText, std::string(65537, 'x'))) == 1009);
  CHECK(code_after(client_frame(0x01, std::string(40'000, 'x')) +
                   client_frame(0x80, std::string(40'000, 'x'))) == 1009);
}

TEST_CASE("a WebSocket peer that sends pings and reads nothing is dropped") {
  const auto source = FeedSource::make();
  Streams streams(quick_limits({.blocked = milliseconds(200)}));
  const Peer peer = add_stream(streams, *source, Form::messages);
  std::thread flood([&] {
    const std::string pings = [] {
      std::string text;
      for (int i = 0; i < 100; ++i) text += client_frame(kPing, std::string(125, '?'));
      return text;
    }();
    for (int i = 0; i < 1000; ++i) {
      if (!peer.try_send(pings)) break;
    }
  });
  CHECK(eventually([&] { return source->takes() > 0 && source->open_feeds() == 0; }));
  flood.join();
}

TEST_CASE("a WebSocket peer that reads nothing is dropped while a ping waits") {
  const auto source = FeedSource::make();
  // Streams send a ping after 200 ms.
  Streams streams(quick_limits({.blocked = milliseconds(300), .silence = milliseconds(400)}));
  std::vector<Peer> peers;
  for (int i = 0; i < 20; ++i) peers.push_back(add_stream(streams, *source, Form::messages));
  source->publish(std::string(10'000'000, 'x'));
  CHECK(eventually([&] { return source->open_feeds() == 0 && streams.count() == 0; }));
}

TEST_CASE("a stream is closed soon if the peer does not answer the WebSocket close") {
  const auto source = FeedSource::make();
  Streams streams(quick_limits({.end = milliseconds(100)}));
  const Peer websocket = add_stream(streams, *source, Form::messages);
  const Peer chunks = add_stream(streams, *source, Form::chunks);
  source->end(4401, "logged out");
  CHECK(websocket.bytes(100) ==
        "\x88\x0c\x11\x31"
        "logged out");
  CHECK(chunks.bytes(100) == "0\r\n\r\n");
  CHECK(eventually([&] { return source->open_feeds() == 0; }));
}

TEST_CASE("an exception in one feed ends only its stream") {
  const auto source = FeedSource::make();
  const CapturedLog log;
  Streams streams(quick_limits());
  const Peer one = add_stream(streams, *source, Form::bare);
  const Peer two = add_stream(streams, *source, Form::bare);
  CHECK(eventually([&] { return source->open_feeds() == 2; }));
  source->fail_next_take();
  CHECK(eventually([&] { return source->open_feeds() == 1; }));
  source->publish("x");
  CHECK(one.bytes(1).size() + two.bytes(1).size() == 1);
}

TEST_CASE("close ends all streams, and streams that are added later") {
  const auto source = FeedSource::make();
  Streams streams(quick_limits());
  const Peer early = add_stream(streams, *source, Form::chunks);
  CHECK(eventually([&] { return source->open_feeds() == 1; }));
  streams.close();
  CHECK(early.bytes(100) == "0\r\n\r\n");
  {
    const Peer late = add_stream(streams, *source, Form::chunks);
    CHECK(late.bytes(100) == "0\r\n\r\n");
  }
  streams.wait_for_end(system_clock().steady() + milliseconds(100));
  CHECK(source->open_feeds() == 0);
  CHECK(add_stream(streams, *source, Form::bare).at_end());
}

TEST_CASE("a thousand streams send all events in order while other streams open and close") {
  const auto source = FeedSource::make();
  REQUIRE(eventually([] { return stream_threads() == 0; }));
  front_end_context();  // The descriptors of the io_context are opened before the test counts descriptors.
  const auto before = open_files();
  {
    Streams streams(quick_limits());
    std::vector<Peer> peers;
    for (int i = 0; i < 1000; ++i)
      peers.push_back(add_stream(streams, *source, i % 2 ? Form::bare : Form::messages));
    std::string bare;
    std::string framed;
    std::thread speaker([&] {
      for (int i = 0; i < 200; ++i) source->publish("event " + std::to_string(1000 + i));
    });
    for (int i = 0; i < 200; ++i) {
      bare += "event " + std::to_string(1000 + i);
      framed +=
          "\x81\x0a"
          "event " +
          std::to_string(1000 + i);
      const auto other = FeedSource::make();
      const Peer passing = add_stream(streams, *other, Form::records);
    }
    speaker.join();
    std::size_t right = 0;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const std::string& wanted = i % 2 ? bare : framed;
      right += peers[i].bytes(wanted.size()) == wanted;
    }
    CHECK(right == peers.size());
    CHECK(source->open_feeds() == 1000);
    peers.clear();
    CHECK(eventually([&] { return source->open_feeds() == 0; }));
  }
  CHECK(eventually([&] { return open_files() == before; }));
}

}  // namespace
}  // namespace rest_fcgi::gateway::test

// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "../../support/certificates.h"
#include "../http/http_peer.h"
#include "client_frames.h"
#include "feed_source.h"

namespace rest_fcgi::gateway::test {
namespace {

using rest_fcgi::test::post;

http::Application events(const std::shared_ptr<FeedSource>& source) {
  return [source](const http::Environ& environ) {
    http::Response response{http::Status::ok, {{"Content-Type", "text/event-stream"}}, source->feed()};
    if (environ.get("HTTP_UPGRADE") == "websocket") {
      response.status = http::Status::switching_protocols;
      response.headers.clear();
    }
    return response;
  };
}

const std::string kUpgrade =
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: s65VsgHigh7v/Jcf4nXHnA==\r\n";

struct Served {
  const std::shared_ptr<FeedSource> source = FeedSource::make();
  const Options options = with_http();
  RunningGateway server{events(source), options};
  HttpPeer peer{port_of(options)};
};

TEST_CASE("HTTP/1.1 sends a feed in chunks, HTTP/1.0 sends it unframed, and HEAD opens no stream") {
  {
    Served served;
    served.peer.send(http_get("/events"));
    const HttpReply head = served.peer.head();
    CHECK(head.status == 200);
    CHECK(head.header("Transfer-Encoding") == "chunked");
    CHECK(head.header("Content-Length").empty());
    served.source->publish("one\n\n");
    CHECK(served.peer.chunk() == "one\n\n");
    served.source->publish("two\n\n");
    CHECK(served.peer.chunk() == "two\n\n");
    served.source->end();
    CHECK(served.peer.chunk().empty());
    CHECK(served.peer.closed_within(kSoon));
    CHECK(eventually([&] { return served.source->open_feeds() == 0; }));
  }
  {
    Served old;
    old.peer.send("GET /events HTTP/1.0\r\n\r\n");
    CHECK(old.peer.head().header("Transfer-Encoding").empty());
    old.source->publish("one\n\n");
    CHECK(old.peer.bytes(5) == "one\n\n");
    old.source->end();
    CHECK(old.peer.closed_within(kSoon));
  }
  Served to_head;
  to_head.peer.send("HEAD /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(to_head.peer.head().status == 200);
  CHECK(to_head.peer.closed_within(kSoon));
  CHECK(to_head.source->open_feeds() == 0);
}

TEST_CASE("FastCGI sends the parts of a feed in records") {
  const auto source = FeedSource::make();
  RunningGateway server(events(source));
  FcgiClient client = server.connect();
  client.send(post("", {}, true));
  source->publish("one\n\n");
  CHECK(eventually([&] { return source->takes() >= 2; }));
  const std::string large(150'000, 'x');  // A FastCGI record has at most 65535 bytes.
  source->publish(large);
  source->end();
  const FcgiReply reply = client.reply();
  CHECK(reply.ended);
  CHECK(reply.body == "one\n\n" + large);
  CHECK(client.closed_within(kSoon));
  CHECK(eventually([&] { return source->open_feeds() == 0; }));
}

TEST_CASE("a WebSocket starts with the handshake of RFC 6455, and carries frames in both directions") {
  Served served;
  served.source->answers_messages = true;
  served.peer.send(http_get("/ws", kUpgrade));
  const HttpReply head = served.peer.reply(true);
  served.peer.send(client_frame(kText, "ready"));
  CHECK(head.status == 101);
  CHECK(head.header("Upgrade") == "websocket");
  CHECK(head.header("Connection") == "upgrade");
  CHECK(head.header("Sec-WebSocket-Accept") == "mWZjBV9FCglzn1rIKJAxrTFlnJE=");
  CHECK(served.peer.bytes(7) == "\x81\x05heard");
  CHECK(served.source->messages() == std::vector<std::string>{"text:ready"});
  served.source->publish(std::string(200, 'x'));
  CHECK(served.peer.bytes(204) == std::string("\x81\x7e\x00\xc8", 4) + std::string(200, 'x'));
  served.peer.send(client_frame(kPing, "are you there"));
  CHECK(served.peer.bytes(15) ==
        "\x8a\x0d"
        "are you there");
  served.source->end(1013, "fell behind");
  CHECK(served.peer.bytes(15) ==
        "\x88\x0d\x03\xf5"
        "fell behind");
  served.peer.send(client_frame(kClose, close_payload(1013)));
  CHECK(served.peer.closed_within(kSoon));
}

TEST_CASE("a WebSocket frame before the reply to the handshake is refused") {
  Served served;
  served.peer.send(http_get("/ws", kUpgrade) + client_frame(kText, "early"));
  CHECK(served.peer.reply().status == 400);
  CHECK(served.source->messages().empty());
}

TEST_CASE("feeds are sent over TLS, also to a late reader, and survive a reload") {
  const TempDir dir;
  const auto files = rest_fcgi::test::make_certificates(dir.path());
  const auto source = FeedSource::make();
  source->answers_messages = true;
  Options options = with_http();
  options.http[0].ssl_crt = files.server_cert;
  options.http[0].ssl_key = files.server_key;
  RunningGateway server(events(source), options, [&] { return Result<http::Application>(echo); });
  HttpPeer chunks(port_of(options), true);
  chunks.send(http_get());
  CHECK(chunks.head().status == 200);
  HttpPeer websocket(port_of(options), true);
  websocket.send(http_get("/", kUpgrade));
  CHECK(websocket.head().status == 101);
  websocket.send(client_frame(kText, "ready"));
  CHECK(websocket.bytes(7) == "\x81\x05heard");
  server.signal(SIGHUP);
  CHECK(eventually([&] { return server.log().has("configuration reread"); }));
  CHECK(HttpPeer(port_of(options), true).request(http_post("new")).body == "new");
  std::string all;
  for (int i = 0; i < 500; ++i) {
    const std::string text = std::to_string(i) + std::string(10'000, 'x');
    all += text;
    source->publish(text);
  }
  source->end();
  std::string got;
  for (std::string part = chunks.chunk(); !part.empty(); part = chunks.chunk()) got += part;
  CHECK(got == all);
  // The client gets 500 frames, each with a header of four bytes, and a close frame.
  const std::string frames = websocket.bytes(all.size() + 500 * 4 + 4);
  CHECK(frames.ends_with("x\x88\x02\x03\xe8"));
  websocket.send(client_frame(kPing) + client_frame(kClose, close_payload(1000)));
  CHECK(websocket.closed_within(kSoon));
}

TEST_CASE("streams do not count for max_http_connections") {
  const auto source = FeedSource::make();
  Options options = with_http();
  options.max_http_connections = 1;
  RunningGateway server(events(source), options);
  std::vector<std::unique_ptr<HttpPeer>> peers;
  for (int i = 0; i < 5; ++i) {
    peers.push_back(std::make_unique<HttpPeer>(port_of(options)));
    peers.back()->send(http_get());
    CHECK(peers.back()->head().status == 200);
  }
  source->publish("x");
  for (const auto& peer : peers) CHECK(peer->chunk() == "x");
}

TEST_CASE("the front ends set rest_fcgi.streams and rest_fcgi.websocket, and peers cannot") {
  const Options options = with_http();
  RunningGateway server(
      [](const http::Environ& environ) {
        const std::string streams(environ.get("rest_fcgi.streams"));
        return http::Response{
            http::Status::ok, {}, streams + "/" + std::string(environ.get("rest_fcgi.websocket"))};
      },
      options);
  CHECK(HttpPeer(port_of(options)).request(http_get()).body == "1/1");
  CHECK(HttpPeer(port_of(options)).request(http_get("/", "rest_fcgi.streams: 0\r\n")).body == "1/1");
  CHECK(server.connect().request(post("")).body == "1/");
  CHECK(server.connect().request(post("", {{"rest_fcgi.websocket", "1"}, {"rest_fcgi.streams", "0"}})).body ==
        "1/");
}

TEST_CASE("SIGTERM ends the feeds of HTTP, WebSocket and FastCGI") {
  const auto source = FeedSource::make();
  const Options options = with_http();
  RunningGateway server(events(source), options);
  HttpPeer chunks(port_of(options));
  chunks.send(http_get());
  CHECK(chunks.head().status == 200);
  HttpPeer websocket(port_of(options));
  websocket.send(http_get("/", kUpgrade));
  CHECK(websocket.head().status == 101);
  FcgiClient records = server.connect();
  records.send(post(""));
  CHECK(eventually([&] { return source->open_feeds() == 3; }));
  server.signal(SIGTERM);
  CHECK(chunks.chunk().empty());
  CHECK(websocket.bytes(20) ==
        "\x88\x12\x03\xe9"
        "the server stops");
  websocket.send(client_frame(kClose, close_payload(1001)));
  CHECK(records.reply().ended);
  records.close();
  chunks.close();
  CHECK(websocket.closed_within(kSoon));
  CHECK(server.wait().running == 0);
  CHECK(source->open_feeds() == 0);
}

}  // namespace
}  // namespace rest_fcgi::gateway::test

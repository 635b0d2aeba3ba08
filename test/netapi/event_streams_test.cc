// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "rest.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;
using http::Feed;

namespace {

constexpr const char* kHandshake =
    "X-Auth-Token: TOKEN | Upgrade: websocket | Connection: keep-alive, Upgrade | Sec-WebSocket-Version: 13 "
    "| "
    "Sec-WebSocket-Key: s65VsgHigh7v/Jcf4nXHnA==";
constexpr const char* kUpgrade =
    "Upgrade: WebSocket | Connection: Upgrade | Sec-WebSocket-Version: 13 | "
    "Sec-WebSocket-Key: s65VsgHigh7v/Jcf4nXHnA==";
constexpr std::size_t kMuch = 65536;

/// A client that reads a feed in the same way as a front end.
class Listener {
 public:
  explicit Listener(http::Response response) : response_(std::move(response)) {
    REQUIRE(std::holds_alternative<std::unique_ptr<Feed>>(response_.body));
  }

  Feed& feed() { return *std::get<std::unique_ptr<Feed>>(response_.body); }
  [[nodiscard]] const http::Response& response() const { return response_; }

  /// Returns the texts of the feed. A feed gives the id of an event as a separate part. Here it is
  /// added to the text before it.
  std::vector<std::string> parts() {
    std::vector<Feed::Part> parts;
    if (end_) return {};
    if (auto end = feed().take(parts, kMuch, wake_)) end_ = *std::move(end);
    std::vector<std::string> texts;
    for (const Feed::Part& part : parts) {
      if (part.text.starts_with("id: ")) {
        texts.back() += part.text;
      } else {
        texts.emplace_back(part.text);
      }
    }
    return texts;
  }

  std::vector<std::string> next() {
    std::vector<std::string> texts;
    CHECK(test::eventually([&] { return !(texts = parts()).empty() || end_; }));
    return texts;
  }

  std::string text() {
    std::string all;
    for (const std::string& part : parts()) all += part;
    return all;
  }

  void say(std::string_view message, bool is_text = true) { feed().on_message(message, is_text); }

  /// Returns the code and the reason at the feed's end, such as `1013 You read too slowly...`.
  std::string end() {
    CHECK(test::eventually([&] { return parts().empty() && end_; }));
    return std::to_string(end_->code) + " " + end_->reason;
  }

  [[nodiscard]] bool ended() const { return end_.has_value(); }
  [[nodiscard]] bool is_slow() const { return end_ && end_->is_slow; }
  [[nodiscard]] int woken() const { return *woken_; }

 private:
  http::Response response_;
  std::shared_ptr<std::atomic<int>> woken_ = std::make_shared<std::atomic<int>>(0);
  http::Wake wake_ = std::make_shared<const std::function<void()>>([woken = woken_] { ++*woken; });
  std::optional<Feed::End> end_;
};

std::shared_ptr<FakeMaster> a_master() {
  auto master = std::make_shared<FakeMaster>();
  master->expire = system_clock().wall() + std::chrono::hours(1);
  return master;
}

std::string id_of(const std::string& block) {
  const std::size_t at = block.rfind("\nid: ");
  REQUIRE(at != std::string::npos);
  return block.substr(at + 5, block.size() - at - 7);
}

std::string token_of(const http::Response& login) {
  return header(login, "X-Auth-Token");
}

std::string log_in(Rest& rest) {
  return token_of(
      rest.call({"POST /login", "", R"({"username": "fred", "password": "x", "eauth": "auto"})", 200, ""}));
}

std::string with(const std::string& token, const char* more = "") {
  return "X-Auth-Token: " + token + more;
}

}  // namespace

TEST_CASE("/events of rest_cherrypy needs a session and returns an event stream") {
  Rest rest;
  const char* const kNo = R"({"status": 401, "return": "No permission -- see authorization schemes"})";
  rest.check({
      {"GET /events", "", "", 401, kNo, "Allow: GET, HEAD | WWW-Authenticate: Session"},
      {"GET /events", "Accept: text/html", "", 401, "No permission -- see authorization schemes"},
      {"GET /events", "X-Auth-Token: abcdef", "", 401, kNo},
      {"GET /events", "X-Auth-Token: NOBODY", "", 401, ""},
      {"GET /events?token=TOKEN", kWith, "", 400, R"({"status": 400, "return": "<has>not in the URL"})"},
      {"GET /events/TOKEN", "", "", 404, ""},  // salt-api accepts no token in the path.
      {"POST /events", kWith, "{}", 405, "", "Allow: GET, HEAD"},
      {"OPTIONS /events", "Origin: https://a | Access-Control-Request-Method: GET", "", 200, "",
       "Access-Control-Allow-Headers: Content-Type, Idempotency-Key, X-Auth-Token, X-Requested-With"},
      {"GET /events", "Cookie: session_id=TOKEN | Origin: https://other", "", 403, ""},
  });
  const std::string head =
      "Content-Type: text/event-stream;charset=utf-8 | Cache-Control: no-cache | X-Accel-Buffering: no | "
      "Access-Control-Allow-Origin: * | -Content-Encoding | -Set-Cookie";
  for (const char* const headers :
       {"X-Auth-Token: TOKEN", "Cookie: session_id=TOKEN", "X-Auth-Token: TOKEN | Accept: text/event-stream",
        "X-Auth-Token: TOKEN | Accept: text/html", "X-Auth-Token: TOKEN | Accept-Encoding: gzip",
        "X-Auth-Token: JOE"}) {
    rest.check({{"GET /events", headers, "", 200, "a stream", head},
                {"HEAD /events", headers, "", 200, "a stream", head},
                {"GET /events/", headers, "", 200, "a stream", head}});
  }
  rest.carries_streams = false;
  rest.check({{"GET /events", kWith, "", 503, R"({"status": 503, "return": "<has>mod_fcgid"})"},
              {"GET /events", "", "", 401, kNo}});
}

TEST_CASE("/events of rest_tornado needs a session and returns an event stream") {
  Rest rest{netapi::RestTornadoOptions{}};
  const char* const kNo = R"({"status": "401 Unauthorized", "return": "Please log in"})";
  rest.check({
      {"GET /events", "", "", 401, kNo},
      {"GET /events", "X-Auth-Token: abc", "", 401, kNo},
      {"GET /events", "Accept: text/html | X-Auth-Token: TOKEN", "", 406, ""},
      {"GET /events", "Accept: text/event-stream | X-Auth-Token: TOKEN", "", 200, "a stream",
       "Content-Type: text/event-stream | Cache-Control: no-cache | X-Accel-Buffering: no | "
       "-Access-Control-Allow-Origin"},
      {"GET /events?token=x", kWith, "", 200, "a stream"},
      {"GET /events", "Cookie: session_id=TOKEN", "", 200, "a stream"},
      {"GET /events/", kWith, "", 404, ""},
      {"GET /events/TOKEN", "", "", 404, ""},
      {"POST /events", kWith, "{}", 405, ""},
  });
}

TEST_CASE("/events sends each event as a block of tag, data and id") {
  const auto master = a_master();
  Rest rest(netapi::RestCherrypyOptions{}, master);
  const std::string token = log_in(rest);
  Listener listener(rest.call({"GET /events", with(token), "", 200, ""}));
  CHECK(listener.text() == "retry: 400\n");
  CHECK(listener.text().empty());
  master->log->append("salt/auth", Json::trusted(R"({"id": "ms-0"})"), "");
  CHECK(listener.woken() == 1);
  const std::string block = listener.text();
  CHECK(block == "tag: salt/auth\ndata: {\"data\": {\"id\": \"ms-0\"}, \"tag\": \"salt/auth\"}\nid: " +
                     id_of(block) + "\n\n");
  CHECK(listener.feed().keep_alive() == ": \n\n");
  listener.say("nothing");
  CHECK(listener.parts().empty());

  SUBCASE("Last-Event-ID continues the stream") {
    master->log->append("a", Json::empty_object(), "");
    Listener other(
        rest.call({"GET /events", with(token, (" | Last-Event-ID: " + id_of(block)).c_str()), "", 200, ""}));
    CHECK(other.parts().at(1).find("tag: a\n") != std::string::npos);
  }
  SUBCASE("an unknown Last-Event-ID is reported") {
    Listener other(rest.call({"GET /events", with(token, " | Last-Event-ID: \"x\""), "", 200, ""}));
    const std::string text = other.text();
    CHECK(
        text.starts_with("retry: 400\ntag: rest_fcgi/events/lost\ndata: {\"data\": {\"last_event_id\": "
                         "\"\\\"x\\\"\", \"_stamp\": \"20"));
    CHECK(text.ends_with("\"}, \"tag\": \"rest_fcgi/events/lost\"}\n\n"));
  }
  SUBCASE("a loss of events ends the stream") {
    master->log->lose("The event bus is gone.");
    CHECK(listener.text() == ": The event bus is gone.\n\n");
    CHECK(listener.end() == "1012 The event bus is gone.");
    CHECK_FALSE(listener.is_slow());
  }
  SUBCASE("a reader whose events were dropped is told so") {
    for (std::size_t i = 0; i <= master::EventLimits().max_events; ++i)
      master->log->append("a", Json::empty_object(), "");
    CHECK(listener.text().starts_with(": You read too slowly"));
    CHECK(listener.end().starts_with("1013 "));
    CHECK(listener.is_slow());
  }
  SUBCASE("a logout ends the stream") {
    master->log->append("a", Json::empty_object(), "");
    CHECK(rest.call({"POST /logout", with(token), "", 200, ""}).status == http::Status::ok);
    CHECK(listener.end() == "1008 The session has ended.");
  }
}

TEST_CASE("the query field tag selects events") {
  const auto master = a_master();
  Rest rest(netapi::RestCherrypyOptions{}, master);
  const std::string token = log_in(rest);
  Listener listener(rest.call({"GET /events?tag=salt/job/*&tag=b", with(token), "", 200, ""}));
  static_cast<void>(listener.parts());
  for (const char* const tag : {"a", "b", "salt/auth", "salt/job/1/new"}) {
    master->log->append(tag, Json::empty_object(), "");
  }
  const auto parts = listener.parts();
  REQUIRE(parts.size() == 2);
  CHECK(parts.at(0).starts_with("tag: b\n"));
  CHECK(parts.at(1).starts_with("tag: salt/job/1/new\n"));
  // Only an event with a selected tag wakes the listener.
  master->log->append("a", Json::empty_object(), "");
  CHECK(listener.parts().empty());
  const int before = listener.woken();
  master->log->append("b", Json::empty_object(), "");
  CHECK(listener.woken() == before + 1);

  std::string many;
  for (int i = 0; i < 9; ++i) many += "&tag=x";
  rest.check({{"GET /events?" + many.substr(1), with(token), "", 400, "At most 8 tags"},
              {"GET /events?tag=" + std::string(129, 'x'), with(token), "", 400, "128 bytes"},
              {"GET /events?tag=*a*b*c*/", with(token), "", 200, "a stream"},
              {"GET /events?tag=*a*b*c*d*", with(token), "", 400, "at most 4 '*'"}});
}

TEST_CASE("a stream shows the events that the rules allow") {
  const auto master = a_master();
  master->scope = auth::EventScope::own;
  Rest rest(netapi::RestCherrypyOptions{}, master);
  const std::string token = log_in(rest);
  Listener listener(rest.call({"GET /events", with(token), "", 200, ""}));
  static_cast<void>(listener.parts());
  master->log->append("a", Json::empty_object(), "joe");
  master->log->append("b", Json::empty_object(), "");
  master->log->append("c", Json::empty_object(), "fred");
  CHECK(listener.text().starts_with("tag: c\n"));
  master->scope = auth::EventScope::all;
  rest.streams().use(rest.client(), {});
  CHECK(test::eventually([&] {
    master->log->append("d", Json::empty_object(), "joe");
    return listener.text().find("tag: d\n") != std::string::npos;
  }));
  master->scope = auth::EventScope::nothing;
  rest.check({"GET /events", with(token), "", 401, "No rule of external_auth lets you see events."});

  client::Options options = quick_options();
  options.events_for_everybody = true;
  rest.streams().use(std::make_shared<const client::NetapiClient>(options, master), {});
  CHECK_FALSE(listener.ended());
}

TEST_CASE("/ws of rest_cherrypy checks the WebSocket handshake") {
  Rest rest;
  const std::string no = R"({"status": 401, "return": "No permission -- see authorization schemes"})";
  rest.check({
      {"GET /ws", kHandshake, "", 101, "a stream",
       "Sec-WebSocket-Version: 13 | Access-Control-Allow-Origin: * | -Set-Cookie"},
      {"GET /ws/TOKEN", kUpgrade, "", 101, "a stream"},
      {"GET /ws?format_events", kHandshake, "", 101, "a stream"},
      {"GET /ws", std::string(kUpgrade) + " | Cookie: session_id=TOKEN", "", 101, "a stream"},
      {"GET /ws", std::string(kUpgrade) + " | Cookie: session_id=TOKEN | Origin: http://api.example.org", "",
       101, ""},
      {"GET /ws", std::string(kUpgrade) + " | Cookie: session_id=TOKEN | Origin: https://other", "", 403, ""},
      {"GET /ws/TOKEN", std::string(kUpgrade) + " | Origin: https://other", "", 101, ""},
      {"GET /ws", kUpgrade, "", 401, no, "-Sec-WebSocket-Version"},
      {"GET /ws?token=TOKEN", kUpgrade, "", 400, ""},
      {"GET /ws", kWith, "", 426, R"({"status": 426, "return": "<any>"})"},
      {"GET /ws", std::string(kHandshake) + " | Server-Protocol: HTTP/1.0", "", 426, ""},
      {"GET /ws", "X-Auth-Token: TOKEN | Upgrade: websocket | Connection: Upgrade | Sec-WebSocket-Version: 8",
       "", 426, "", "Sec-WebSocket-Version: 13"},
      {"GET /ws",
       "X-Auth-Token: TOKEN | Upgrade: websocket | Connection: Upgrade | Sec-WebSocket-Version: 13", "", 400,
       R"({"status": 400, "return": "<has>Sec-WebSocket-Key"})"},
      {"GET /ws",
       "Upgrade: websocket | Connection: Upgrade | Sec-WebSocket-Version: 13 | Sec-WebSocket-Key: short", "",
       400, ""},
      {"POST /ws", kHandshake, "{}", 405, ""},
  });
  rest.carries_streams = false;
  rest.check({"GET /ws", kHandshake, "", 503, R"({"status": 503, "return": "<has>over FastCGI"})"});
}

TEST_CASE("the WebSockets of rest_tornado check the handshake in Salt's order") {
  Rest rest{netapi::RestTornadoOptions{}};
  const std::string get = "GET /all_events/TOKEN", upgrade = kUpgrade, unknown(64, 'a');
  const auto without = [&upgrade](const char* part) {
    std::string headers = upgrade;
    replace_all(headers, part, "");
    return headers;
  };
  const std::string no_key = without(" | Sec-WebSocket-Key: s65VsgHigh7v/Jcf4nXHnA==");
  rest.check({
      {get, upgrade, "", 101, "a stream"},
      {"GET /formatted_events/TOKEN", upgrade, "", 101, "a stream"},
      {"GET /all_events/" + unknown, "", "", 401,
       R"({"status": "401 Unauthorized", "return": "Please log in"})"},
      {"GET /formatted_events/" + unknown, upgrade, "", 401, ""},
      {"GET /all_events/" + unknown.substr(1) + "g", kHandshake, "", 404, ""},
      {get + "/", kHandshake, "", 404, ""},
      {get, without("Upgrade: WebSocket | "), "", 400, R"(Can \"Upgrade\" only to \"WebSocket\".)"},
      {get, without("Connection: Upgrade | "), "", 400, R"(\"Connection\" must be \"Upgrade\".)"},
      {get, upgrade + " | Server-Protocol: HTTP/1.0", "", 400, "HTTP/1.1"},
      {get, no_key + " | Origin: null", "", 403,
       R"({"status": "403 Forbidden", "return": "Cross origin websockets not allowed"})"},
      {"GET /formatted_events/TOKEN", upgrade + " | Origin: https://other", "", 403, ""},
      {get, upgrade + " | Origin: http://api.example.org", "", 101, ""},
      {get, without("Sec-WebSocket-Version: 13 | "), "", 426, "", "Sec-WebSocket-Version: 13"},
      {get, no_key, "", 400, ""},
      {"POST /all_events/TOKEN", upgrade, "{}", 405, "", "Allow: GET, HEAD"},
  });
  netapi::RestTornadoOptions options;
  options.cors_origin = {"*"};
  Rest(options).check(
      {get, upgrade + " | Origin: https://other", "", 101, "", "Access-Control-Allow-Origin: *"});
  options.cors_origin = {"https://gui"};
  Rest(options).check({{get, upgrade + " | Origin: https://gui", "", 101, ""},
                       {get, upgrade + " | Origin: http://api.example.org", "", 101, ""},
                       {get, upgrade + " | Origin: https://other", "", 403, ""}});
  rest.carries_streams = false;
  rest.check({get, upgrade, "", 503, ""});
}

TEST_CASE("/ws answers messages and sends events after the ready message") {
  const auto master = a_master();
  Rest rest(netapi::RestCherrypyOptions{}, master);
  const std::string token = log_in(rest);
  Listener listener(rest.call({"GET /ws/" + token, kUpgrade, "", 101, ""}));
  using Texts = std::vector<std::string>;
  CHECK(listener.parts().empty());
  listener.say("hello");
  listener.say("bytes", false);
  CHECK(listener.parts() == Texts{"server received message", "server received message"});
  master->log->append("before", Json::empty_object(), "");
  CHECK(listener.parts().empty());
  listener.say("websocket client ready");
  CHECK(listener.parts() == Texts{"server received message"});
  CHECK(listener.parts().empty());
  master->log->append("a", Json::trusted(R"({"x": 1})"), "");
  CHECK(listener.next() == Texts{"data: {\"data\": {\"x\": 1}, \"tag\": \"a\"}\n\n"});
  listener.say("websocket client ready");
  CHECK(listener.parts() == Texts{"server received message"});
  CHECK(listener.feed().keep_alive().empty());
  SUBCASE("a logout closes the WebSocket with 4401") {
    REQUIRE(master->logout(SecretView(token), SteadyTime::max()));
    CHECK(listener.end() == "4401 The session has ended.");
  }
  SUBCASE("a binary message closes the WebSocket with 1003") {
    listener.say("\xff", false);
    CHECK(listener.end() == "1003 Expected a message that is UTF-8 text.");
  }
  SUBCASE("the id of the last event continues the stream") {
    Listener blocks(rest.call({"GET /events", with(token), "", 200, ""}));
    static_cast<void>(blocks.parts());
    master->log->append("b", Json::empty_object(), "");
    const std::string id = id_of(blocks.text());
    master->log->append("c", Json::empty_object(), "");
    Listener other(rest.call({"GET /ws/" + token + "?last_event_id=" + id, kUpgrade, "", 101, ""}));
    master->log->append("d", Json::empty_object(), "");
    CHECK(other.parts().empty());
    other.say("websocket client ready");
    CHECK(other.parts() == Texts{"server received message", "data: {\"data\": {}, \"tag\": \"c\"}\n\n",
                                 "data: {\"data\": {}, \"tag\": \"d\"}\n\n"});
    Listener lost(rest.call({"GET /ws/" + token + "?last_event_id=x", kUpgrade, "", 101, ""}));
    lost.say("websocket client ready");
    CHECK(lost.parts().at(1).starts_with(R"(data: {"data": {"last_event_id": "x")"));
  }
}

TEST_CASE("/all_events sends only events after the ready message") {
  const auto master = a_master();
  Rest rest(netapi::RestTornadoOptions{}, master);
  const std::string token = log_in(rest);
  Listener listener(rest.call({"GET /all_events/" + token, kUpgrade, "", 101, ""}));
  for (const char* const text : {"x", "", "websocket client ready\n", "Websocket client ready"})
    listener.say(text);
  listener.say("websocket client ready", false);
  listener.say("\xff", false);
  master->log->append("before", Json::empty_object(), "");
  CHECK(listener.parts().empty());
  listener.say("websocket client ready");
  CHECK(listener.parts().empty());
  master->log->append("a", Json::trusted(R"({"x": 1})"), "");
  CHECK(listener.next() == std::vector<std::string>{R"({"data": {"x": 1}, "tag": "a"})"});
  REQUIRE(master->logout(SecretView(token), SteadyTime::max()));
  CHECK(listener.end() == "1008 The session has ended.");
}

TEST_CASE("the formatted view of rest_tornado starts with all minions and grains") {
  Rest rest{netapi::RestTornadoOptions{}};
  const std::string token = rest.token("fred");
  Listener listener(rest.call({"GET /formatted_events/" + token, kUpgrade, "", 101, ""}));
  CHECK(listener.parts().empty());
  listener.say("websocket client ready");
  const auto parts = listener.next();
  REQUIRE(parts.size() == 1);
  CHECK(parts.front().starts_with(R"({"minions": {"ms-0": {"grains": {)"));
  CHECK(parts.front().ends_with("\"id\": \"ms-2\"}}}\n\n"));
  Listener joe(rest.call({"GET /formatted_events/JOE", kUpgrade, "", 101, ""}));
  joe.say("websocket client ready");
  CHECK(joe.end().starts_with("1008 "));  // The user joe may not run grains.items on all minions.
}

TEST_CASE("the formatted view requests unknown grains from minions") {
  const auto master = a_master();
  Rest rest(netapi::RestTornadoOptions{}, master);
  const std::string token = log_in(rest);
  master->on_admit = [](const lowstate::Chunk& chunk) -> std::optional<Error> {
    if (chunk.client != lowstate::Client::runner) return std::nullopt;
    return Error{ErrorKind::authorization, "no"};
  };
  Listener listener(rest.call({"GET /formatted_events/" + token, kUpgrade, "", 101, ""}));
  listener.say("websocket client ready");
  const auto was_queried = [&](std::size_t times) {
    return test::eventually([&] { return master->started().size() == times; });
  };
  CHECK(was_queried(1));
  master->log->append("salt/presence/present", Json::trusted(R"({"present": ["ms-7"]})"), "");
  CHECK(listener.next() == std::vector<std::string>{"{\"minions\": {\"ms-7\": {\"id\": \"ms-7\"}}}\n\n"});
  CHECK(was_queried(2));
  CHECK(master->started() == std::vector<std::string>{"async", "async"});
}

TEST_CASE("the formatted view looks up jobs whose start was missed") {
  const auto master = a_master();
  Rest rest(netapi::RestCherrypyOptions{}, master);
  const std::string token = log_in(rest);
  Listener listener(rest.call({"GET /ws/" + token + "?format_events=1", kUpgrade, "", 101, ""}));
  listener.say("websocket client ready");
  CHECK(listener.parts() == std::vector<std::string>{"server received message"});
  master->on_runner = [](std::shared_ptr<master::RunnerReturns> returns) {
    returns->put(master::RunnerReturn{
        Json::trusted(R"({"Function": "a.b", "Minions": ["x", "y"], "Target": "*", "Result": {}})"), Json()});
  };
  master->log->append("salt/job/7/ret/x", Json::trusted(R"({"return": 1, "retcode": 0, "success": true})"),
                      "");
  CHECK(listener.next().at(0).ends_with(
      R"("fun": null, "tgt": null, "tgt_type": null, "state": "complete"}}})"));
  const auto filled = listener.next();
  CHECK(filled.at(0).find(R"("y": {"success": false}}, "fun": "a.b", "tgt": "*")") != std::string::npos);
}

TEST_CASE("frames of a formatted view are limited in total size") {
  const auto master = a_master();
  Rest rest(netapi::RestCherrypyOptions{}, master);
  Listener listener(rest.call({"GET /ws/" + log_in(rest) + "?format_events=1", kUpgrade, "", 101, ""}));
  listener.say("websocket client ready");
  static_cast<void>(listener.parts());
  for (int i = 0; i < 300; ++i) {
    master->log->append(format("salt/job/{}/new", i), Json::trusted(R"({"minions": ["a"]})"), "");
  }
  std::size_t bytes = 0;
  std::string last;
  for (auto parts = listener.parts(); !parts.empty(); parts = listener.parts()) {
    for (const std::string& part : parts) bytes += part.size();
    last = parts.back();
  }
  CHECK(bytes < 4 * kMuch);
  CHECK(last.find(R"("299": {"jid")") != std::string::npos);
}

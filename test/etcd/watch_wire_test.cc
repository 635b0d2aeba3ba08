// SPDX-License-Identifier: MIT
#include "etcd/watch_wire.h"

#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

namespace rest_fcgi::etcd {
namespace {

using Changes = std::vector<std::pair<std::int64_t, std::string>>;  // revisions and keys

const std::string kTricky = R"({"result":{"created":true}}{"a":[{"b":"}]{["},{"c":"\"}"}],"d":"\\"})"
                            "\n \r\n\t{}\n"
                            R"({"e":"\\\"{","f":{}})";
const std::vector<std::string> kObjects = {R"({"result":{"created":true}})",
                                           R"({"a":[{"b":"}]{["},{"c":"\"}"}],"d":"\\"})", "{}",
                                           R"({"e":"\\\"{","f":{}})"};

/// All objects of `text`, which comes in pieces of `size` bytes; the last is "error" where one comes.
std::vector<std::string> read(std::string_view text, std::size_t size, std::size_t most = 1000) {
  ObjectReader reader(most);
  std::vector<std::string> objects;
  for (std::size_t at = 0; at < text.size(); at += size) {
    reader.append(text.substr(at, size));
    for (;;) {
      auto object = reader.next();
      if (!object) {
        objects.emplace_back("error");
        return objects;
      }
      if (!*object) break;
      objects.push_back(**object);
    }
  }
  return objects;
}

TEST_CASE("objects of a stream are told apart wherever it is split") {
  for (std::size_t size = 1; size <= kTricky.size(); ++size) CHECK(read(kTricky, size) == kObjects);
}

TEST_CASE("what is cut short gives the objects before and no error") {
  for (std::size_t length = 0; length < kTricky.size(); ++length) {
    const auto objects = read(std::string_view(kTricky).substr(0, length), 7);
    CAPTURE(length);
    REQUIRE(objects.size() < kObjects.size());
    CHECK(std::equal(objects.begin(), objects.end(), kObjects.begin()));
  }
}

TEST_CASE("a stream that is no longer made of objects is an error that shows none of it") {
  for (const char* text : {"[1]", "secret", "\"a\"", "}", "]", "1"}) {
    CAPTURE(text);
    CHECK(read(std::string("{} ") + text, 100) == std::vector<std::string>{"{}", "error"});
    ObjectReader reader(100);
    reader.append(text);
    const auto object = reader.next();
    REQUIRE_FALSE(object);
    CHECK(object.error().kind == ErrorKind::internal);
    CHECK(object.error().message.find("not with an object") != std::string::npos);
    CHECK(object.error().message.find("secret") == std::string::npos);
  }
}

TEST_CASE("an object above the limit is an error, also before its end has come") {
  const std::string object = R"({"a":"0123456789"})";
  CHECK(read(object + object, 5, object.size()) == std::vector<std::string>{object, object});
  CHECK(read(object, 5, object.size() - 1) == std::vector<std::string>{"error"});
  CHECK(read(R"({"a":"01234567890123456789)", 5, 12) == std::vector<std::string>{"error"});
}

TEST_CASE("bytes that are changed at random break nothing, and what is read is as long as what came") {
  std::mt19937 random(6);
  std::uniform_int_distribution<std::size_t> anywhere(0, kTricky.size() - 1);
  std::uniform_int_distribution<int> any_byte(0, 255);
  for (int i = 0; i < 5000; ++i) {
    std::string text = kTricky;
    for (int changes = 0; changes < 3; ++changes)
      text[anywhere(random)] = static_cast<char>(any_byte(random));
    const auto whole = read(text, text.size());
    CHECK(read(text, 1 + anywhere(random)) == whole);
    std::size_t bytes = 0;
    for (const std::string& object : whole) bytes += object == "error" ? 0 : object.size();
    CHECK(bytes <= text.size());
  }
}

const std::string kUrl = "http://10.0.0.1:2379";

WatchReply reply_of(const std::string& object) {
  const auto read = read_watch_reply(object, kUrl);
  REQUIRE(std::holds_alternative<WatchReply>(read));
  return std::get<WatchReply>(read);
}

Failure failure_of(const std::string& object) {
  const auto read = read_watch_reply(object, kUrl);
  REQUIRE(std::holds_alternative<Failure>(read));
  return std::get<Failure>(read);
}

TEST_CASE("a watch is asked for by the gateway's names") {
  CHECK(watch_body({.key = "foo", .range_end = "fop", .start_revision = 0, .prev_kv = true}, 7, true) ==
        R"({"create_request": {"key": "Zm9v", "range_end": "Zm9w", "start_revision": "7", "prev_kv": true, )"
        R"("progress_notify": true, "fragment": true}})");
  CHECK(watch_body({.key = "foo"}, 0, false) ==
        R"({"create_request": {"key": "Zm9v", "progress_notify": true}})");
}

TEST_CASE("a reply's events are read, and one without a type is a put") {
  const WatchReply reply = reply_of(
      R"({"result":{"header":{"cluster_id":"5","revision":"9"},"fragment":true,"events":[
      {"kv":{"key":"Zm9v","create_revision":"7","mod_revision":"9","version":"2","value":"MQ=="},
       "prev_kv":{"key":"Zm9v","mod_revision":"7","value":"MA=="}},
      {"type":"DELETE","kv":{"key":"Zm9w","mod_revision":"9"}}]}})");
  CHECK(reply.header.cluster_id == 5);
  CHECK(reply.header.revision == 9);
  CHECK(reply.fragment);
  CHECK_FALSE(reply.created);
  CHECK_FALSE(reply.canceled);
  REQUIRE(reply.events.size() == 2);
  CHECK(reply.events[0].type == WatchEvent::Type::put);
  CHECK(reply.events[0].kv.key == "foo");
  CHECK(reply.events[0].kv.value == "1");
  REQUIRE(reply.events[0].prev_kv.has_value());
  CHECK(reply.events[0].prev_kv->value == "0");
  CHECK(reply.events[1].type == WatchEvent::Type::deleted);
  CHECK(reply.events[1].kv.key == "fop");
  CHECK(reply.events[1].kv.mod_revision == 9);
  CHECK_FALSE(reply.events[1].prev_kv.has_value());
}

TEST_CASE("an object that is no reply is a failure that another member may mend") {
  for (const char* object :
       {"{}", "{\"result\":[]}", "{\"result\":", R"({"result":{"events":[{}]}})",
        R"({"result":{"events":[{"kv":{"key":"!"}}]}})", R"({"result":{"compact_revision":"x"}})"}) {
    const Failure failure = failure_of(object);
    CAPTURE(object);
    CHECK(failure.error.kind == ErrorKind::internal);
    CHECK(failure.remedy == Remedy::next_member);
  }
}

TEST_CASE("an error inside of a stream is one of the gateway's") {
  const Failure failure = failure_of(
      R"({"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader","http_status":"Service Unavailable"}})");
  CHECK(failure.error.kind == ErrorKind::timeout);
  CHECK(failure.remedy == Remedy::next_member);
  CHECK(failure.error.message.find("no leader") != std::string::npos);
}

TEST_CASE("why a watch was canceled decides what helps") {
  const auto canceled = [](const std::string& reason) {
    return cancel_failure(
        reply_of(R"({"result":{"created":true,"canceled":true,"cancel_reason":")" + reason + "\"}}"), kUrl);
  };
  CHECK(canceled("rpc error: code = InvalidArgument desc = etcdserver: user name is empty").remedy ==
        Remedy::authenticate);
  CHECK(canceled("rpc error: code = Unauthenticated desc = etcdserver: invalid auth token").remedy ==
        Remedy::authenticate);
  CHECK(canceled("etcdserver: revision of auth store is old").error.kind == ErrorKind::authentication);
  const Failure denied = canceled("rpc error: code = PermissionDenied desc = etcdserver: permission denied");
  CHECK(denied.error.kind == ErrorKind::authorization);
  CHECK(denied.remedy == Remedy::none);
  const Failure other = canceled("etcdserver: no leader");
  CHECK(other.error.kind == ErrorKind::unavailable);
  CHECK(other.remedy == Remedy::next_member);
  CHECK(other.error.message.find("no leader") != std::string::npos);
}

TEST_CASE("a watch of what is compacted away helps nobody, and the failure says up to where") {
  const Failure failure =
      cancel_failure(reply_of(R"({"result":{"canceled":true,"compact_revision":"219"}})"), kUrl);
  CHECK(failure.error.kind == ErrorKind::invocation);
  CHECK(failure.remedy == Remedy::none);
  CHECK(failure.error.message.find("219") != std::string::npos);
}

WatchReply reply(std::int64_t revision, const Changes& changes, bool fragment = false) {
  WatchReply reply;
  reply.header.revision = revision;
  reply.fragment = fragment;
  for (const auto& [changed_at, key] : changes) {
    reply.events.push_back({.kv = {.key = key, .mod_revision = changed_at}});
  }
  return reply;
}

WatchReply created(std::int64_t revision) {
  WatchReply created = reply(revision, {});
  created.created = true;
  return created;
}

/// The keys of the next revision; empty where there is none.
std::string take(WatchBacklog& backlog) {
  std::string keys;
  const auto events = backlog.take();
  if (events) {
    for (const WatchEvent& event : *events) keys += event.kv.key;
  }
  return keys;
}

TEST_CASE("events are told by revision, in order") {
  WatchBacklog backlog(3);
  CHECK(take(backlog).empty());
  backlog.add(reply(9, {{4, "a"}, {6, "b"}, {6, "c"}, {7, "d"}}));
  CHECK(backlog.next_revision() == 8);
  backlog.add(reply(9, {{9, "e"}}));
  for (const char* keys : {"a", "bc", "d", "e", ""}) CHECK(take(backlog) == keys);
  CHECK(backlog.next_revision() == 10);
}

TEST_CASE("a revision that comes in pieces is told when all of it is there") {
  WatchBacklog backlog(3);
  backlog.add(reply(9, {{4, "a"}, {5, "b"}}, true));
  CHECK(backlog.next_revision() == 5);
  CHECK(take(backlog) == "a");
  CHECK(take(backlog).empty());
  backlog.add(reply(9, {{5, "c"}}, true));
  CHECK(take(backlog).empty());
  backlog.add(reply(9, {{5, "d"}, {6, "e"}}));
  CHECK(take(backlog) == "bcd");
  CHECK(take(backlog) == "e");
}

TEST_CASE("after a break, a revision that came in part comes again as a whole, and no other does") {
  WatchBacklog backlog(3);
  backlog.add(reply(9, {{4, "a"}, {5, "b"}}, true));
  backlog.broken();
  CHECK(backlog.next_revision() == 5);
  backlog.add(created(9));
  backlog.add(reply(9, {{4, "a"}, {5, "b"}, {5, "c"}}));
  CHECK(take(backlog) == "a");
  CHECK(take(backlog) == "bc");
  CHECK(take(backlog).empty());
}

TEST_CASE("after a break, what is complete is still told") {
  WatchBacklog backlog(3);
  backlog.add(reply(9, {{4, "a"}, {5, "b"}}));
  backlog.broken();
  CHECK(backlog.next_revision() == 6);
  CHECK(take(backlog) == "a");
  CHECK(take(backlog) == "b");
}

TEST_CASE("a watch from now on goes on from the first reply's revision after a break") {
  WatchBacklog backlog(0);
  backlog.broken();
  CHECK(backlog.next_revision() == 0);
  backlog.add(created(7));
  CHECK(backlog.next_revision() == 8);
  backlog.add(created(12));
  CHECK(backlog.next_revision() == 8);
}

TEST_CASE("a reply without events moves the revision on, and one with events does not beyond them") {
  WatchBacklog backlog(3);
  backlog.add(reply(100, {{4, "a"}}));
  CHECK(backlog.next_revision() == 5);
  backlog.add(reply(100, {}));
  CHECK(backlog.next_revision() == 101);
  backlog.add(reply(50, {}));
  CHECK(backlog.next_revision() == 101);
}

}  // namespace
}  // namespace rest_fcgi::etcd

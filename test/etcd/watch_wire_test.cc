// SPDX-License-Identifier: MIT
#include "etcd/watch_wire.h"

#include <string>
#include <variant>

#include <doctest/doctest.h>

namespace rest_fcgi::etcd {
namespace {

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

}  // namespace

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

}  // namespace rest_fcgi::etcd

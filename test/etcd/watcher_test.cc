// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "client_calls.h"
#include "fake_gateway.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using test::EtcdCluster;

WatchRequest below(const std::string& prefix) {
  return {.key = prefix, .range_end = prefix_end(prefix)};
}

std::int64_t put(Client& client, const std::string& key, const std::string& value) {
  REQUIRE(client.put({.key = key, .value = value}, in()));
  const auto reply = *client.range({.key = key}, in());
  return reply.kvs.at(0).mod_revision;
}

/// Returns the next events as text, or the error message. A put is `+key=value(earlier value)`, and a
/// deletion is `-key`.
std::string next(Watcher& watcher, Deadline deadline = in()) {
  const auto events = watcher.next(deadline);
  if (!events) return events.error().message;
  std::string text;
  for (const WatchEvent& event : *events) {
    text += (event.is_delete ? "-" : "+") + event.kv.key + (event.is_delete ? "" : "=" + event.kv.value);
    if (event.prev_kv) text += "(" + event.prev_kv->value + ")";
  }
  return text;
}

std::unique_ptr<Watcher> standing(Client& client, const std::string& prefix = "/w/") {
  WatchRequest request = below(prefix);
  request.start_revision = put(client, prefix + "first", "");
  auto watcher = std::make_unique<Watcher>(client, request);
  REQUIRE(next(*watcher).starts_with("+" + prefix + "first="));
  return watcher;
}

void check_all_come(Watcher& watcher, int from, int to) {
  for (int value = from; value <= to; ++value)
    REQUIRE(next(watcher).starts_with("+/w/k=" + std::to_string(value)));
}

TEST_CASE("a watch returns changes by revision, with the earlier pairs") {
  if (test::no_etcd()) return;
  const auto client = client_of(options_of(test::shared_etcd()));
  put(*client, "/w/k", "0");
  WatchRequest request = below("/w/");
  request.start_revision = put(*client, "/w/k", "1");
  REQUIRE(client->delete_key("/w/k", in()));
  Watcher watcher(*client, request);
  CHECK(next(watcher) == "+/w/k=1(0)");
  CHECK(next(watcher) == "-/w/k(1)");
  put(*client, "/w/a", "1");
  put(*client, "/x", "not watched");
  REQUIRE(client->txn({.success = {{PutRequest{.key = "/w/b", .value = "2"}},
                                   {PutRequest{.key = "/w/c", .value = std::string("\0\xff", 2)}}}},
                      in()));
  CHECK(next(watcher) == "+/w/a=1");
  CHECK(next(watcher) == std::string("+/w/b=2+/w/c=\0\xff", 15));
  const auto start = steady_clock::now();
  CHECK(next(watcher, in(milliseconds(100))).empty());
  CHECK(steady_clock::now() - start >= milliseconds(100));
}

TEST_CASE("a watch that is behind returns all large changes") {
  if (test::no_etcd()) return;
  const auto client = client_of(options_of(test::shared_etcd()));
  const std::int64_t start = put(*client, "/b/start", "");
  const std::string large(400000, 'x');
  for (int i = 0; i < 6; ++i) put(*client, "/b/k", std::to_string(i) + large);
  REQUIRE(client->txn(
      {.success = {{PutRequest{.key = "/b/a", .value = large}}, {PutRequest{.key = "/b/b", .value = large}}}},
      in()));
  WatchRequest request = below("/b/");
  request.start_revision = start;
  Watcher watcher(*client, request);
  CHECK(next(watcher) == "+/b/start=");
  for (int i = 0; i < 6; ++i)
    CHECK(next(watcher) ==
          "+/b/k=" + std::to_string(i) + large + (i == 0 ? "" : "(" + std::to_string(i - 1) + large + ")"));
  CHECK(next(watcher) == "+/b/a=" + large + "+/b/b=" + large);
}

TEST_CASE("a watch loses and repeats no change when its member is killed") {
  if (test::no_etcd()) return;
  EtcdCluster cluster({.members = 3});
  const std::size_t victim = cluster.leader();
  Options options = options_of(cluster);
  std::swap(options.endpoints[0], options.endpoints[victim]);
  const auto client = client_of(options);
  options.endpoints.erase(options.endpoints.begin());
  const auto writer = client_of(options);
  const auto watcher = standing(*client);
  std::thread writes([&writer] {
    for (int value = 1; value <= 300; ++value) {
      CHECK(writer->put({.key = "/w/k", .value = std::to_string(value)}, in()).ok());
    }
  });
  check_all_come(*watcher, 1, 100);
  cluster.kill(victim);
  check_all_come(*watcher, 101, 300);
  writes.join();
  CHECK(next(*watcher, in(milliseconds(100))).empty());
}

TEST_CASE("a user watches only what the role allows") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.auth = true});
  Options options = options_of(cluster);
  const auto fails_with = [](Options as, const std::string& prefix) {
    const auto client = client_of(std::move(as));
    Watcher watcher(*client, below(prefix));
    const Error error = watcher.next(in()).error();
    CHECK(error.message.find("wrong-word") == std::string::npos);
    return error.kind;
  };
  CHECK(fails_with(options, "/salt/") == ErrorKind::authentication);
  options.username = "larry";
  options.password = std::make_shared<const Secret>("wrong-word");
  CHECK(fails_with(options, "/salt/") == ErrorKind::authentication);
  options.password = std::make_shared<const Secret>("123pass");
  CHECK(fails_with(options, "/other/") == ErrorKind::authorization);
  const auto client = client_of(options);
  const auto watcher = standing(*client, "/salt/");
  put(*client, "/salt/k", "1");
  CHECK(next(*watcher) == "+/salt/k=1");
}

const std::string kCreated = R"({"result":{"header":{"cluster_id":"7","revision":"90"},"created":true}})"
                             "\n";

std::string changes(int revision, int count, bool fragment = false) {
  std::string text = R"({"result":{"header":{"cluster_id":"7","revision":"90"},"events":[)";
  for (int i = 0; i < count; ++i) {
    const char* key[] = {"YQ==", "Yg==", "Yw=="};
    text += std::string(i == 0 ? "" : ",") + R"({"kv":{"key":")" + key[i] + R"(","mod_revision":")" +
            std::to_string(revision) + "\"}}";
  }
  return text + (fragment ? "],\"fragment\":true}}\n" : "]}}\n");
}

std::string canceled(const std::string& reason) {
  return R"({"result":{"header":{"cluster_id":"7"},"created":true,"canceled":true,"cancel_reason":")" +
         reason + "\"}}\n";
}

std::string going_on(const std::string& objects) {
  return "HTTP/1.1 200 OK\r\n\r\n" + objects;
}

std::string ended(const std::string& objects) {
  return FakeGateway::reply(200, objects);
}

ScriptedEtcd::Answer in_turn(std::vector<std::string> replies) {
  return [replies = std::move(replies)](std::size_t n) { return replies[std::min(n, replies.size() - 1)]; };
}

Options options_of(const ScriptedEtcd& server) {
  return {.endpoints = {server.url()}};
}

std::vector<std::string> starts(const ScriptedEtcd& server) {
  constexpr std::string_view kStart = R"("start_revision": ")";
  std::vector<std::string> all;
  for (const auto& request : server.requests()) {
    if (request.path != "/v3/watch") continue;
    const std::size_t at = request.body.find(kStart);
    all.push_back(at == std::string::npos
                      ? std::string()
                      : request.body.substr(at + kStart.size(),
                                            request.body.find('"', at + kStart.size()) - at - kStart.size()));
  }
  return all;
}

TEST_CASE("a watch that breaks within a message continues after the last complete revision") {
  const ScriptedEtcd server({{"/v3/watch", in_turn({ended(kCreated + changes(5, 1) + changes(7, 1, true) +
                                                          changes(7, 1).substr(0, 40)),
                                                    going_on(kCreated + changes(7, 2))})}});
  const auto client = client_of(options_of(server));
  Watcher watcher(*client, {.key = "a", .range_end = "d", .start_revision = 3});
  CHECK(next(watcher) == "+a=");
  CHECK(next(watcher) == "+a=+b=");
  CHECK(next(watcher, in(milliseconds(50))).empty());
  CHECK(starts(server) == std::vector<std::string>{"3", "6"});
}

TEST_CASE("a server that refuses the word fragment is asked without it") {
  const ScriptedEtcd server(
      {{"/v3/watch", in_turn({ScriptedEtcd::error(400, 3, "unknown field fragment in WatchCreateRequest"),
                              going_on(kCreated + changes(5, 1))})}});
  const auto client = client_of(options_of(server));
  Watcher watcher(*client, {.key = "a", .start_revision = 3});
  CHECK(next(watcher) == "+a=");
  std::vector<bool> has_word;
  for (const auto& request : server.requests()) {
    if (request.path == "/v3/watch") has_word.push_back(request.body.find("fragment") != std::string::npos);
  }
  CHECK(has_word == std::vector<bool>{true, false});
}

TEST_CASE("a watch replaces a refused token once") {
  const auto token = always(FakeGateway::reply(200, R"({"token":"t.1"})"));
  const std::string refused =
      going_on(canceled("rpc error: code = Unauthenticated desc = etcdserver: invalid auth token"));
  const ScriptedEtcd mended({{"/v3/auth/authenticate", token},
                             {"/v3/watch", in_turn({refused, going_on(kCreated + changes(5, 1))})}});
  Options options = options_of(mended);
  options.username = "larry";
  options.password = std::make_shared<const Secret>("123pass");
  const auto client = client_of(options);
  Watcher watcher(*client, {.key = "a", .start_revision = 3});
  CHECK(next(watcher) == "+a=");
  CHECK(mended.count("/v3/auth/authenticate") == 2);

  const ScriptedEtcd stubborn({{"/v3/auth/authenticate", token}, {"/v3/watch", always(refused)}});
  options.endpoints = {stubborn.url()};
  const auto in_vain = client_of(options);
  Watcher refused_watcher(*in_vain, {.key = "a", .start_revision = 3});
  const auto events = refused_watcher.next(in());
  CHECK(kind_of(events) == ErrorKind::authentication);
  CHECK(events.error().message.find("123pass") == std::string::npos);
  CHECK(stubborn.count("/v3/watch") == 2);
}

TEST_CASE("a refused watch fails, and the next call tries again") {
  const ScriptedEtcd server(
      {{"/v3/watch",
        in_turn({ScriptedEtcd::error(403, 7, "etcdserver: permission denied"),
                 going_on(canceled("etcdserver: permission denied")),
                 ScriptedEtcd::error(400, 3, "key is not provided"), going_on(kCreated + changes(5, 1))})}});
  const auto client = client_of(options_of(server));
  Watcher watcher(*client, {.key = "a", .start_revision = 3});
  CHECK(kind_of(watcher.next(in())) == ErrorKind::authorization);
  CHECK(kind_of(watcher.next(in())) == ErrorKind::authorization);
  CHECK(kind_of(watcher.next(in())) == ErrorKind::invocation);
  CHECK(next(watcher) == "+a=");
}

TEST_CASE("a watch is repeated after a malformed reply and after a failure of the member") {
  const std::string trouble =
      R"({"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: server stopped","http_status":"Unavailable"}})";
  for (const std::string& reply :
       {going_on("not JSON\n"), going_on("{\"result\":1}\n"), ended(trouble),
        going_on(canceled("etcdserver: no leader")), ended(""), std::string(), ScriptedEtcd::not_found(),
        ScriptedEtcd::error(503, 14, "etcdserver: no leader")}) {
    CAPTURE(reply);
    const ScriptedEtcd server({{"/v3/watch", in_turn({reply, going_on(kCreated + changes(5, 1))})}});
    const auto client = client_of(options_of(server));
    Watcher watcher(*client, {.key = "a", .start_revision = 3});
    CHECK(next(watcher) == "+a=");
    CHECK(server.count("/v3/watch") == 2);
  }
}

TEST_CASE("a watch that breaks at once is repeated with pauses until the deadline") {
  const ScriptedEtcd server({{"/v3/watch", always(going_on(canceled("out of order")))}});
  const auto client = client_of(options_of(server));
  Watcher watcher(*client, {.key = "a", .start_revision = 3});
  const auto events = watcher.next(in(seconds(3)));
  CHECK(kind_of(events) == ErrorKind::unavailable);
  CHECK(events.error().message.find("out of order") != std::string::npos);
  CHECK(server.count("/v3/watch") >= 2);
  CHECK(server.count("/v3/watch") <= 8);
}

TEST_CASE("a replaced cluster ends a watch") {
  const std::string other =
      "{\"result\":{\"header\":{\"cluster_id\":\"8\",\"revision\":\"1\"},\"created\":true}}\n";
  const ScriptedEtcd server({{"/v3/watch", in_turn({ended(kCreated + changes(5, 1)), going_on(other)})}});
  const auto client = client_of(options_of(server));
  Watcher watcher(*client, {.key = "a", .start_revision = 3});
  CHECK(next(watcher) == "+a=");
  CHECK(kind_of(watcher.next(in())) == ErrorKind::invocation);
  CHECK(kind_of(watcher.next(in())) == ErrorKind::invocation);
}

std::string created_at(int revision, int term) {
  return format(
      R"({{"result":{{"header":{{"cluster_id":"7","revision":"{}","raft_term":"{}"}},"created":true}}}})"
      "\n",
      revision, term);
}

std::string range_at(int revision, int term) {
  return FakeGateway::reply(
      200, format(R"({{"header":{{"cluster_id":"7","revision":"{}","raft_term":"{}"}}}})", revision, term));
}

TEST_CASE("a cluster that was restored from a backup ends a watch, and a member that is behind does not") {
  struct Case {
    std::string second;
    std::string newest;
    bool ends;
  };
  for (const Case& one :
       {Case{created_at(3, 2), range_at(3, 2), true}, Case{created_at(99, 1), range_at(99, 1), true},
        Case{created_at(3, 2), range_at(91, 2), false}}) {
    CAPTURE(one.second);
    CAPTURE(one.newest);
    const ScriptedEtcd server({{"/v3/watch", in_turn({ended(created_at(90, 2) + changes(5, 1)),
                                                      going_on(one.second + changes(91, 1))})},
                               {"/v3/kv/range", always(one.newest)}});
    const auto client = client_of(options_of(server));
    Watcher watcher(*client, {.key = "a", .start_revision = 3});
    CHECK(next(watcher) == "+a=");
    if (one.ends) {
      CHECK(kind_of(watcher.next(in())) == ErrorKind::invocation);
    } else {
      CHECK(next(watcher) == "+a=");
    }
  }
}

TEST_CASE("a watch leaves a silent member that sees no leader") {
  const ScriptedEtcd lonely({{"/v3/watch", always(going_on(kCreated))}});
  const ScriptedEtcd led({{"/v3/watch", always(going_on(kCreated + changes(5, 1)))}});
  Options options = options_of(lonely);
  options.endpoints.push_back(led.url());
  options.try_timeout = milliseconds(1500);
  const auto client = client_of(options);
  Watcher watcher(*client, {.key = "a", .start_revision = 3});
  CHECK(next(watcher) == "+a=");
  CHECK(lonely.count("/v3/watch") == 1);
  CHECK(starts(led) == std::vector<std::string>{"3"});
}

TEST_CASE("a watch stays at a silent member that sees a leader") {
  const std::string status =
      FakeGateway::reply(200, R"({"header":{"cluster_id":"7"},"version":"3.4.23","leader":"9"})");
  const ScriptedEtcd server(
      {{"/v3/watch", always(going_on(kCreated))}, {"/v3/maintenance/status", always(status)}});
  Options options = options_of(server);
  options.try_timeout = milliseconds(1000);
  const auto client = client_of(options);
  Watcher watcher(*client, {.key = "a", .start_revision = 3});
  const Deadline end = in();
  while (server.count("/v3/maintenance/status") < 2 && std::chrono::steady_clock::now() < end) {
    REQUIRE(next(watcher, in(seconds(1))).empty());
  }
  CHECK(server.count("/v3/watch") == 1);
  CHECK(server.count("/v3/maintenance/status") >= 2);
}

}  // namespace
}  // namespace rest_fcgi::etcd

// SPDX-License-Identifier: MIT
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "client_calls.h"

namespace rest_fcgi::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test::EtcdCluster;

WatchRequest below(const std::string& prefix) {
  return {.key = prefix, .range_end = prefix_end(prefix)};
}

std::int64_t put(Client& client, const std::string& key, const std::string& value) {
  REQUIRE(client.put({.key = key, .value = value}, in()));
  const auto reply = client.range({.key = key}, in());
  REQUIRE(reply);
  return reply->kvs.at(0).mod_revision;
}

/// Returns the events of the next revision as text, or the message of the error. A put is `+key=value(earlier
/// value)`, and a deletion is `-key`.
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

}  // namespace

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

TEST_CASE(
    "a watch continues at another member without losing or repeating a change when its member is killed") {
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
    const auto events = watcher.next(in());
    REQUIRE_FALSE(events);
    CHECK(events.error().message.find("wrong-word") == std::string::npos);
    return events.error().kind;
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

}  // namespace rest_fcgi::etcd

// SPDX-License-Identifier: MIT
#include "rest_fcgi/etcd/watcher.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "client_calls.h"

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
  const auto reply = client.put({.key = key, .value = value}, in());
  REQUIRE(reply);
  return reply->header.revision;
}

/// What the events of the next revision say: `+key=value`, `-key`; the error's message where there is one.
std::string next(Watcher& watcher, Deadline deadline = in()) {
  const auto events = watcher.next(deadline);
  if (!events) return events.error().message;
  std::string text;
  for (const WatchEvent& event : *events) {
    const bool deleted = event.type == WatchEvent::Type::deleted;
    text += (deleted ? "-" : "+") + event.kv.key + (deleted ? "" : "=" + event.kv.value);
    if (event.prev_kv) text += "(" + event.prev_kv->value + ")";
  }
  return text;
}

/// A watch of all below `prefix` that stands.
std::unique_ptr<Watcher> standing(Client& client, const std::string& prefix = "/w/") {
  WatchRequest request = below(prefix);
  request.start_revision = put(client, prefix + "first", "");
  auto watcher = std::make_unique<Watcher>(client, request);
  REQUIRE(next(*watcher) == "+" + prefix + "first=");
  return watcher;
}

/// The values `from` to `to`, each once and in order.
void check_all_come(Watcher& watcher, int from, int to) {
  for (int value = from; value <= to; ++value) REQUIRE(next(watcher) == "+/w/k=" + std::to_string(value));
}

}  // namespace

TEST_CASE("changes are told in order, those of one transaction together") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster;
  const auto client = client_of(options_of(cluster));
  put(*client, "/w/before", "0");
  Watcher watcher(*client, below("/w/"));
  std::string told;
  int last = 0;
  for (; !told.starts_with('+'); ++last) {
    put(*client, "/w/before", std::to_string(last));
    told = next(watcher, in(milliseconds(100)));
  }
  while (told != "+/w/before=" + std::to_string(last - 1)) told = next(watcher);
  put(*client, "/w/a", "1");
  put(*client, "/x", "not watched");
  REQUIRE(client->txn({.success = {{PutRequest{.key = "/w/b", .value = "2"}},
                                   {PutRequest{.key = "/w/c", .value = std::string("\0\xff", 2)}},
                                   {DeleteRangeRequest{.key = "/w/before"}}}},
                      in(), Repeat::no));
  REQUIRE(client->delete_range({.key = "/w/", .range_end = "/w0"}, in()));
  CHECK(next(watcher) == "+/w/a=1");
  CHECK(next(watcher) == std::string("+/w/b=2+/w/c=\0\xff-/w/before", 25));
  CHECK(next(watcher) == "-/w/a-/w/b-/w/c");
  CHECK(next(watcher, in(milliseconds(100))).empty());
}

TEST_CASE("a watch from an old revision on tells all that happened since, and what was there before each") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster;
  const auto client = client_of(options_of(cluster));
  put(*client, "/w/k", "0");
  const std::int64_t start = put(*client, "/w/k", "1");
  put(*client, "/w/k", "2");
  REQUIRE(client->delete_range({.key = "/w/k"}, in()));
  WatchRequest request = below("/w/");
  request.start_revision = start;
  request.prev_kv = true;
  Watcher watcher(*client, request);
  CHECK(next(watcher) == "+/w/k=1(0)");
  CHECK(next(watcher) == "+/w/k=2(1)");
  CHECK(next(watcher) == "-/w/k(2)");
  put(*client, "/w/k", "3");
  CHECK(next(watcher) == "+/w/k=3");
}

TEST_CASE("a watch of one key tells nothing of another") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster;
  const auto client = client_of(options_of(cluster));
  Watcher watcher(*client, {.key = "/w", .start_revision = put(*client, "/w", "1")});
  CHECK(next(watcher) == "+/w=1");
  put(*client, "/w/more", "1");
  put(*client, "/w", "2");
  CHECK(next(watcher) == "+/w=2");
}

TEST_CASE("large changes that a watch is behind with come all") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster;
  const auto client = client_of(options_of(cluster));
  const std::int64_t start = put(*client, "/w/start", "");
  const std::string large(400000, 'x');
  for (int i = 0; i < 6; ++i) put(*client, "/w/k", std::to_string(i) + large);
  REQUIRE(client->txn(
      {.success = {{PutRequest{.key = "/w/a", .value = large}}, {PutRequest{.key = "/w/b", .value = large}}}},
      in(), Repeat::no));
  WatchRequest request = below("/w/");
  request.start_revision = start;
  Watcher watcher(*client, request);
  CHECK(next(watcher) == "+/w/start=");
  for (int i = 0; i < 6; ++i) CHECK(next(watcher) == "+/w/k=" + std::to_string(i) + large);
  CHECK(next(watcher) == "+/w/a=" + large + "+/w/b=" + large);
}

TEST_CASE("where nothing happens, a watch comes back at the deadline") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster;
  const auto client = client_of(options_of(cluster));
  Watcher watcher(*client, below("/w/"));
  const auto start = steady_clock::now();
  CHECK(next(watcher, in(milliseconds(400))).empty());
  CHECK(steady_clock::now() - start >= milliseconds(400));
  CHECK(next(watcher, steady_clock::now()).empty());
}

TEST_CASE("when its member is killed, a watch goes on at another, and no change is lost or told twice") {
  if (test::no_etcd()) return;
  EtcdCluster cluster({.members = 3});
  for (const bool is_leader : {false, true}) {
    CAPTURE(is_leader);
    const std::size_t victim = is_leader ? cluster.leader() : cluster.follower();
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
    cluster.restart(victim);
  }
}

TEST_CASE("when the only member goes and comes back, a watch tells what happened meanwhile") {
  if (test::no_etcd()) return;
  EtcdCluster cluster;
  const auto client = client_of(options_of(cluster));
  const auto watcher = standing(*client);
  put(*client, "/w/k", "1");
  CHECK(next(*watcher) == "+/w/k=1");
  cluster.kill(0);
  const auto gone = watcher->next(in(milliseconds(3000)));
  REQUIRE_FALSE(gone);
  CHECK(gone.error().kind == ErrorKind::unavailable);
  CHECK(gone.error().message.find(cluster.url()) != std::string::npos);
  cluster.restart(0);
  put(*client, "/w/k", "2");
  CHECK(next(*watcher) == "+/w/k=2");
}

TEST_CASE("when its member falls silent, a watch notices and goes on at another") {
  if (test::no_etcd()) return;
  EtcdCluster cluster({.members = 3});
  const std::size_t silent = cluster.leader() == 0 ? 1 : 0;
  Options options = options_of(cluster);
  std::swap(options.endpoints[0], options.endpoints[silent]);
  options.try_timeout = milliseconds(500);
  const auto client = client_of(options);
  const auto watcher = standing(*client);
  cluster.freeze(silent);
  put(*client_of({.endpoints = {cluster.url(cluster.leader())}}), "/w/k", "1");
  // Also where each call is shorter than that takes.
  std::string told;
  for (const Deadline patience = in(); told != "+/w/k=1" && steady_clock::now() < patience;) {
    told = next(*watcher, in(milliseconds(50)));
  }
  CHECK(told == "+/w/k=1");
  cluster.thaw(silent);
}

TEST_CASE("a watch that a majority of the members is lost to goes on when it is back") {
  if (test::no_etcd()) return;
  EtcdCluster cluster({.members = 3});
  Options options = options_of(cluster);
  options.try_timeout = milliseconds(500);
  const auto client = client_of(options);
  const auto watcher = standing(*client);
  cluster.kill(1);
  cluster.kill(2);
  static_cast<void>(watcher->next(in(seconds(2))));
  cluster.start(1);
  cluster.await_healthy(1);
  put(*client, "/w/k", "1");
  std::string told;
  for (const Deadline patience = in(); told != "+/w/k=1" && steady_clock::now() < patience;) {
    told = next(*watcher, in(seconds(1)));
  }
  CHECK(told == "+/w/k=1");
}

TEST_CASE("a watch of what is compacted away says up to where, for ever") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster;
  const auto client = client_of(options_of(cluster));
  const std::int64_t first = put(*client, "/w/k", "1");
  put(*client, "/w/k", "2");
  const std::int64_t third = put(*client, "/w/k", "3");
  REQUIRE(client->compact(third, true, in()));
  WatchRequest request = below("/w/");
  request.start_revision = first;
  Watcher watcher(*client, request);
  for (int i = 0; i < 2; ++i) {
    const auto events = watcher.next(in());
    REQUIRE_FALSE(events);
    CHECK(events.error().kind == ErrorKind::invocation);
    CHECK(events.error().message.find(std::to_string(third)) != std::string::npos);
  }
  request.start_revision = third;
  Watcher anew(*client, request);
  CHECK(next(anew) == "+/w/k=3");
}

TEST_CASE("a user watches where it may read, and nowhere else") {
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

TEST_CASE("a watch goes over TLS with a client's certificate") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.tls = true, .ask_client_cert = true});
  Options options = options_of(cluster);
  options.ca = cluster.certificates().ca;
  options.client_cert = cluster.certificates().client_cert;
  options.client_key = cluster.certificates().client_key;
  const auto client = client_of(options);
  const auto watcher = standing(*client);
  put(*client, "/w/k", "1");
  CHECK(next(*watcher) == "+/w/k=1");
}

}  // namespace rest_fcgi::etcd

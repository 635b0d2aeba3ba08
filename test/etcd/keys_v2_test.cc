// SPDX-License-Identifier: MIT
#include "rest_fcgi/etcd/keys_v2.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"

namespace rest_fcgi::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::EtcdCluster;

Deadline in(milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}
Deadline soon() {
  return in(seconds(20));
}

Options options_of(const EtcdCluster& cluster) {
  Options options;
  options.endpoints = cluster.urls();
  return options;
}

std::unique_ptr<KeysV2> client_of(Options options) {
  auto client = KeysV2::make(std::move(options));
  REQUIRE(client);
  return *std::move(client);
}

ErrorKind kind_of(const Result<NodeV2>& result) {
  REQUIRE_FALSE(result);
  return result.error().kind;
}

}  // namespace

TEST_CASE("a key of the API v2 is put, read and removed, whatever is in its name and value") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.enable_v2 = true});
  const auto client = client_of(options_of(cluster));
  const std::string all = "\"\\/&=%+ \t\n<>\xC3\xA4\xE2\x82\xAC";
  for (const std::string key : {"/salt/return/jobs/1/.load.p", "/salt/a b/ä?x=1&y#%2f+;", "/x"}) {
    const auto put = client->put({.key = key, .value = all}, soon());
    REQUIRE(put);
    CHECK(put->key == key);
    CHECK(put->value == all);
    const auto got = client->get(key, false, soon());
    REQUIRE(got);
    REQUIRE(got->has_value());
    CHECK((*got)->value == all);
    CHECK((*got)->modified_index == put->modified_index);
    CHECK_FALSE((*got)->dir);
    CHECK(*client->remove(key, false, soon()));
    CHECK_FALSE(client->get(key, false, soon())->has_value());
    CHECK_FALSE(*client->remove(key, false, soon()));
  }
}

TEST_CASE("slashes too many in a key of the API v2 mean nothing") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.enable_v2 = true});
  const auto client = client_of(options_of(cluster));
  CHECK(client->put({.key = "/salt//jobs///1/", .value = "v"}, soon())->key == "/salt/jobs/1");
  CHECK((*client->get("salt/jobs/1", false, soon()))->value == "v");
}

TEST_CASE("directories of the API v2 are listed, sorted, one level or all, and go with all that is in them") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.enable_v2 = true});
  const auto client = client_of(options_of(cluster));
  for (const char* key : {"/t/b/2", "/t/b/1", "/t/a", "/t/c/d/e", "/t/_hidden"}) {
    REQUIRE(client->put({.key = key, .value = "v"}, soon()));
  }
  const auto level = client->get("/t", false, soon());
  REQUIRE(level);
  REQUIRE((*level)->nodes.size() == 3);
  CHECK((*level)->dir);
  CHECK((*level)->nodes[0].key == "/t/a");
  CHECK((*level)->nodes[1].dir);
  CHECK((*level)->nodes[1].nodes.empty());
  const auto tree = client->get("/t", true, soon());
  REQUIRE(tree);
  CHECK((*tree)->nodes[1].nodes[0].key == "/t/b/1");
  CHECK((*tree)->nodes[2].nodes[0].nodes[0].value == "v");
  CHECK(client->remove("/t", false, soon()).error().kind == ErrorKind::invocation);
  CHECK(*client->remove("/t", true, soon()));
  CHECK_FALSE(client->get("/t", true, soon())->has_value());
  CHECK((*client->get("/", false, soon()))->nodes.empty());
}

TEST_CASE("a key of the API v2 with a ttl goes by itself") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.enable_v2 = true});
  const auto client = client_of(options_of(cluster));
  REQUIRE(client->put({.key = "/t", .value = "v", .ttl = seconds(1)}, soon()));
  CHECK(client->put({.key = "/long", .value = "v", .ttl = seconds(100)}, soon())->ttl == 100);
  const Deadline patience = soon();
  while (client->get("/t", false, soon())->has_value()) {
    REQUIRE(std::chrono::steady_clock::now() < patience);
    std::this_thread::sleep_for(milliseconds(50));
  }
  CHECK((*client->get("/long", false, soon()))->ttl.has_value());
}

TEST_CASE("a put of the API v2 with a condition that does not hold changes nothing") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.enable_v2 = true});
  const auto client = client_of(options_of(cluster));
  CHECK(kind_of(client->put({.key = "/c", .value = "0", .prev_exist = true}, soon())) ==
        ErrorKind::not_found);
  const auto made = client->put({.key = "/c", .value = "1", .prev_exist = false}, soon());
  REQUIRE(made);
  CHECK(kind_of(client->put({.key = "/c", .value = "2", .prev_exist = false}, soon())) ==
        ErrorKind::invocation);
  CHECK(kind_of(client->put({.key = "/c", .value = "2", .prev_value = "9"}, soon())) ==
        ErrorKind::invocation);
  CHECK(kind_of(client->put({.key = "/c", .value = "2", .prev_index = made->modified_index + 1}, soon())) ==
        ErrorKind::invocation);
  CHECK((*client->get("/c", false, soon()))->value == "1");
  CHECK(
      client->put({.key = "/c", .value = "2", .prev_value = "1", .prev_index = made->modified_index}, soon())
          ->value == "2");
}

TEST_CASE("what the API v2 refuses is refused in its words") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.enable_v2 = true});
  const auto client = client_of(options_of(cluster));
  REQUIRE(client->put({.key = "/d/k", .value = "v"}, soon()));
  const auto on_dir = client->put({.key = "/d", .value = "v"}, soon());
  CHECK(kind_of(on_dir) == ErrorKind::invocation);
  CHECK(on_dir.error().message.find("Not a file") != std::string::npos);
  CHECK(on_dir.error().message.find(cluster.url()) != std::string::npos);
  CHECK(kind_of(client->put({.key = "/", .value = "v"}, soon())) == ErrorKind::invocation);
  CHECK(kind_of(client->put({.key = "/d/../e", .value = "v"}, soon())) == ErrorKind::invocation);
  CHECK(client->get("/d/../e", false, soon()).error().kind == ErrorKind::invocation);
  CHECK(client->remove("/d/../e", false, soon()).error().kind == ErrorKind::invocation);
}

TEST_CASE("the API v2 knows its users by their passwords, and lets them where they may go") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.auth = true, .enable_v2 = true});
  Options options = options_of(cluster);
  options.username = "larry";
  options.password = std::make_shared<const Secret>("123pass");
  const auto larry = client_of(options);
  CHECK(larry->put({.key = "/salt/a", .value = "v"}, soon()).ok());
  CHECK((*larry->get("/salt/a", false, soon()))->value == "v");
  CHECK(kind_of(larry->put({.key = "/other", .value = "v"}, soon())) == ErrorKind::authentication);
  options.password = std::make_shared<const Secret>("wrong-word");
  const auto refused = client_of(options)->put({.key = "/salt/a", .value = "other"}, soon());
  CHECK(kind_of(refused) == ErrorKind::authentication);
  CHECK(refused.error().message.find("wrong-word") == std::string::npos);
  CHECK(kind_of(client_of(options_of(cluster))->put({.key = "/salt/a", .value = "v"}, soon())) ==
        ErrorKind::authentication);
}

TEST_CASE("the API v2 is spoken over TLS with a client's certificate") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.tls = true, .ask_client_cert = true, .enable_v2 = true});
  Options options = options_of(cluster);
  options.ca = cluster.certificates().ca;
  CHECK(kind_of(client_of(options)->put({.key = "/a", .value = "v"}, in(milliseconds(500)))) !=
        ErrorKind::internal);
  options.client_cert = cluster.certificates().client_cert;
  options.client_key = cluster.certificates().client_key;
  CHECK(client_of(options)->put({.key = "/a", .value = "v"}, soon()).ok());
}

TEST_CASE("a server without the API v2 is a mistake of the configuration, and the error says so") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster;
  const auto client = client_of(options_of(cluster));
  const auto put = client->put({.key = "/a", .value = "v"}, soon());
  CHECK(kind_of(put) == ErrorKind::configuration);
  CHECK(put.error().message.find("--enable-v2") != std::string::npos);
  CHECK(client->get("/a", false, soon()).error().kind == ErrorKind::configuration);
  CHECK(client->remove("/a", false, soon()).error().kind == ErrorKind::configuration);
}

TEST_CASE("the API v2 goes on at another member when one is killed") {
  if (test::no_etcd()) return;
  EtcdCluster cluster({.members = 3, .enable_v2 = true});
  const auto client = client_of(options_of(cluster));
  REQUIRE(client->put({.key = "/a", .value = "1"}, soon()));
  cluster.kill(0);
  CHECK(client->put({.key = "/a", .value = "2"}, soon()).ok());
  CHECK((*client->get("/a", false, soon()))->value == "2");
  CHECK(*client->remove("/a", false, soon()));
}

TEST_CASE("the API v2 goes on at another member when one falls silent") {
  if (test::no_etcd()) return;
  EtcdCluster cluster({.members = 3, .enable_v2 = true});
  Options options = options_of(cluster);
  options.try_timeout = milliseconds(700);
  const auto client = client_of(options);
  cluster.freeze(0);
  CHECK(client->put({.key = "/a", .value = "1"}, soon()).ok());
  CHECK((*client->get("/a", false, soon()))->value == "1");
}

TEST_CASE("with no member there, the API v2 is unavailable at the deadline, and the error names all") {
  if (test::no_etcd()) return;
  EtcdCluster cluster({.enable_v2 = true});
  Options options = options_of(cluster);
  options.endpoints.push_back("http://127.0.0.1:" + std::to_string(test::unused_port()));
  const auto client = client_of(options);
  cluster.kill(0);
  const auto put = client->put({.key = "/a", .value = "v"}, in(milliseconds(500)));
  CHECK(kind_of(put) == ErrorKind::unavailable);
  for (const std::string& url : options.endpoints) {
    CHECK(put.error().message.find(url) != std::string::npos);
  }
}

TEST_CASE("options that cannot be are refused before the first request of the API v2") {
  CHECK(KeysV2::make({.endpoints = {"127.0.0.1:2379"}}).error().kind == ErrorKind::configuration);
  CHECK(KeysV2::make({.ca = "/nowhere/ca.pem"}).error().kind == ErrorKind::configuration);
}

}  // namespace rest_fcgi::etcd

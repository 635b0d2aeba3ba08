// SPDX-License-Identifier: MIT
#include "rest_fcgi/etcd/keys_v2.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "client_calls.h"
#include "etcd/v2_wire.h"
#include "scripted_etcd.h"

namespace rest_fcgi::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::EtcdCluster;

std::unique_ptr<KeysV2> keys_of(Options options) {
  auto client = KeysV2::make(std::move(options));
  REQUIRE(client);
  return *std::move(client);
}

TEST_CASE("a key of the API v2 is put and read, whatever is in its name and value") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.enable_v2 = true});
  const auto client = keys_of(options_of(cluster));
  const std::string all = "\"\\/&=%+ \t\n<>\xC3\xA4\xE2\x82\xAC";
  for (const std::string key : {"/salt/return/jobs/1/.load.p", "/salt/a b/ä?x=1&y#%2f+;", "/x"}) {
    const auto put = client->put({.key = key, .value = all}, in());
    REQUIRE(put);
    CHECK(put->key == key);
    CHECK(put->value == all);
    const auto got = client->get(key, false, in());
    REQUIRE(got);
    REQUIRE(got->has_value());
    CHECK((*got)->value == all);
    CHECK_FALSE((*got)->dir);
  }
  CHECK_FALSE(client->get("/y", false, in())->has_value());
}

TEST_CASE("slashes too many in a key of the API v2 mean nothing") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.enable_v2 = true});
  const auto client = keys_of(options_of(cluster));
  CHECK(client->put({.key = "/salt//jobs///1/", .value = "v"}, in())->key == "/salt/jobs/1");
  CHECK((*client->get("salt/jobs/1", false, in()))->value == "v");
}

TEST_CASE("directories of the API v2 are listed, sorted, one level or all") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.enable_v2 = true});
  const auto client = keys_of(options_of(cluster));
  for (const char* key : {"/t/b/2", "/t/b/1", "/t/a", "/t/c/d/e", "/t/_hidden"}) {
    REQUIRE(client->put({.key = key, .value = "v"}, in()));
  }
  const auto level = client->get("/t", false, in());
  REQUIRE(level);
  REQUIRE((*level)->nodes.size() == 3);
  CHECK((*level)->dir);
  CHECK((*level)->nodes[0].key == "/t/a");
  CHECK((*level)->nodes[1].dir);
  CHECK((*level)->nodes[1].nodes.empty());
  const auto tree = client->get("/t", true, in());
  REQUIRE(tree);
  CHECK((*tree)->nodes[1].nodes[0].key == "/t/b/1");
  CHECK((*tree)->nodes[2].nodes[0].nodes[0].value == "v");
}

TEST_CASE("a key of the API v2 with a ttl goes by itself") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.enable_v2 = true});
  const auto client = keys_of(options_of(cluster));
  REQUIRE(client->put({.key = "/t", .value = "v", .ttl = seconds(1)}, in()));
  CHECK(client->put({.key = "/long", .value = "v", .ttl = seconds(100)}, in())->ttl == 100);
  const Deadline patience = in();
  while (client->get("/t", false, in())->has_value()) {
    REQUIRE(std::chrono::steady_clock::now() < patience);
    std::this_thread::sleep_for(milliseconds(50));
  }
  CHECK((*client->get("/long", false, in()))->ttl.has_value());
}

TEST_CASE("a put of the API v2 with a condition that does not hold changes nothing") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.enable_v2 = true});
  const auto client = keys_of(options_of(cluster));
  CHECK(kind_of(client->put({.key = "/c", .value = "0", .prev_exist = true}, in())) == ErrorKind::not_found);
  REQUIRE(client->put({.key = "/c", .value = "1", .prev_exist = false}, in()));
  CHECK(kind_of(client->put({.key = "/c", .value = "2", .prev_exist = false}, in())) ==
        ErrorKind::invocation);
  CHECK(kind_of(client->put({.key = "/c", .value = "2", .prev_value = "9"}, in())) == ErrorKind::invocation);
  CHECK((*client->get("/c", false, in()))->value == "1");
  CHECK(client->put({.key = "/c", .value = "2", .prev_value = "1"}, in())->value == "2");
}

TEST_CASE("what the API v2 refuses is refused in its words") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.enable_v2 = true});
  const auto client = keys_of(options_of(cluster));
  REQUIRE(client->put({.key = "/d/k", .value = "v"}, in()));
  const auto on_dir = client->put({.key = "/d", .value = "v"}, in());
  CHECK(kind_of(on_dir) == ErrorKind::invocation);
  CHECK(on_dir.error().message.find("Not a file") != std::string::npos);
  CHECK(on_dir.error().message.find(cluster.url()) != std::string::npos);
  CHECK(kind_of(client->put({.key = "/", .value = "v"}, in())) == ErrorKind::invocation);
  CHECK(kind_of(client->put({.key = "/d/../e", .value = "v"}, in())) == ErrorKind::invocation);
  CHECK(client->get("/d/../e", false, in()).error().kind == ErrorKind::invocation);
}

TEST_CASE("the API v2 knows its users by their passwords, and lets them where they may go") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.auth = true, .enable_v2 = true});
  Options options = options_of(cluster);
  options.username = "larry";
  options.password = std::make_shared<const Secret>("123pass");
  const auto larry = keys_of(options);
  CHECK(larry->put({.key = "/salt/a", .value = "v"}, in()).ok());
  CHECK((*larry->get("/salt/a", false, in()))->value == "v");
  CHECK(kind_of(larry->put({.key = "/other", .value = "v"}, in())) == ErrorKind::authentication);
  options.password = std::make_shared<const Secret>("wrong-word");
  const auto refused = keys_of(options)->put({.key = "/salt/a", .value = "other"}, in());
  CHECK(kind_of(refused) == ErrorKind::authentication);
  CHECK(refused.error().message.find("wrong-word") == std::string::npos);
  CHECK(kind_of(keys_of(options_of(cluster))->put({.key = "/salt/a", .value = "v"}, in())) ==
        ErrorKind::authentication);
}

TEST_CASE("the API v2 is spoken over TLS with a client's certificate") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster({.tls = true, .ask_client_cert = true, .enable_v2 = true});
  Options options = options_of(cluster);
  options.ca = cluster.certificates().ca;
  CHECK(kind_of(keys_of(options)->put({.key = "/a", .value = "v"}, in(milliseconds(500)))) !=
        ErrorKind::internal);
  options.client_cert = cluster.certificates().client_cert;
  options.client_key = cluster.certificates().client_key;
  CHECK(keys_of(options)->put({.key = "/a", .value = "v"}, in()).ok());
}

TEST_CASE("a server without the API v2 is a mistake of the configuration, and the error says so") {
  if (test::no_etcd()) return;
  const EtcdCluster cluster;
  const auto client = keys_of(options_of(cluster));
  const auto put = client->put({.key = "/a", .value = "v"}, in());
  CHECK(kind_of(put) == ErrorKind::configuration);
  CHECK(put.error().message.find("--enable-v2") != std::string::npos);
  CHECK(client->get("/a", false, in()).error().kind == ErrorKind::configuration);
}

TEST_CASE("the API v2 goes on at another member when one is killed") {
  if (test::no_etcd()) return;
  EtcdCluster cluster({.members = 3, .enable_v2 = true});
  const auto client = keys_of(options_of(cluster));
  REQUIRE(client->put({.key = "/a", .value = "1"}, in()));
  cluster.kill(0);
  CHECK(client->put({.key = "/a", .value = "2"}, in()).ok());
  CHECK((*client->get("/a", false, in()))->value == "2");
}

TEST_CASE("the API v2 goes on at another member when one falls silent") {
  if (test::no_etcd()) return;
  EtcdCluster cluster({.members = 3, .enable_v2 = true});
  Options options = options_of(cluster);
  options.try_timeout = milliseconds(700);
  const auto client = keys_of(options);
  cluster.freeze(0);
  CHECK(client->put({.key = "/a", .value = "1"}, in()).ok());
  CHECK((*client->get("/a", false, in()))->value == "1");
}

TEST_CASE("with no member there, the API v2 is unavailable at the deadline, and the error names all") {
  if (test::no_etcd()) return;
  EtcdCluster cluster({.enable_v2 = true});
  Options options = options_of(cluster);
  options.endpoints.push_back("http://127.0.0.1:" + std::to_string(test::unused_port()));
  const auto client = keys_of(options);
  cluster.kill(0);
  const auto put = client->put({.key = "/a", .value = "v"}, in(milliseconds(4000)));
  CHECK(kind_of(put) == ErrorKind::unavailable);
  for (const std::string& url : options.endpoints) {
    CHECK(put.error().message.find(url) != std::string::npos);
  }
}

TEST_CASE("options that cannot be are refused before the first request of the API v2") {
  CHECK(KeysV2::make({.endpoints = {"127.0.0.1:2379"}}).error().kind == ErrorKind::configuration);
  CHECK(KeysV2::make({.ca = "/nowhere/ca.pem"}).error().kind == ErrorKind::configuration);
}

const std::string kPath = "/v2/keys/a";
const std::string kNode = FakeGateway::reply(200, R"({"action":"set","node":{"key":"/a","value":"v"}})");
const std::string kElection =
    FakeGateway::reply(500, R"({"errorCode":301,"message":"During Leader Election","index":1})");

/// Breaks the first connection when it has the request, and then answers.
ScriptedEtcd::Answer second_time(const std::string& reply) {
  return [reply](std::size_t n) { return n == 0 ? std::string() : reply; };
}

std::unique_ptr<KeysV2> keys_of(const ScriptedEtcd& server) {
  return *KeysV2::make({.endpoints = {server.url()}});
}

TEST_CASE("a put of the API v2 without a condition is repeated where its answer is lost") {
  const ScriptedEtcd server({{kPath, second_time(kNode)}});
  CHECK(keys_of(server)->put({.key = "/a", .value = "v"}, in())->value == "v");
  CHECK(server.count(kPath) == 2);
}

TEST_CASE("a put of the API v2 with a condition is not repeated where its answer is lost") {
  for (const PutV2& request : {PutV2{.key = "/a", .value = "v", .prev_exist = false},
                               PutV2{.key = "/a", .value = "v", .prev_value = "u"}}) {
    const ScriptedEtcd server({{kPath, second_time(kNode)}});
    const auto put = keys_of(server)->put(request, in());
    REQUIRE_FALSE(put);
    CHECK(put.error().kind == ErrorKind::timeout);
    CHECK(server.count(kPath) == 1);
  }
}

TEST_CASE("a read of the API v2 asks a majority, and again where one is being elected") {
  const std::string path = kPath + "?quorum=true&sorted=true";
  const ScriptedEtcd server({{path, [](std::size_t n) { return n == 0 ? kElection : kNode; }}});
  const auto got = keys_of(server)->get("/a", false, in());
  REQUIRE(got);
  CHECK((*got)->value == "v");
  CHECK(server.count(path) == 2);
}

TEST_CASE("where no member carries a put of the API v2 out, its outcome is not known at the deadline") {
  const ScriptedEtcd server({{kPath, always(kElection)}});
  const auto put = keys_of(server)->put({.key = "/a", .value = "v"}, in(std::chrono::milliseconds(3000)));
  REQUIRE_FALSE(put);
  CHECK(put.error().kind == ErrorKind::timeout);
  CHECK(put.error().message.find("During Leader Election") != std::string::npos);
}

const std::string kMember = "http://10.0.0.1:2379";

NodeV2 node_of(const std::string& body) {
  const auto read = read_v2_node({200, body}, kMember);
  REQUIRE(std::holds_alternative<NodeV2>(read));
  return std::get<NodeV2>(read);
}

Failure failure_of(long status, const std::string& body) {
  const auto read = read_v2_node({status, body}, kMember);
  REQUIRE(std::holds_alternative<Failure>(read));
  return std::get<Failure>(read);
}

std::string error(int code) {
  return R"({"errorCode":)" + std::to_string(code) + R"(,"message":"said","cause":"/secret","index":1})";
}

TEST_CASE("a key becomes a path whose parts are escaped and not empty") {
  CHECK(*v2_path("/salt/return/minions/m1") == "/v2/keys/salt/return/minions/m1");
  CHECK(*v2_path("salt/a") == "/v2/keys/salt/a");
  CHECK(*v2_path("//salt///a//") == "/v2/keys/salt/a");
  CHECK(*v2_path("/") == "/v2/keys");
  CHECK(*v2_path("") == "/v2/keys");
  CHECK(*v2_path("/.load.p/...") == "/v2/keys/.load.p/...");
  CHECK(*v2_path("/a b/?x=1&y#%2f/\xC3\xA4\n") == "/v2/keys/a%20b/%3Fx%3D1%26y%23%252f/%C3%A4%0A");
}

TEST_CASE("a key with a part that leads elsewhere is refused") {
  for (const char* key : {"/a/../b", "..", "/./a", "/a/."}) {
    const auto path = v2_path(key);
    CAPTURE(key);
    REQUIRE_FALSE(path);
    CHECK(path.error().kind == ErrorKind::invocation);
  }
}

TEST_CASE("a put's form has what was asked for, escaped") {
  CHECK(v2_form({.key = "/a", .value = "a b&c=\xC3\xA4"}) == "value=a%20b%26c%3D%C3%A4");
  CHECK(v2_form({.key = "/a", .value = "", .ttl = std::chrono::seconds(5)}) == "value=&ttl=5");
  CHECK(v2_form({.key = "/a", .value = "1", .prev_exist = false}) == "value=1&prevExist=false");
  CHECK(v2_form({.key = "/a", .value = "1", .prev_exist = true, .prev_value = "&"}) ==
        "value=1&prevExist=true&prevValue=%26");
}

TEST_CASE("a node is read with all that is in it") {
  const NodeV2 node = node_of(R"({"action":"get","node":{"key":"/t","dir":true,"nodes":[
      {"key":"/t/a","value":"\u0026","ttl":3,"modifiedIndex":9,"createdIndex":8},
      {"key":"/t/d","dir":true,"nodes":[{"key":"/t/d/x","value":""}]}],"modifiedIndex":2,"createdIndex":1}})");
  CHECK(node.key == "/t");
  CHECK(node.dir);
  REQUIRE(node.nodes.size() == 2);
  CHECK(node.nodes[0].value == "&");
  CHECK(node.nodes[0].ttl == 3);
  CHECK_FALSE(node.nodes[0].dir);
  REQUIRE(node.nodes[1].nodes.size() == 1);
  CHECK(node.nodes[1].nodes[0].key == "/t/d/x");
  CHECK_FALSE(node.nodes[1].ttl.has_value());
}

TEST_CASE("what is no node is an error that names the member and shows nothing") {
  for (const char* body : {"", "secret", "[]", "{}", R"({"node":"secret"})", R"({"node":{"key")"}) {
    const Failure failure = failure_of(200, body);
    CAPTURE(body);
    CHECK(failure.error.kind == ErrorKind::internal);
    CHECK(failure.error.message.find(kMember) != std::string::npos);
    CHECK(failure.error.message.find("secret") == std::string::npos);
  }
}

TEST_CASE("each error of the API v2 has its kind, and only a member's own trouble is tried elsewhere") {
  struct Row {
    int status;
    int code;
    ErrorKind kind;
  };
  for (const Row& row : {Row{404, 100, ErrorKind::not_found}, Row{412, 101, ErrorKind::invocation},
                         Row{403, 102, ErrorKind::invocation}, Row{412, 105, ErrorKind::invocation},
                         Row{400, 107, ErrorKind::invocation}, Row{400, 202, ErrorKind::invocation},
                         Row{401, 110, ErrorKind::authentication}, Row{500, 300, ErrorKind::timeout},
                         Row{500, 301, ErrorKind::timeout}, Row{400, 401, ErrorKind::internal}}) {
    const Failure failure = failure_of(row.status, error(row.code));
    CAPTURE(row.code);
    CHECK(failure.error.kind == row.kind);
    CHECK((failure.remedy == Remedy::next_member) == (row.kind == ErrorKind::timeout));
    CHECK(failure.outcome_known == (row.kind != ErrorKind::timeout));
    CHECK(failure.error.message.find("said") != std::string::npos);
    CHECK(failure.error.message.find("secret") == std::string::npos);
  }
  CHECK(failure_of(503, "no healthy upstream").remedy == Remedy::next_member);
  CHECK(failure_of(408, "").remedy == Remedy::next_member);
  CHECK(failure_of(301, "").error.kind == ErrorKind::internal);
}

TEST_CASE("a server without the API v2 is told apart from a key that is not there") {
  const Failure failure = failure_of(404, "404 page not found\n");
  CHECK(failure.error.kind == ErrorKind::configuration);
  CHECK(failure.error.message.find("--enable-v2") != std::string::npos);
}

TEST_CASE("name and password are said as Basic") {
  CHECK(basic_authorization({}).empty());
  CHECK(
      basic_authorization({.username = "Aladdin", .password = std::make_shared<const Secret>("open sesame")})
          .reveal()
          .text == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  CHECK(basic_authorization({.username = "a"}).reveal().text == "Basic YTo=");
}

}  // namespace
}  // namespace rest_fcgi::etcd

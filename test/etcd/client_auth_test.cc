// SPDX-License-Identifier: MIT
#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "client_calls.h"
#include "etcd/transport.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::etcd {
namespace {

using namespace std::chrono_literals;
using test::Certificates;
using test::EtcdCluster;

std::unique_ptr<Client> client_as(const EtcdCluster& etcd, std::string name, std::string_view password) {
  return client_of({.endpoints = etcd.urls(),
                    .username = std::move(name),
                    .password = std::make_shared<const Secret>(password)});
}

TEST_CASE("a user may do what the role allows, and no more") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.auth = true});
  const auto larry = client_as(etcd, "larry", "123pass");
  CHECK(put(*larry));
  CHECK(larry->range({.key = "/salt/", .range_end = "/salt0"}, in())->count == 1);
  CHECK(put(*larry, "/other").error().kind == ErrorKind::authorization);
  CHECK(larry->range({.key = "/salt", .range_end = "/salt0"}, in()).error().kind == ErrorKind::authorization);
  CHECK(larry->txn({.success = {{PutRequest{"/salt/a", "1"}}, {PutRequest{"/b", "2"}}}}, in(), Repeat::yes)
            .error()
            .kind == ErrorKind::authorization);
  CHECK(larry->range({.key = "/salt/a"}, in())->kvs.empty());
  const Result<Lease> lease = larry->lease_grant(60s, 0, in());
  REQUIRE(lease);
  CHECK(larry->lease_keep_alive(lease->id, in()));
  CHECK(larry->lease_revoke(lease->id, in()));
  CHECK(put(*client_as(etcd, "root", "rootpw"), "/other"));
}

TEST_CASE("nobody, and who has the wrong password, may do nothing") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.auth = true});
  CHECK(put(*client_of({.endpoints = etcd.urls()})).error().kind == ErrorKind::authentication);
  const auto wrong = client_as(etcd, "larry", "sesame");
  for (int i = 0; i < 2; ++i) {
    const Result<PutReply> reply = put(*wrong);
    REQUIRE_FALSE(reply);
    CHECK(reply.error().kind == ErrorKind::authentication);
    CHECK(reply.error().message.find("sesame") == std::string::npos);
  }
  CHECK(put(*client_as(etcd, "nobody", "123pass")).error().kind == ErrorKind::authentication);
}

TEST_CASE("a name and a password are no harm where the cluster has no users") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  CHECK(put(*client_as(etcd, "larry", "123pass")));
}

TEST_CASE("a token that has run out is fetched anew") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.auth = true, .arguments = {"--auth-token-ttl=1"}});
  const auto larry = client_as(etcd, "larry", "123pass");
  CHECK(put(*larry));
  std::this_thread::sleep_for(2500ms);
  CHECK(put(*larry));
}

TEST_CASE("a password that is changed ends the token, and changed back lets the same client in") {
  if (test::no_etcd()) return;
  EtcdCluster etcd({.auth = true});
  const auto larry = client_as(etcd, "larry", "123pass");
  CHECK(put(*larry));
  etcd.post("/v3/auth/user/changepw", R"({"name":"larry","password":"other"})");
  CHECK(put(*larry).error().kind == ErrorKind::authentication);
  CHECK(put(*client_as(etcd, "larry", "other")));
  etcd.post("/v3/auth/user/changepw", R"({"name":"larry","password":"123pass"})");
  CHECK(put(*larry));
}

TEST_CASE("a password that is set anew is not noticed by threads that write") {
  if (test::no_etcd()) return;
  EtcdCluster etcd({.auth = true});
  const auto larry = client_as(etcd, "larry", "123pass");
  std::atomic<bool> stop{false};
  std::atomic<int> good{0};
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        ++(put(*larry) ? good : bad);
        std::this_thread::sleep_for(2ms);
      }
    });
  }
  for (int i = 0; i < 3; ++i) {
    etcd.post("/v3/auth/user/changepw", R"({"name":"larry","password":"123pass"})");
    for (const int before = good; good < before + 20 && bad == 0;) std::this_thread::sleep_for(5ms);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(good > 0);
  CHECK(bad == 0);
}

TEST_CASE("a token is good at each member of the cluster") {
  if (test::no_etcd()) return;
  EtcdCluster etcd({.members = 3, .auth = true});
  const auto larry = client_as(etcd, "larry", "123pass");
  CHECK(put(*larry));
  etcd.kill(0);
  CHECK(put(*larry));
}

Result<PutReply> put(Options options, std::chrono::milliseconds time = 60s) {
  return client_of(std::move(options))->put({.key = "k", .value = "v"}, in(time));
}

/// Of an exchange that has all the time it needs.
Error error_of_one_try(const std::string& url, Options options) {
  options.connect_timeout = 60s;
  options.try_timeout = 60s;
  const Result<HttpReply> reply =
      (*Transport::make(std::move(options)))
          ->exchange({.method = HttpRequest::Method::get, .url = url + "/version"}, in());
  REQUIRE_FALSE(reply);
  return reply.error();
}

TEST_CASE(
    "CVE-2020-28972 and CVE-2020-35662: a server is trusted by the authority that signed it, and by no "
    "other") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.tls = true});
  const Certificates& files = etcd.certificates();
  CHECK(put({.endpoints = etcd.urls(), .ca = files.ca}));
  const std::string localhost = "https://localhost:" + std::to_string(etcd.port());
  CHECK(put({.endpoints = {localhost}, .ca = files.ca}));
  for (const std::string& ca : {files.other_ca, std::string()}) {
    const Error refused = error_of_one_try(etcd.url(), {.ca = ca});
    CHECK(refused.kind == ErrorKind::unavailable);
    CAPTURE(refused.message);
    CHECK(refused.message.find("certificate") != std::string::npos);
  }
  CHECK(put({.endpoints = etcd.urls(), .ca = files.other_ca}, 300ms).error().kind == ErrorKind::unavailable);
}

TEST_CASE("a server whose certificate is for another host is refused") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.tls = true});
  const std::string other = "https://other.localhost:" + std::to_string(etcd.port());
  const Error refused = error_of_one_try(other, {.ca = etcd.certificates().ca});
  CHECK(refused.kind == ErrorKind::unavailable);
  CAPTURE(refused.message);
  CHECK(refused.message.find("no alternative certificate subject name matches") != std::string::npos);
}

TEST_CASE("a server that asks for a certificate is shown one") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.tls = true, .ask_client_cert = true});
  const Certificates& files = etcd.certificates();
  CHECK(put({.endpoints = etcd.urls(),
             .ca = files.ca,
             .client_cert = files.client_cert,
             .client_key = files.client_key}));
  const Result<PutReply> none = put({.endpoints = etcd.urls(), .ca = files.ca}, 300ms);
  REQUIRE_FALSE(none);
  CHECK(none.error().kind == ErrorKind::unavailable);
  const Result<PutReply> mixed = put({.endpoints = etcd.urls(),
                                      .ca = files.ca,
                                      .client_cert = files.client_cert,
                                      .client_key = files.server_key});
  REQUIRE_FALSE(mixed);
  CHECK(mixed.error().kind == ErrorKind::configuration);
}

TEST_CASE("users log in over TLS") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.auth = true, .tls = true});
  const auto larry = client_of({.endpoints = etcd.urls(),
                                .username = "larry",
                                .password = std::make_shared<const Secret>("123pass"),
                                .ca = etcd.certificates().ca});
  CHECK(larry->put({.key = "/salt/k", .value = "v"}, in()));
  CHECK(larry->put({.key = "/k", .value = "v"}, in()).error().kind == ErrorKind::authorization);
}

}  // namespace
}  // namespace rest_fcgi::etcd

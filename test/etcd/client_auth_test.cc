// SPDX-License-Identifier: MIT
#include <string>
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

TEST_CASE("a user may do only what the role allows, and only with the right password") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.auth = true});
  const auto larry = client_as(etcd, "larry", "123pass");
  CHECK(put(*larry));
  CHECK(larry->range({.key = "/salt/", .range_end = "/salt0"}, in())->kvs.size() == 1);
  CHECK(put(*larry, "/other").error().kind == ErrorKind::authorization);
  CHECK(larry->range({.key = "/salt", .range_end = "/salt0"}, in()).error().kind == ErrorKind::authorization);
  CHECK(larry->txn({.success = {{PutRequest{"/salt/a", "1"}}, {PutRequest{"/b", "2"}}}}, in()).error().kind ==
        ErrorKind::authorization);
  CHECK(larry->range({.key = "/salt/a"}, in())->kvs.empty());
  const Result<std::int64_t> lease = larry->lease_grant(60s, in());
  REQUIRE(lease);
  CHECK(larry->lease_revoke(*lease, in()));
  CHECK(put(*client_as(etcd, "root", "rootpw"), "/other"));
  CHECK(put(*client_of({.endpoints = etcd.urls()})).error().kind == ErrorKind::authentication);
  const auto wrong = client_as(etcd, "larry", "sesame");
  for (int i = 0; i < 2; ++i) {
    const auto reply = put(*wrong);
    REQUIRE_FALSE(reply);
    CHECK(reply.error().kind == ErrorKind::authentication);
    CHECK(reply.error().message.find("sesame") == std::string::npos);
  }
  CHECK(put(*client_as(etcd, "nobody", "123pass")).error().kind == ErrorKind::authentication);
}

Result<void> put_with(Options options, std::chrono::milliseconds time = 60s) {
  return client_of(std::move(options))->put({.key = "k", .value = "v"}, in(time));
}

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
    "CVE-2020-28972 and CVE-2020-35662: only a server whose certificate the configured authority signed for "
    "its host is trusted") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.tls = true});
  const Certificates& files = etcd.certificates();
  CHECK(put_with({.endpoints = etcd.urls(), .ca = files.ca}));
  const std::string localhost = "https://localhost:" + std::to_string(etcd.port());
  CHECK(put_with({.endpoints = {localhost}, .ca = files.ca}));
  for (const std::string& ca : {files.other_ca, std::string()}) {
    const Error refused = error_of_one_try(etcd.url(), {.ca = ca});
    CHECK(refused.kind == ErrorKind::unavailable);
    CAPTURE(refused.message);
    CHECK(refused.message.find("certificate") != std::string::npos);
  }
  CHECK(put_with({.endpoints = etcd.urls(), .ca = files.other_ca}, 300ms).error().kind ==
        ErrorKind::unavailable);
  const Error other =
      error_of_one_try("https://other.localhost:" + std::to_string(etcd.port()), {.ca = files.ca});
  CHECK(other.kind == ErrorKind::unavailable);
  CHECK(other.message.find("no alternative certificate subject name matches") != std::string::npos);
}

TEST_CASE("a client certificate is shown to a server that asks for it") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.tls = true, .ask_client_cert = true});
  const Certificates& files = etcd.certificates();
  CHECK(put_with({.endpoints = etcd.urls(),
                  .ca = files.ca,
                  .client_cert = files.client_cert,
                  .client_key = files.client_key}));
  const auto none = put_with({.endpoints = etcd.urls(), .ca = files.ca}, 300ms);
  REQUIRE_FALSE(none);
  CHECK(none.error().kind == ErrorKind::unavailable);
  const auto mixed = put_with({.endpoints = etcd.urls(),
                               .ca = files.ca,
                               .client_cert = files.client_cert,
                               .client_key = files.server_key});
  REQUIRE_FALSE(mixed);
  CHECK(mixed.error().kind == ErrorKind::configuration);
}

}  // namespace
}  // namespace rest_fcgi::etcd

// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "client_calls.h"
#include "etcd/transport.h"

namespace rest_fcgi::etcd {
namespace {

using namespace std::chrono_literals;
using test::Certificates;
using test::EtcdCluster;

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

TEST_CASE("a server is trusted by the authority that signed it, and by no other") {
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

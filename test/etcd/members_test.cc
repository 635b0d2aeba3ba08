// SPDX-License-Identifier: MIT
#include "etcd/members.h"

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "client_calls.h"
#include "scripted_etcd.h"

namespace rest_fcgi::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::vector<std::string> kThree{"http://a:1", "http://b:2", "http://c:3"};

TEST_CASE("endpoints are a scheme, a host and a port") {
  for (const std::string url : {"http://127.0.0.1:2379", "https://etcd-1.example.org:443",
                                "http://[::1]:2379", "https://[fe80::1]:65535", "http://node_1:1"}) {
    CAPTURE(url);
    CHECK(check_options({.endpoints = {url}}));
  }
}

TEST_CASE("what is no endpoint is refused, with what is accepted") {
  for (const std::string url :
       {"", "127.0.0.1:2379", "http://127.0.0.1", "http://:2379", "http://h:0", "http://h:65536",
        "http://h:2379/", "http://h:23x", "http://h:1?a", "ftp://h:1", "http://::1:2379", "http://[::1:2379",
        "http://h h:1", "http://h\r:1", "http://\x11:1", "http://[g]:1", "http://h:"}) {
    CAPTURE(url);
    const Result<void> checked = check_options({.endpoints = {"http://good:1", url}});
    REQUIRE_FALSE(checked);
    CHECK(checked.error().kind == ErrorKind::configuration);
    CHECK(checked.error().message == "etcd: endpoint '" + url +
                                         "': http://HOST:PORT or https://HOST:PORT is accepted, with an IPv6 "
                                         "address in brackets");
  }
}

TEST_CASE("a password in an endpoint is refused, and not repeated") {
  CHECK(check_options({.endpoints = {"http://larry:p@ss@h:1"}}).error().message ==
        "etcd: endpoint 'h:1': http://HOST:PORT or https://HOST:PORT is accepted, with an IPv6 address in "
        "brackets; name and password have options of their own");
}

TEST_CASE("at least one endpoint is needed") {
  CHECK(check_options({.endpoints = {}}).error().message ==
        "etcd: no endpoint; at least one http(s)://HOST:PORT is needed");
}

TEST_CASE("certificates with an endpoint that has no TLS are a mistake") {
  const Result<void> checked = check_options({.endpoints = {"http://h:1"}, .ca = "/ca.pem"});
  REQUIRE_FALSE(checked);
  CHECK(checked.error().message == "etcd: endpoint 'http://h:1': ca and client_cert go with https:// only");
  CHECK_FALSE(check_options({.endpoints = {"http://h:1"}, .client_cert = "/c", .client_key = "/k"}));
  CHECK(check_options({.endpoints = {"https://h:1"}, .ca = "/ca.pem"}));
}

TEST_CASE("the member that answered last is asked again") {
  Endpoints endpoints(kThree);
  const SteadyTime now{};
  CHECK(endpoints.size() == 3);
  CHECK(endpoints.url(1) == "http://b:2");
  CHECK(endpoints.choose(now) == 0);
  CHECK(endpoints.choose(now) == 0);
  endpoints.answered(2);
  CHECK(endpoints.choose(now) == 2);
}

TEST_CASE("one that failed is left out for a few seconds, and the next one stays chosen") {
  Endpoints endpoints(kThree);
  const SteadyTime now{};
  endpoints.failed(0, now);
  CHECK(endpoints.choose(now) == 1);
  endpoints.failed(1, now + seconds(1));
  CHECK(endpoints.choose(now + seconds(1)) == 2);
  endpoints.answered(2);
  CHECK(endpoints.choose(now + seconds(60)) == 2);
  endpoints.failed(2, now + seconds(60));
  CHECK(endpoints.choose(now + seconds(60)) == 0);
}

TEST_CASE("where all failed, all are tried in turn") {
  Endpoints endpoints(kThree);
  SteadyTime now{};
  for (std::size_t member : {0U, 1U, 2U, 0U, 1U, 2U, 0U}) {
    CHECK(endpoints.choose(now) == member);
    endpoints.failed(member, now);
    now += std::chrono::milliseconds(100);
  }
}

TEST_CASE("a member that failed tells its API anew") {
  Endpoints endpoints(kThree);
  CHECK(endpoints.prefix(0).empty());
  endpoints.set_prefix(0, "/v3");
  CHECK(endpoints.prefix(0) == "/v3");
  endpoints.failed(0, SteadyTime{});
  CHECK(endpoints.prefix(0).empty());
}

TEST_CASE("members of different clusters are a mistake, also after the first failed") {
  Endpoints endpoints(kThree);
  CHECK_FALSE(*endpoints.set_cluster(0, 0xcafe));
  CHECK_FALSE(*endpoints.set_cluster(1, 0xcafe));
  CHECK_FALSE(*endpoints.set_cluster(1, 0));
  endpoints.failed(0, SteadyTime{});
  const Result<bool> mixed = endpoints.set_cluster(2, 0xbeef);
  REQUIRE_FALSE(mixed);
  CHECK(mixed.error().kind == ErrorKind::configuration);
  CHECK(mixed.error().message ==
        "etcd: http://a:1 and http://c:3 are of different clusters (cafe and beef); all endpoints have to be "
        "members of one");
}

TEST_CASE("a member of another cluster than before is a cluster that was made anew") {
  Endpoints endpoints(kThree);
  CHECK_FALSE(*endpoints.set_cluster(0, 1));
  CHECK_FALSE(*endpoints.set_cluster(1, 1));
  CHECK(*endpoints.set_cluster(0, 2));
  CHECK_FALSE(*endpoints.set_cluster(1, 2));
  CHECK_FALSE(endpoints.set_cluster(2, 1));
}

Failure refused(std::string words) {
  return transport_failure({ErrorKind::unavailable, std::move(words)});
}
Failure broke(std::string words) {
  return transport_failure({ErrorKind::timeout, std::move(words)});
}

TEST_CASE("each pause is longer than the last, up to the third, and not the same for all who wait") {
  Attempts attempts(1);
  for (const int shortest : {100, 200, 400, 400, 400}) {
    attempts.add(0, refused("a"), false);
    std::set<milliseconds> pauses;
    for (int i = 0; i < 50; ++i) pauses.insert(attempts.pause());
    CHECK(pauses.size() > 1);
    CHECK(*pauses.begin() >= milliseconds(shortest));
    CHECK(*pauses.rbegin() < milliseconds(shortest * 3 / 2));
  }
}

TEST_CASE("each member's last words are told, but for those that the deadline cut off") {
  Attempts attempts(3);
  attempts.add(0, refused("a"), false);
  attempts.add(2, refused("c"), false);
  attempts.add(0, refused("a again"), false);
  attempts.add(2, refused("no time"), true);
  CHECK(attempts.error(true).message == "etcd: a again; etcd: c");
  attempts.add(1, refused("b"), true);
  CHECK(attempts.error(true).message == "etcd: a again; etcd: b; etcd: c");
}

TEST_CASE("a write is a timeout once its outcome is not known, and a read never") {
  Attempts attempts(1);
  attempts.add(0, refused("a"), false);
  CHECK(attempts.error(true).kind == ErrorKind::unavailable);
  attempts.add(0, broke("b"), true);
  attempts.add(0, refused("a"), false);
  CHECK(attempts.error(true).kind == ErrorKind::timeout);
  CHECK(attempts.error(false).kind == ErrorKind::unavailable);
}

Tried<Probed> probed(const ScriptedEtcd& server) {
  static const std::unique_ptr<Transport> http = *Transport::make({});
  return probe(*http, server.url(), in());
}

std::string prefix_at(const ScriptedEtcd& server) {
  return std::get<Probed>(probed(server)).prefix;
}

TEST_CASE("a member tells its prefix and its cluster") {
  const ScriptedEtcd now({});
  const Tried<Probed> told = probed(now);
  CHECK(std::get<Probed>(told).prefix == "/v3");
  CHECK(std::get<Probed>(told).cluster_id == 7);
  CHECK(now.requests().size() == 1);
}

TEST_CASE("where a prefix is not there, older ones are looked for, the newest of them first") {
  const ScriptedEtcd of_3_3({{"/v3/maintenance/status", always(ScriptedEtcd::not_found())},
                             {"/v3beta/maintenance/status", always(ScriptedEtcd::header_only())},
                             {"/v3alpha/maintenance/status", always(ScriptedEtcd::header_only())}});
  CHECK(prefix_at(of_3_3) == "/v3beta");
  CHECK(of_3_3.requests().size() == 2);
  CHECK(prefix_at(ScriptedEtcd({{"/v3/maintenance/status", always(ScriptedEtcd::not_found())},
                                {"/v3alpha/maintenance/status", always(ScriptedEtcd::header_only())}})) ==
        "/v3alpha");
}

TEST_CASE("a member that wants a login before it tells anything is one all the same") {
  for (const std::string& refusal : {ScriptedEtcd::error(400, 3, "etcdserver: user name is empty"),
                                     ScriptedEtcd::error(403, 7, "permission denied")}) {
    const Tried<Probed> told = probed(ScriptedEtcd({{"/v3/maintenance/status", always(refusal)}}));
    CHECK(std::get<Probed>(told).prefix == "/v3");
    CHECK(std::get<Probed>(told).cluster_id == 0);
  }
}

TEST_CASE("what is no etcd is told as such") {
  const ScriptedEtcd nothing({{"/v3/maintenance/status", always(ScriptedEtcd::not_found())}});
  const Tried<Probed> told = probed(nothing);
  const auto& failure = std::get<Failure>(told);
  CHECK(failure.error.message ==
        "etcd: " + nothing.url() + ": HTTP 404; neither /v3 nor /v3beta nor /v3alpha of an etcd is there");
  CHECK(failure.remedy == Remedy::next_member);
  for (const std::string body : {"hello", "[]", "{}", "{\"header\": 1}"}) {
    const ScriptedEtcd page({{"/v3/maintenance/status", always(FakeGateway::reply(200, body))}});
    const Tried<Probed> other = probed(page);
    CHECK(std::get<Failure>(other).error.message ==
          "etcd: " + page.url() + ": its answer is not that of an etcd");
    CHECK(std::get<Failure>(other).remedy == Remedy::next_member);
  }
}

TEST_CASE("a member that breaks or is not ready fails") {
  CHECK(std::get<Failure>(probed(ScriptedEtcd({{"/v3/maintenance/status", always("")}}))).remedy ==
        Remedy::next_member);
  CHECK(std::get<Failure>(
            probed(ScriptedEtcd(
                {{"/v3/maintenance/status", always(ScriptedEtcd::error(503, 14, "etcdserver: not ready"))}})))
            .remedy == Remedy::next_member);
}

}  // namespace
}  // namespace rest_fcgi::etcd

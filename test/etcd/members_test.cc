// SPDX-License-Identifier: MIT
#include "etcd/members.h"

#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "client_calls.h"
#include "fake_gateway.h"

namespace rest_fcgi::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::vector<std::string> kThree{"http://a:1", "http://b:2", "http://c:3"};

TEST_CASE("an endpoint is a scheme, a host and a port, without a password, and certificates need https") {
  for (const std::string url : {"http://127.0.0.1:2379", "https://etcd-1.example.org:443",
                                "http://[::1]:2379", "https://[fe80::1]:65535", "http://node_1:1"}) {
    CAPTURE(url);
    CHECK(check_options({.endpoints = {url}}));
  }
  for (const std::string url :
       {"", "127.0.0.1:2379", "http://127.0.0.1", "http://:2379", "http://h:0", "http://h:65536",
        "http://h:2379/", "http://h:23x", "http://h:1?a", "ftp://h:1", "http://::1:2379", "http://[::1:2379",
        "http://h h:1", "http://h\r:1", "http://\x11:1", "http://[g]:1", "http://h:"}) {
    CAPTURE(url);
    CHECK(fails_with(check_options({.endpoints = {"http://good:1", url}}), ErrorKind::configuration,
                     "found '" + url + "', expected http://HOST:PORT"));
  }
  CHECK(fails_with(check_options({.endpoints = {}}), ErrorKind::configuration, "found none"));
  const Result<void> checked = check_options({.endpoints = {"http://larry:p@ss@h:1"}});
  CHECK(fails_with(checked, ErrorKind::configuration, "'h:1'"));
  CHECK(checked.error().message.find("p@ss") == std::string::npos);
  CHECK(fails_with(check_options({.endpoints = {"http://h:1"}, .ca = "/ca.pem"}), ErrorKind::configuration,
                   "expected https://"));
  CHECK_FALSE(check_options({.endpoints = {"http://h:1"}, .client_cert = "/c", .client_key = "/k"}));
  CHECK(check_options({.endpoints = {"https://h:1"}, .ca = "/ca.pem"}));
}

TEST_CASE("the member that answered last is asked first, and a failed member is skipped for some seconds") {
  Members members(kThree);
  const SteadyTime now{};
  CHECK(members.choose(now) == 0);
  members.note_failure(0, now);
  CHECK(members.choose(now) == 1);
  members.note_failure(1, now + seconds(1));
  CHECK(members.choose(now + seconds(1)) == 2);
  members.note_answer(2);
  CHECK(members.choose(now + seconds(60)) == 2);
  members.note_failure(2, now + seconds(60));
  CHECK(members.choose(now + seconds(60)) == 0);
  Members failing(kThree);
  SteadyTime time{};
  for (std::size_t member : {0U, 1U, 2U, 0U, 1U, 2U, 0U}) {
    CHECK(failing.choose(time) == member);
    failing.note_failure(member, time);
    time += milliseconds(100);
  }
}

TEST_CASE("endpoints of different clusters are a mistake, but a cluster may be replaced") {
  Members members(kThree);
  CHECK_FALSE(*members.set_cluster(0, 0xcafe));
  CHECK_FALSE(*members.set_cluster(1, 0xcafe));
  CHECK_FALSE(*members.set_cluster(1, 0));
  members.note_failure(0, SteadyTime{});
  const Result<bool> mixed = members.set_cluster(2, 0xbeef);
  CHECK(fails_with(mixed, ErrorKind::configuration, "http://a:1 and http://c:3"));
  CHECK(fails_with(mixed, ErrorKind::configuration, "cafe and beef"));
  Members changing(kThree);
  CHECK_FALSE(*changing.set_cluster(0, 1));
  CHECK_FALSE(*changing.set_cluster(1, 1));
  CHECK(*changing.set_cluster(0, 2));
  CHECK_FALSE(*changing.set_cluster(1, 2));
  CHECK_FALSE(changing.set_cluster(2, 1));
}

/// Returns the error of `retry` if each attempt fails with `kind` until the deadline. Checks that the error
/// contains the error of each member.
Error error_of(Effect effect, ErrorKind kind) {
  Members members(kThree);
  std::string asked;
  const Error error = retry(members, effect, in(milliseconds(600)), [&](std::size_t member) {
                        asked += (asked.empty() ? "etcd: " : "; etcd: ") + members.url(member);
                        return std::optional(transport_failure({kind, members.url(member)}));
                      }).error();
  CHECK(error.message == asked);
  return error;
}

TEST_CASE("at the deadline a write whose outcome is unknown is a timeout, and other calls are unavailable") {
  CHECK(error_of(Effect::writes, ErrorKind::unavailable).kind == ErrorKind::unavailable);
  CHECK(error_of(Effect::writes, ErrorKind::timeout).kind == ErrorKind::timeout);
  CHECK(error_of(Effect::reads, ErrorKind::timeout).kind == ErrorKind::unavailable);
}

Tried<Probed> probed(const ScriptedEtcd& server) {
  static const std::unique_ptr<Transport> http = *Transport::make({});
  return probe(*http, server.url(), in());
}

TEST_CASE("a probe finds a member's prefix and cluster, and takes a member that wants a login") {
  const ScriptedEtcd newest({});
  const Tried<Probed> found = probed(newest);
  CHECK(std::get<Probed>(found).prefix == "/v3");
  CHECK(std::get<Probed>(found).cluster_id == 7);
  CHECK(newest.requests().size() == 1);
  const ScriptedEtcd of_3_3({{"/v3/maintenance/status", always(ScriptedEtcd::not_found())},
                             {"/v3beta/maintenance/status", always(ScriptedEtcd::header_only())},
                             {"/v3alpha/maintenance/status", always(ScriptedEtcd::header_only())}});
  const Tried<Probed> older = probed(of_3_3);
  CHECK(std::get<Probed>(older).prefix == "/v3beta");
  CHECK(of_3_3.requests().size() == 2);
  for (const std::string& refusal : {ScriptedEtcd::error(400, 3, "etcdserver: user name is empty"),
                                     ScriptedEtcd::error(403, 7, "permission denied")}) {
    const Tried<Probed> closed = probed(ScriptedEtcd({{"/v3/maintenance/status", always(refusal)}}));
    CHECK(std::get<Probed>(closed).prefix == "/v3");
    CHECK(std::get<Probed>(closed).cluster_id == 0);
  }
}

TEST_CASE("a probe fails at a server that is not etcd") {
  const ScriptedEtcd nothing({{"/v3/maintenance/status", always(ScriptedEtcd::not_found())}});
  const Tried<Probed> lacking = probed(nothing);
  CHECK(std::get<Failure>(lacking).lacks_api);
  CHECK(std::get<Failure>(lacking).action == RetryAction::next_member);
  CHECK(std::get<Failure>(lacking).error.message.find(nothing.url() + ": HTTP 404") != std::string::npos);
  for (const std::string& answer : {FakeGateway::reply(200, "hello"), FakeGateway::reply(200, "[]"),
                                    FakeGateway::reply(200, "{}"), FakeGateway::reply(200, "{\"header\": 1}"),
                                    std::string(), ScriptedEtcd::error(503, 14, "etcdserver: not ready")}) {
    CAPTURE(answer);
    const Tried<Probed> other = probed(ScriptedEtcd({{"/v3/maintenance/status", always(answer)}}));
    CHECK_FALSE(std::get<Failure>(other).lacks_api);
    CHECK(std::get<Failure>(other).action == RetryAction::next_member);
  }
}

}  // namespace
}  // namespace rest_fcgi::etcd

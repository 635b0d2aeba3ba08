// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "client_calls.h"
#include "etcd/members.h"
#include "scripted_etcd.h"

namespace rest_fcgi::etcd {
namespace {

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

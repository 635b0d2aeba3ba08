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

ScriptedEtcd::Answer version(const std::string& number) {
  return always(FakeGateway::reply(200, R"({"etcdserver":")" + number + R"(","etcdcluster":"3.0.0"})"));
}

TEST_CASE("a version has its prefix") {
  const std::pair<std::string, std::string> rows[] = {
      {"3.4.23", "/v3"},      {"3.10.0", "/v3"},   {"4.0.0", "/v3"},      {"3.3.27", "/v3beta"},
      {"3.2.32", "/v3alpha"}, {"3.0", "/v3alpha"}, {"2.3.8", "/v3alpha"}, {"", "/v3"},
      {"x", "/v3"},           {"3", "/v3"},        {"3.", "/v3"},         {"3.x", "/v3"},
      {"3.4.0-rc.1", "/v3"}};
  for (const auto& [text, prefix] : rows) {
    CHECK(prefix_of_version(text) == prefix);
  }
  CHECK(older_prefix("/v3") == "/v3beta");
  CHECK(older_prefix("/v3beta") == "/v3alpha");
  CHECK(older_prefix("/v3alpha").empty());
}

TEST_CASE("a member tells its prefix and its cluster") {
  const ScriptedEtcd now({});
  const Tried<Probed> told = probed(now);
  CHECK(std::get<Probed>(told).prefix == "/v3");
  CHECK(std::get<Probed>(told).cluster_id == 7);
  CHECK(now.requests().at(0).method == "GET");
  CHECK(prefix_at(ScriptedEtcd({{"/version", version("3.3.27")},
                                {"/v3beta/maintenance/status", always(ScriptedEtcd::header_only())}})) ==
        "/v3beta");
}

TEST_CASE("where a version's prefix is not there, older ones are looked for") {
  const ScriptedEtcd hidden({{"/version", always(ScriptedEtcd::not_found())},
                             {"/v3/maintenance/status", always(ScriptedEtcd::not_found())},
                             {"/v3alpha/maintenance/status", always(ScriptedEtcd::header_only())}});
  CHECK(prefix_at(hidden) == "/v3alpha");
  CHECK(hidden.requests().size() == 4);
  CHECK(prefix_at(ScriptedEtcd({{"/version", always(FakeGateway::reply(200, "who knows"))}})) == "/v3");
  CHECK(prefix_at(ScriptedEtcd({{"/version", always(FakeGateway::reply(200, "[]"))}})) == "/v3");
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
  const ScriptedEtcd nothing({{"/version", always(ScriptedEtcd::not_found())},
                              {"/v3/maintenance/status", always(ScriptedEtcd::not_found())}});
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
  CHECK(std::get<Failure>(probed(ScriptedEtcd({{"/version", always("")}}))).remedy == Remedy::next_member);
  CHECK(std::get<Failure>(probed(ScriptedEtcd({{"/v3/maintenance/status", always("")}}))).remedy ==
        Remedy::next_member);
  CHECK(std::get<Failure>(
            probed(ScriptedEtcd(
                {{"/v3/maintenance/status", always(ScriptedEtcd::error(503, 14, "etcdserver: not ready"))}})))
            .remedy == Remedy::next_member);
}

}  // namespace
}  // namespace rest_fcgi::etcd

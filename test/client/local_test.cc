// SPDX-License-Identifier: MIT
#include <future>
#include <set>

#include <doctest/doctest.h>

#include "../support/holds.h"
#include "clients.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;
using std::chrono::milliseconds;
using What = FakeMaster::What;
using master::Publication;
using Started = std::vector<std::string>;

namespace {

constexpr std::string_view kPing = R"("client": "local", "tgt": "*", "fun": "test.ping")";

std::string no_response(int job) {
  return R"("Minion did not return. [No response]\nThe minions may not have all finished running and any remaining )"
         R"(minions will return upon completion. To look up the return data for this job later, run the following )"
         R"(command:\n\nsalt-run jobs.lookup_jid )" +
         fake_jid(static_cast<std::uint64_t>(job)) + "\"";
}

}  // namespace

TEST_CASE_FIXTURE(WithClients, "local returns a map from minion to return, in the order of returns") {
  const auto reply = clients.run(kPing);
  REQUIRE(reply);
  REQUIRE(reply->items.size() == 1);
  CHECK(reply->items[0].text() == R"({"ms-0": true, "ms-1": true, "ms-2": true})");
  CHECK(reply->jid == fake_jid(1));
  CHECK(clients.master().started() == Started{"call ms-0,ms-1,ms-2"});
}

TEST_CASE_FIXTURE(WithClients, "returns may come late and from other threads") {
  FakeMaster& master = clients.master();
  std::promise<void> second;
  master.on_minion = [&](const std::string& minion, const Publication&, const std::string&, auto returns) {
    if (minion == "ms-1") return returns->put(returned(minion, "1"));
    master.later(milliseconds(5), [=, &second] {
      if (minion == "ms-0") second.get_future().wait();
      returns->put(returned(minion, "2"));
      if (minion == "ms-2") second.set_value();
    });
  };
  CHECK(clients.text(std::string(kPing) + R"(, "timeout": 60)") == R"({"ms-1": 1, "ms-2": 2, "ms-0": 2})");
}

TEST_CASE_FIXTURE(WithClients, "returns that come with the job are first in the map") {
  clients.master().at_once = {"1", "2"};
  clients.master().on_minion = [](const std::string& minion, const Publication&, const std::string&,
                                  auto returns) {
    returns->put(returned("ms-0", "7"));
    returns->put(returned(minion, "3"));
  };
  CHECK(clients.text(kPing) == R"({"ms-0": 1, "ms-1": 2, "ms-2": 3})");
  clients.master().at_once = {"1", "2", "3"};
  CHECK(clients.text(kPing) == R"({"ms-0": 1, "ms-1": 2, "ms-2": 3})");
  CHECK(clients.master().started().size() == 2);
}

TEST_CASE_FIXTURE(WithClients, "salt#20301: without a matching minion the map is empty") {
  clients.master().minions.clear();
  const auto reply = clients.run(kPing);
  REQUIRE(reply);
  CHECK(reply->items.at(0).text() == "{}");
  CHECK(reply->jid.empty());
}

TEST_CASE_FIXTURE(WithClients, "salt#47208: full_return has the return code, the outputter and the jid") {
  clients.master().minions = {"a", "b"};
  clients.on_minion([](const std::string& minion, What) {
    master::Return ret = returned(minion, "[1]", minion == "a" ? 0 : 2);
    if (minion == "b") ret.out = "nested";
    return ret;
  });
  CHECK(clients.text(std::string(kPing) + R"(, "full_return": true)") ==
        R"({"a": {"ret": [1], "retcode": 0, "jid": ")" + fake_jid(1) +
            R"("}, "b": {"ret": [1], "out": "nested", "retcode": 2, "jid": ")" + fake_jid(1) + R"("}})");
}

TEST_CASE_FIXTURE(WithClients, "a silent minion is asked once, and comes last with Salt's text") {
  clients.master().minions = {"dead", "a", "b"};
  clients.master().silent = {"dead"};
  CHECK(clients.text(kPing) == R"({"a": true, "b": true, "dead": )" + no_response(1) + "}");
  CHECK(clients.master().started() == Started{"call dead,a,b", "find_job dead"});
  CHECK(holds(clients.text(std::string(kPing) + R"(, "full_return": true)"),
              R"("dead": {"out": "no_return", "ret": )" + no_response(3) + R"(, "retcode": 1}})"));
}

TEST_CASE_FIXTURE(WithClients, "an unknown id has Salt's text without a wait") {
  clients.master().minions = {"a"};
  clients.master().missing = {"gone"};
  CHECK(clients.text(kPing) == R"({"a": true, "gone": )" + no_response(1) + "}");
  CHECK(clients.master().started() == Started{"call a"});
}

TEST_CASE("a chunk's gather_job_timeout of 0 does not make find_job a busy loop") {
  const Clients clients([](client::Options& options) { options.request_timeout = milliseconds(350); });
  clients.master().minions = {"slow"};
  clients.on_minion([](const std::string& minion, What what) {
    return what == What::find_job ? std::optional(returned(minion, R"({"pid": 1})")) : std::nullopt;
  });
  CHECK_FALSE(clients.run(std::string(kPing) + R"(, "timeout": 0, "gather_job_timeout": 0)"));
  CHECK(clients.master().started().size() >= 2);
  CHECK(clients.master().started().size() <= 5);
}

TEST_CASE("only a description in a successful answer to find_job means that the job runs") {
  for (const auto& [answer, retcode] :
       {std::pair("{}", 0), std::pair(R"({"return": {}})", 0), std::pair(R"({"return":{},"pid":1})", 0),
        std::pair("null", 0), std::pair("[1]", 0), std::pair(R"("'saltutil.find_job' is not available.")", 0),
        std::pair(R"({"pid": 1})", 1)}) {
    const Clients clients;
    FakeMaster& master = clients.master();
    master.minions = {"m"};
    std::string asked_about;
    master.on_minion = [&, text = answer, code = retcode](const std::string& minion,
                                                          const Publication& publication, const std::string&,
                                                          auto ret) {
      if (publication.what != What::find_job) return;
      asked_about = publication.jid;
      ret->put(returned(minion, text, code));
    };
    CHECK(clients.text(kPing) == R"({"m": )" + no_response(1) + "}");
    CHECK(asked_about == fake_jid(1));
    CHECK(master.started().size() == 2);
  }
}

TEST_CASE("the chunk's time limits override the configured ones") {
  const Clients clients(
      [](client::Options& options) { options.timeout = options.gather_job_timeout = std::chrono::hours(1); });
  clients.master().minions = clients.master().silent = {"dead"};
  const std::string quick = R"(, "timeout": 0.01, "gather_job_timeout": "0.01")";
  CHECK(clients.text(std::string(kPing) + quick) == R"({"dead": )" + no_response(1) + "}");
}

TEST_CASE("a wait ends with the request, and the error has the jid and the returns so far") {
  const Clients clients([](client::Options& options) { options.request_timeout = milliseconds(100); });
  clients.master().minions = clients.master().silent = {"dead"};
  const Error error = clients.error(std::string(kPing) + R"(, "timeout": 3600)");
  CHECK(error.kind == ErrorKind::timeout);
  CHECK(error.message == "Job '" + fake_jid(1) + "' did not finish within 0.1 seconds (request_timeout)");
  clients.master().minions.emplace_back("alive");
  const auto reply = clients.partial(std::string(kPing) + R"(, "timeout": 3600)");
  CHECK(reply.failure->kind == ErrorKind::timeout);
  CHECK(reply.items[0].text().starts_with("{\"alive\": "));
  CHECK(reply.jid == fake_jid(2));
}

TEST_CASE_FIXTURE(WithClients, "a return that came in time counts even if it is read late") {
  clients.on_minion([](const std::string& minion, What) { return returned(minion); });
  CHECK(clients.text(std::string(kPing) + R"(, "timeout": 0, "gather_job_timeout": 0)") ==
        R"({"ms-0": true, "ms-1": true, "ms-2": true})");
  CHECK(clients.master().started().size() == 1);
}

TEST_CASE_FIXTURE(WithClients, "local_async returns jid and minions at once") {
  const auto reply = clients.run(R"("client": "local_async", "tgt": "*", "fun": "test.ping")");
  REQUIRE(reply);
  CHECK(reply->items.at(0).text() ==
        R"({"jid": ")" + fake_jid(1) + R"(", "minions": ["ms-0", "ms-1", "ms-2"]})");
  CHECK(reply->jid == fake_jid(1));
}

TEST_CASE_FIXTURE(WithClients, "local_subset runs on some of the minions that have the function") {
  clients.master().minions = {"a", "b", "c", "d"};
  clients.on_minion([](const std::string& minion, What what) {
    return returned(minion, what != What::has_function || minion != "c" ? "true" : "false");
  });
  const auto reply = clients.run(R"("client": "local_subset", "tgt": "*", "fun": "test.ping", "subset": 2)");
  REQUIRE(reply);
  CHECK(reply->jid == fake_jid(2));
  const Started started = clients.master().started();
  REQUIRE(started.size() == 2);
  CHECK(started[0] == "has_function a,b,c,d");
  CHECK(started[1].size() == std::string("call a,b").size());
  CHECK(started[1].substr(5).find('c') == std::string::npos);
}

TEST_CASE_FIXTURE(WithClients, "local_subset chooses at random") {
  std::set<std::string> chosen;
  for (int i = 0; i < 64; ++i) {
    CHECK(clients.run(R"("client": "local_subset", "tgt": "*", "fun": "test.ping", "subset": 1)"));
    chosen.insert(clients.master().started().back());
  }
  CHECK(chosen.size() > 1);
}

TEST_CASE_FIXTURE(WithClients, "local_subset starts no job if no minion has the function") {
  clients.on_minion([](const std::string& minion, What) { return returned(minion, "false"); });
  CHECK(clients.text(R"("client": "local_subset", "tgt": "*", "fun": "no.such")") == "{}");
  CHECK(clients.master().started() == Started{"has_function ms-0,ms-1,ms-2"});
  clients.master().minions.clear();
  CHECK(clients.text(R"("client": "local_subset", "tgt": "*", "fun": "no.such")") == "{}");
}

TEST_CASE("minions that a syndic names are in the map") {
  const Clients clients([](client::Options& options) { options.syndic_wait = milliseconds(200); });
  FakeMaster& master = clients.master();
  master.minions = {"a"};
  master.on_minion = [&](const std::string& minion, const Publication&, const std::string&, auto returns) {
    returns->put(returned(minion, "1"));
    returns->put(master::MoreMinions{{"below"}});
    master.later(milliseconds(5), [=] { returns->put(returned("below", "2")); });
  };
  CHECK(clients.text(kPing) == R"({"a": 1, "below": 2})");
}

TEST_CASE("a syndic is not in the map") {
  const Clients clients([](client::Options& options) { options.syndic_wait = milliseconds(300); });
  FakeMaster& master = clients.master();
  master.minions = {"syndic"};
  master.missing = {"below", "unnamed", "nowhere"};
  master.on_minion = [&](const std::string& minion, const Publication&, const std::string&, auto returns) {
    returns->put(returned("unnamed", "1"));
    returns->put(master::MoreMinions{{"below"}, {minion}});
    master.later(milliseconds(5), [=] { returns->put(returned("below", "2")); });
  };
  const std::string text = clients.text(kPing);
  CHECK(text.starts_with(R"({"unnamed": 1, "below": 2, "nowhere": "Minion did not return. [No response])"));
  CHECK(text.find("syndic") == std::string::npos);
  CHECK(text.find("below", text.find("below") + 1) == std::string::npos);
}

TEST_CASE_FIXTURE(WithClients, "a loss of returns ends the wait with the jid and the returns so far") {
  FakeMaster& master = clients.master();
  master.minions = {"a", "b"};
  master.on_minion = [](const std::string& minion, const Publication&, const std::string&, auto returns) {
    if (minion == "a") return returns->put(returned(minion, "1"));
    returns->put(Error{ErrorKind::unavailable, "the bus was lost."});
  };
  const auto reply = clients.partial(kPing);
  CHECK(reply.items[0].text() == R"({"a": 1})");
  CHECK(reply.failure->kind == ErrorKind::unavailable);
  CHECK(reply.failure->jid == fake_jid(1));
  CHECK(holds(reply.failure->message, fake_jid(1) + " runs"));
}

TEST_CASE_FIXTURE(WithClients, "if find_job cannot be published, the error says that the job runs") {
  clients.master().minions = {"dead"};
  clients.master().silent = {"dead"};
  clients.master().on_start = [](const std::string& what) {
    return what.starts_with("find_job") ? std::optional(Error{ErrorKind::unavailable, "Nothing was sent."})
                                        : std::nullopt;
  };
  const Error error = clients.error(kPing);
  CHECK(error.kind == ErrorKind::unavailable);
  CHECK(holds(error.message, fake_jid(1) + " runs"));
}

TEST_CASE_FIXTURE(WithClients, "full_return of a compound call has the return code of each function") {
  clients.master().minions = {"a"};
  clients.on_minion([](const std::string& minion, What) {
    master::Return ret = returned(minion, "{}", 2);
    ret.retcodes = Json::trusted(R"({"test.ping": 0, "cmd.run": 2})");
    return ret;
  });
  CHECK(clients.text(std::string(kPing) + R"(, "full_return": true)") ==
        R"({"a": {"ret": {}, "retcode": {"test.ping": 0, "cmd.run": 2}, "jid": ")" + fake_jid(1) + "\"}}");
}

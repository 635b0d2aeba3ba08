// SPDX-License-Identifier: MIT
#include <atomic>
#include <functional>

#include <doctest/doctest.h>

#include "client/local.h"
#include "clients.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;
using client::window_size;
using std::chrono::milliseconds;
using What = FakeMaster::What;
using master::Publication;
using Started = std::vector<std::string>;

namespace {

std::string batch(const std::string& keys) {
  return R"("client": "local_batch", "tgt": "*", "fun": "test.ping", )" + keys;
}

}  // namespace

TEST_CASE("a batch size is a number of minions, or a percentage rounded down to at least one minion") {
  const auto percent = [](double amount, std::size_t minions) {
    return window_size({amount, true}, minions);
  };
  CHECK(percent(50, 3) == 1);
  CHECK(percent(67, 3) == 2);
  CHECK(percent(10, 3) == 1);
  CHECK(percent(100, 3) == 3);
  CHECK(percent(1000, 3) == 3);
  CHECK(percent(1e300, 3) == 3);
  CHECK(percent(10, 0) == 1);
  CHECK(window_size({2, false}, 3) == 2);
  CHECK(window_size({1e9, false}, 3) == 3);
}

TEST_CASE("salt#40477: a batch returns an item for each return, and runs on a limited number of minions") {
  const Clients clients;
  const auto reply = clients.run(batch(R"("batch": "1")"));
  REQUIRE(reply);
  REQUIRE(reply->items.size() == 3);
  CHECK(reply->items[0].text() == R"({"ms-0": true})");
  CHECK(reply->items[2].text() == R"({"ms-2": true})");
  CHECK(clients.master().started() == Started{"ping ms-0,ms-1,ms-2", "call ms-0", "call ms-1", "call ms-2"});
  CHECK(reply->jid == fake_jid(2) + "," + fake_jid(3) + "," + fake_jid(4));
}

TEST_CASE_FIXTURE(WithClients, "a batch continues after returns that come with the job") {
  clients.master().minions = {"a", "b", "c", "d", "e"};
  clients.master().at_once = {"1", "2"};
  CHECK(clients.text(batch(R"("batch": 2)")) == R"({"a": 1}
{"b": 2}
{"c": 1}
{"d": 1}
{"e": 1})");
  CHECK(clients.master().started() == Started{"ping a,b,c,d,e", "call a,b", "call c", "call d", "call e"});
}

TEST_CASE_FIXTURE(WithClients, "the next minion starts when one has returned") {
  FakeMaster& master = clients.master();
  master.minions = {"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"};
  std::atomic<int> at_work = 0;
  std::atomic<int> most = 0;
  std::function<void()> slow;
  master.on_minion = [&](const std::string& minion, const Publication& publication, const std::string&,
                         auto returns) {
    if (publication.what != What::call) return returns->put(returned(minion));
    most = std::max(most.load(), ++at_work);
    const auto give = [&at_work, returns, minion] {
      --at_work;
      returns->put(returned(minion));
    };
    if (minion == "m0") return void(slow = give);
    master.later(milliseconds(5), [&slow, give, minion] {
      give();
      if (minion == "m7") slow();
    });
  };
  const auto reply = clients.run(batch(R"("batch": 2, "timeout": 60)"));
  REQUIRE(reply);
  CHECK(reply->items.size() == 8);
  CHECK(reply->items.front().text() == R"({"m1": true})");
  CHECK(reply->items.back().text() == R"({"m0": true})");
  CHECK(most == 2);
}

TEST_CASE_FIXTURE(WithClients, "a minion that does not answer the ping is left out") {
  clients.master().silent = {"ms-1"};
  CHECK(clients.text(batch(R"("batch": 2)")) == "{\"ms-0\": true}\n{\"ms-2\": true}");
}

TEST_CASE_FIXTURE(WithClients, "with failhard no minion starts after a failure") {
  FakeMaster& master = clients.master();
  master.minions = {"a", "b", "c", "d"};
  master.on_minion = [&](const std::string& minion, const Publication& publication, const std::string&,
                         auto returns) {
    if (publication.what == What::call && minion == "b") {
      master.later(milliseconds(10), [=] { returns->put(returned(minion)); });
    } else {
      returns->put(returned(minion, "false", publication.what == What::call ? 1 : 0));
    }
  };
  CHECK(clients.text(batch(R"("batch": 2, "failhard": true, "timeout": 60)")) ==
        "{\"a\": false}\n{\"b\": true}");
  CHECK(master.started() == Started{"ping a,b,c,d", "call a,b"});
}

TEST_CASE_FIXTURE(WithClients, "batch_wait delays the next minion after a return") {
  const SteadyTime start = system_clock().steady();
  CHECK(clients.run(batch(R"("batch": 1, "batch_wait": 0.04)")));
  const auto took = system_clock().steady() - start;
  CHECK(took >= milliseconds(80));
  CHECK(clients.master().started().size() == 4);
}

TEST_CASE_FIXTURE(WithClients, "raw items are whole events") {
  clients.master().minions = {"m"};
  const std::string jid = fake_jid(2);
  CHECK(clients.text(batch(R"("batch": 1, "raw": true, "arg": [1], "kwarg": {"a": 2})")) ==
        R"({"data": {"cmd": "_return", "id": "m", "success": true, "return": true, "retcode": 0, "jid": ")" +
            jid +
            R"(", "fun": "test.ping", "fun_args": [1, {"a": 2}], "user": "saltdev"}, "tag": "salt/job/)" +
            jid + R"(/ret/m"})");
}

TEST_CASE("a minion that is silent or disappears after the ping has an empty item, which is a failure") {
  const Clients clients;
  SUBCASE("silent") {
    clients.on_minion([](const std::string& minion, What what) {
      return minion != "ms-1" || what == What::ping ? std::optional(returned(minion)) : std::nullopt;
    });
  }
  SUBCASE("gone") {
    clients.master().gone = {"ms-1"};
  }
  CHECK(clients.text(batch(R"("batch": 1)")) == "{\"ms-0\": true}\n{\"ms-1\": {}}\n{\"ms-2\": true}");
  CHECK(clients.text(batch(R"("batch": 1, "failhard": true)")) == "{\"ms-0\": true}\n{\"ms-1\": {}}");
}

TEST_CASE("a batch that exceeds its time keeps its returns and names its jobs") {
  const Clients clients([](client::Options& options) { options.request_timeout = milliseconds(250); });
  clients.master().minions = {"a", "b"};
  clients.on_minion([](const std::string& minion, What what) {
    return minion == "a" || what == What::ping ? std::optional(returned(minion)) : std::nullopt;
  });
  const auto reply = clients.partial(batch(R"("batch": 1, "timeout": 3600)"));
  CHECK(reply.failure->kind == ErrorKind::timeout);
  CHECK(reply.failure->message ==
        "Job '" + fake_jid(3) + "' did not finish within 0.25 seconds (request_timeout)");
  CHECK(reply.failure->jid == fake_jid(2) + "," + fake_jid(3));
  CHECK(reply.items[0].text().starts_with("{\"a\": "));
}

TEST_CASE("minions of a syndic, which the master reports as missing, are waited for") {
  const Clients clients([](client::Options& options) { options.syndic_wait = milliseconds(30); });
  FakeMaster& master = clients.master();
  master.minions = {"above", "below-0", "below-1"};
  master.below_syndic = {"below-0", "below-1"};
  CHECK(clients.text(batch(R"("batch": 1, "timeout": 60)")) ==
        "{\"above\": true}\n{\"below-0\": true}\n{\"below-1\": true}");
  CHECK(master.started() ==
        Started{"ping above,below-0,below-1", "call above", "call below-0", "call below-1"});
}

TEST_CASE("a batch ends at the size limit, and keeps the returns that fit") {
  const Clients clients([](client::Options& options) { options.max_reply_bytes = 1000; });
  clients.on_minion([](const std::string& minion, What what) {
    return returned(minion, what == What::call ? '"' + std::string(600, 'x') + '"' : "true");
  });
  const auto reply = clients.partial(batch(R"("batch": 1, "timeout": 60)"));
  CHECK(reply.failure->kind == ErrorKind::reply_too_large);
  CHECK(reply.failure->jid == fake_jid(2) + "," + fake_jid(3));
}

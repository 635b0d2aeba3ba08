// SPDX-License-Identifier: MIT
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "caches.h"
#include "heard.h"
#include "returner/etcd/watch.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;
using Lines = Heard::Lines;

const std::string kLoad = R"({"fun": "test.ping", "user": "fred", "tgt": "*"})";
const std::string kNewJob = "job " + kJid + " \"test.ping\" fred";
const std::string kReturned = "ret " + kJid + " \"test.ping\" fred m1 true";

struct ByHand {
  EtcdOptions options = [] {
    EtcdOptions v3;
    v3.require_v2 = false;
    return v3;
  }();
  EtcdLayout layout{options};
  Heard heard;
  SteadyTime now{std::chrono::hours(1)};
  std::map<std::string, std::string> stored{};
  std::optional<Error> look_up_error{};
  WatchedJobs jobs{options, heard, [this](const std::string& key, std::int64_t) {
                     if (look_up_error) return Result<std::optional<std::string>>(*look_up_error);
                     const auto found = stored.find(key);
                     return found == stored.end() ? Result<std::optional<std::string>>(std::nullopt)
                                                  : std::optional(found->second);
                   }};

  [[nodiscard]] EtcdChange load(bool is_new = true) const {
    return {layout.load(kJid), layout.encoded(kLoad), is_new, false, 5};
  }
  [[nodiscard]] EtcdChange field(const std::string& name, const std::string& text, bool same = false) const {
    return {layout.field(kJid, "m1", name), layout.encoded(text), !same, same, 5};
  }
  void take(const std::vector<EtcdChange>& changes) { jobs.take(changes, now); }
  void pass(milliseconds time) { jobs.settle(now += time); }
  Lines told() {
    Lines lines = heard.lines(0);
    heard.clear();
    return lines;
  }
};

}  // namespace

TEST_CASE("a job and a return of one transaction are passed on at once") {
  ByHand etcd;
  etcd.take({etcd.load()});
  CHECK(etcd.told() == Lines{kNewJob});
  etcd.take({{etcd.layout.minion("m1"), kJid, true, false, 5},
             etcd.field("return", "true"),
             etcd.field("retcode", "3"),
             etcd.field("success", "false")});
  CHECK(etcd.told() == Lines{kReturned + " failed 3"});
}

TEST_CASE("an unchanged return is passed on once, and a changed one again") {
  ByHand etcd;
  etcd.take({etcd.load()});
  etcd.take({etcd.field("return", "true"), etcd.field("retcode", "0")});
  etcd.take({etcd.field("return", "true", true), etcd.field("retcode", "0", true)});
  etcd.pass(milliseconds(20000));
  CHECK(etcd.told() == Lines{kNewJob, kReturned});
  etcd.take({etcd.field("return", "true", true), etcd.field("_stamp", "\"2026\"")});
  CHECK(etcd.told() == Lines{kReturned});
}

TEST_CASE("a return that is written key by key is passed on when it is complete") {
  ByHand etcd;
  etcd.take({etcd.load()});
  for (const char* name : {"cmd", "id", "success", "return", "retcode", "jid", "fun", "fun_args"}) {
    etcd.take({etcd.field(name, "true")});
  }
  CHECK(etcd.told() == Lines{kNewJob});
  etcd.take({etcd.field("_stamp", "\"2026\"")});
  CHECK(etcd.told() == Lines{kReturned});
}

TEST_CASE("incomplete fields with a return are passed on after a second") {
  ByHand etcd;
  etcd.take({etcd.load()});
  etcd.take({etcd.field("return", "true")});
  etcd.take({{etcd.layout.field(kJid, "m2", "out"), "\"x\"", true, false, 6}});
  etcd.pass(milliseconds(900));
  CHECK(etcd.told() == Lines{kNewJob});
  etcd.pass(milliseconds(200));
  CHECK(etcd.told() == Lines{kReturned});
  etcd.pass(milliseconds(20000));
  CHECK(etcd.told().empty());
}

TEST_CASE("a return waits for its load for a limited time") {
  ByHand etcd;
  etcd.take({etcd.field("return", "true"), etcd.field("fun", "\"test.echo\"")});
  etcd.pass(milliseconds(9000));
  CHECK(etcd.told().empty());
  etcd.take({etcd.load()});
  CHECK(etcd.told() == Lines{kNewJob, kReturned});

  ByHand without;
  without.take({without.field("return", "true"), without.field("fun", "\"test.echo\"")});
  without.pass(milliseconds(10000));
  CHECK(without.told() == Lines{"ret " + kJid + " \"test.echo\"  m1 true"});
}

TEST_CASE("the load of an earlier job is looked up") {
  ByHand etcd;
  etcd.stored[etcd.layout.load(kJid)] = etcd.layout.encoded(kLoad);
  etcd.take({etcd.field("return", "true"), etcd.field("retcode", "0")});
  CHECK(etcd.told() == Lines{kReturned});
}

TEST_CASE("a load that cannot be looked up is a loss, unless a later look-up succeeds") {
  ByHand etcd;
  etcd.look_up_error = Error{ErrorKind::timeout, "no answer"};
  const auto returns = [&] {
    for (const char* minion : {"m1", "m2"}) {
      etcd.take({{etcd.layout.field(kJid, minion, "return"), "1", true, false, 6},
                 {etcd.layout.field(kJid, minion, "retcode"), "0", true, false, 6}});
    }
    etcd.pass(milliseconds(9000));
    CHECK(etcd.told().empty());
  };
  const auto count = [&](const std::string& beginning) { return etcd.heard.count(beginning); };
  returns();
  etcd.pass(milliseconds(1000));
  CHECK(count("ret " + kJid + " \"unknown-function\"") == 2);
  CHECK(count("lost the load of job " + kJid + " cannot be read: no answer") == 1);
  CHECK(etcd.told().size() == 3);
  returns();
  etcd.look_up_error.reset();
  etcd.stored[etcd.layout.load(kJid)] = etcd.layout.encoded(kLoad);
  etcd.pass(milliseconds(1000));
  CHECK(count("ret " + kJid + " \"test.ping\" fred") == 2);
  CHECK(etcd.told().size() == 2);
}

TEST_CASE("changes of other keys are ignored") {
  ByHand etcd;
  etcd.take({{etcd.layout.claim(kJid), "x", true, false, 5},
             {etcd.layout.jobs() + "no-jid/.load.p", etcd.layout.encoded(kLoad), true, false, 5},
             {etcd.layout.jobs() + kJid, "x", true, false, 5},
             {etcd.layout.job(kJid) + "m1/a/b", "x", true, false, 5},
             {etcd.layout.load(kJid), "no JSON", true, false, 5}});
  etcd.pass(milliseconds(20000));
  CHECK(etcd.told().empty());
}

TEST_CASE("the number of remembered loads is bounded") {
  ByHand etcd;
  const std::string large = R"({"fun": "test.ping", "user": "fred", "arg": [")" + std::string(1 << 20, 'x');
  for (int i = 10; i < 20; ++i) {
    const std::string jid = "202611202315001234" + std::to_string(i);
    etcd.take({{etcd.layout.load(jid), etcd.layout.encoded(large + "\"]}"), true, false, 5}});
  }
  const auto ret = [&](const std::string& jid) {
    etcd.take({{etcd.layout.field(jid, "m1", "return"), "1", true, false, 6},
               {etcd.layout.field(jid, "m1", "retcode"), "0", true, false, 6}});
    return etcd.heard.count("ret " + jid);
  };
  CHECK(ret("20261120231500123419") == 1);
  CHECK(ret("20261120231500123410") == 0);
}

}  // namespace rest_fcgi::returner

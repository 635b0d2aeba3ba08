// SPDX-License-Identifier: MIT
#include "master/salt/job_listener.h"

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "calls/reply_fixture.h"

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using test::packed;

namespace {

constexpr std::string_view kJid = "20261121000000000001";
const OwnCall kOwnPing{{"test.ping"}, "fred"};

Topic returned_by(std::string_view minion) {
  return {Topic::Kind::job_return, kJid, minion};
}

std::string event(const std::string& minion, const std::string& value) {
  return packed(R"({"cmd": "_return", "jid": "20261121000000000001", "id": ")" + minion + R"(", "return": )" +
                value + "}");
}

std::optional<master::Delivery> next(master::Returns& returns) {
  return returns.take(std::chrono::steady_clock::now());
}

std::string value_of(const std::optional<master::Delivery>& delivery) {
  if (!delivery) return "nothing";
  const auto* ret = std::get_if<master::Return>(&*delivery);
  return ret == nullptr ? "no return" : ret->ret.text();
}

}  // namespace

TEST_CASE("returns of the minions that a job expects are handed on, the first of each") {
  const auto returns = std::make_shared<master::Returns>();
  JobListener listener(returns, {"a", "b"}, kOwnPing, {});
  listener.hear(returned_by("a"), event("a", "1"));
  listener.hear(returned_by("a"), event("a", "2"));
  CHECK(value_of(next(*returns)) == "1");
  CHECK(value_of(next(*returns)) == "nothing");
  listener.hear(returned_by("b"), event("b", "4"));
  CHECK(value_of(next(*returns)) == "4");
}

TEST_CASE("a stranger's return, a forged one and one of another kind go nowhere") {
  const auto returns = std::make_shared<master::Returns>();
  JobListener listener(returns, {"a"}, kOwnPing, {});
  listener.hear(returned_by("stranger"), event("stranger", "1"));
  listener.hear(returned_by("a"), event("b", "1"));
  listener.hear({Topic::Kind::runner_return, kJid, ""}, event("a", "1"));
  listener.hear({Topic::Kind::syndic, kJid, "s"}, packed(R"({"minions": ["x"]})"));
  CHECK(value_of(next(*returns)) == "nothing");
}

TEST_CASE("a return of somebody else's job with the same id goes nowhere, and the minion's own is heard") {
  const auto returns = std::make_shared<master::Returns>();
  JobListener listener(returns, {"a"}, kOwnPing, {});
  const auto foreign = [](const std::string& members) {
    return packed(R"({"cmd": "_return", "jid": "20261121000000000001", "id": "a", "return": 1, )" + members +
                  "}");
  };
  for (const char* members :
       {R"("fun": "cmd.run", "user": "fred")", R"("fun": "test.ping", "user": "ann")"}) {
    listener.hear(returned_by("a"), foreign(members));
    CHECK(value_of(next(*returns)) == "nothing");
  }
  listener.hear(returned_by("a"), foreign(R"("fun": "test.ping", "user": "fred")"));
  CHECK(value_of(next(*returns)) == "1");
}

TEST_CASE("a listener is wanted as long as somebody holds the mailbox") {
  auto returns = std::make_shared<master::Returns>();
  JobListener listener(returns, {"a"}, kOwnPing, {});
  CHECK(listener.wanted());
  returns.reset();
  CHECK_FALSE(listener.wanted());
  listener.hear(returned_by("a"), event("a", "1"));
  listener.lost({ErrorKind::unavailable, "gone"});

  auto runner = std::make_shared<master::RunnerReturns>();
  RunnerListener other(runner, false);
  CHECK(other.wanted());
  runner.reset();
  CHECK_FALSE(other.wanted());
  other.hear({Topic::Kind::runner_return, kJid, ""}, packed("{}"));
  other.lost({ErrorKind::unavailable, "gone"});
}

TEST_CASE("a list of the function's names becomes whether the minion has it") {
  const auto returns = std::make_shared<master::Returns>();
  JobListener::Options options;
  options.has_function = true;
  for (const auto& [names, has] :
       {std::pair(R"(["test.ping"])", "true"), {"[]", "false"}, {"\"no\"", "false"}}) {
    JobListener listener(returns, {"a"}, kOwnPing, options);
    listener.hear(returned_by("a"), event("a", names));
    CHECK(value_of(next(*returns)) == has);
  }
}

TEST_CASE("with syndics their minions are expected, and one that was not named yet is believed") {
  const auto returns = std::make_shared<master::Returns>();
  JobListener::Options options;
  options.syndics = true;
  JobListener listener(returns, {}, kOwnPing, options);
  listener.hear({Topic::Kind::syndic, kJid, "s"}, packed(R"({"minions": ["x", "y"]})"));
  const auto more = next(*returns);
  REQUIRE(more.has_value());
  REQUIRE(std::holds_alternative<master::MoreMinions>(*more));
  CHECK(std::get<master::MoreMinions>(*more).minions == std::vector<std::string>{"x", "y"});
  CHECK(std::get<master::MoreMinions>(*more).syndics == std::vector<std::string>{"s"});
  listener.hear({Topic::Kind::syndic, kJid, "s/syndic/t"}, packed(R"({"minions": ["x"]})"));
  const auto below = next(*returns);
  REQUIRE(below.has_value());
  CHECK(std::get<master::MoreMinions>(*below).syndics == std::vector<std::string>{"s", "t"});
  listener.hear({Topic::Kind::syndic, kJid, "s"}, packed(R"({"minions": []})"));
  CHECK(value_of(next(*returns)) == "nothing");
  listener.hear(returned_by("z"), event("z", "1"));
  CHECK(value_of(next(*returns)) == "1");
  listener.hear(returned_by("w"), packed(R"({"jid": "20261121000000000001", "id": "w", "return": 2})"));
  CHECK(value_of(next(*returns)) == "2");
  for (const char* again : {"z", "w", "x"}) listener.hear(returned_by(again), event(again, "3"));
  CHECK(value_of(next(*returns)) == "3");
  CHECK(value_of(next(*returns)) == "nothing");
}

TEST_CASE("a lost bus reaches who waits, for a job and for a runner") {
  const auto returns = std::make_shared<master::Returns>();
  JobListener(returns, {"a"}, kOwnPing, {}).lost({ErrorKind::unavailable, "gone"});
  const auto lost = next(*returns);
  REQUIRE(lost.has_value());
  REQUIRE(std::holds_alternative<Error>(*lost));
  CHECK(std::get<Error>(*lost).message == "gone");

  const auto runner = std::make_shared<master::RunnerReturns>();
  RunnerListener(runner, false).lost({ErrorKind::unavailable, "gone"});
  const auto runner_lost = runner->take(std::chrono::steady_clock::now());
  REQUIRE(runner_lost.has_value());
  CHECK_FALSE(*runner_lost);
}

TEST_CASE("a runner's return is handed on, a forged one is not") {
  const auto returns = std::make_shared<master::RunnerReturns>();
  RunnerListener listener(returns, false);
  const Topic topic{Topic::Kind::runner_return, kJid, ""};
  listener.hear(topic, packed(R"({"cmd": "_minion_event", "jid": "20261121000000000001", "return": 1})"));
  listener.hear(returned_by("a"), event("a", "1"));
  CHECK_FALSE(returns->take(std::chrono::steady_clock::now()).has_value());
  listener.hear(topic, packed(R"({"jid": "20261121000000000001", "return": [2]})"));
  const auto ret = returns->take(std::chrono::steady_clock::now());
  REQUIRE(ret.has_value());
  REQUIRE(*ret);
  CHECK((**ret).ret.text() == "[2]");
}

TEST_CASE("a runner is seen to begin by its first event, and to have ended by its return or a loss") {
  using Seen = RunnerListener::Seen;
  const auto returns = std::make_shared<master::RunnerReturns>();
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const std::string ret = packed(R"({"jid": "20261121000000000001", "return": 1})");
  RunnerListener begun(returns, false);
  begun.hear({Topic::Kind::runner_return, "1", ""}, ret);
  CHECK(begun.wait_until(now()) == Seen::nothing);
  begun.hear({Topic::Kind::runner_new, kJid, ""}, ret);
  begun.hear({Topic::Kind::runner_return, kJid, ""}, ret);
  CHECK(begun.wait_until(now()) == Seen::begun);
  RunnerListener ended(returns, false);
  ended.hear({Topic::Kind::runner_return, kJid, ""}, ret);
  CHECK(ended.wait_until(now()) == Seen::ended);
  RunnerListener lost(returns, false);
  lost.lost({ErrorKind::unavailable, "gone"});
  CHECK(lost.wait_until(now()) == Seen::ended);
}

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using test::packed;

namespace {

const Topic kTopic{Topic::Kind::job_return, "20261121000000000001", "ms-0"};

/// A minion's event with these members besides those that every return has.
std::string event(const std::string& members) {
  return packed(R"({"cmd": "_return", "id": "ms-0", "jid": "20261121000000000001")" + members + "}");
}

}  // namespace

TEST_CASE("a return has the minion's value, retcode, success and outputter") {
  const auto ret = read_return(
      kTopic, event(R"(, "return": {"b": [1, "ü"]}, "retcode": 3, "success": false, "out": "nested")"), {});
  REQUIRE(ret.has_value());
  CHECK(ret->minion == "ms-0");
  CHECK(ret->ret.text() == R"({"b": [1, "ü"]})");
  CHECK(ret->retcode == 3);
  CHECK_FALSE(ret->success);
  CHECK(ret->out == "nested");
  CHECK_FALSE(ret->retcodes.has_value());
  CHECK_FALSE(ret->event.has_value());
}

TEST_CASE("a return without retcode and success is a good one") {
  const auto ret = read_return(kTopic, event(R"(, "return": null)"), {});
  REQUIRE(ret.has_value());
  CHECK(ret->retcode == 0);
  CHECK(ret->success);
  CHECK(ret->ret == Json());
}

TEST_CASE("a compound return has each function's retcode, and the worst as its own") {
  const auto ret = read_return(
      kTopic,
      event(R"(, "return": {}, "retcode": {"a.b": 0, "c.d": 7}, "success": {"a.b": true, "c.d": false})"),
      {});
  REQUIRE(ret.has_value());
  CHECK(ret->retcode == 7);
  CHECK_FALSE(ret->success);
  REQUIRE(ret->retcodes.has_value());
  CHECK(ret->retcodes->text() == R"({"a.b": 0, "c.d": 7})");
}

TEST_CASE("a call for whole events has them as they came") {
  const auto ret = read_return(kTopic, event(R"(, "return": true, "_stamp": "x")"), {.whole = true});
  REQUIRE(ret.has_value());
  REQUIRE(ret->event.has_value());
  CHECK(ret->event->text() ==
        R"({"cmd": "_return", "id": "ms-0", "jid": "20261121000000000001", "return": true, "_stamp": "x"})");
}

TEST_CASE("an event that is no return proper of that minion and job is none") {
  // A minion may fire any tag; the master then writes another `cmd`, and the minion's true `id`.
  for (const char* json :
       {R"({"cmd": "_minion_event", "id": "ms-0", "jid": "20261121000000000001", "return": 1})",
        R"({"cmd": "_return", "id": "ms-1", "jid": "20261121000000000001", "return": 1})",
        R"({"cmd": "_return", "id": "ms-0", "jid": "20261121000000000002", "return": 1})",
        R"({"cmd": "_return", "id": "ms-0", "jid": "20261121000000000001"})",
        R"({"id": "ms-0", "jid": "20261121000000000001", "return": 1})", "{}", "[]", "1"}) {
    CAPTURE(json);
    CHECK_FALSE(read_return(kTopic, packed(json), {}).has_value());
  }
  CHECK_FALSE(read_return(kTopic, "", {}).has_value());
  CHECK_FALSE(read_return(kTopic, "\x81", {}).has_value());
}

TEST_CASE("a value that cannot be shown is a failed return that says so") {
  std::string data = event(R"(, "retcode": 0)");
  data[0] = static_cast<char>(data[0] + 1);           // one member more:
  data += std::string("\xA6return\xD4\x4F\xC0", 10);  // a named constant that is none
  const auto ret = read_return(kTopic, data, {.whole = true});
  REQUIRE(ret.has_value());
  CHECK(ret->ret.text().starts_with("\"The return cannot be shown as JSON: "));
  CHECK(ret->retcode == 1);
  CHECK_FALSE(ret->success);
  CHECK_FALSE(ret->event.has_value());
}

TEST_CASE("a return through a syndic has no `cmd`, and is believed where there are syndics only") {
  const std::string data =
      packed(R"({"jid": "20261121000000000001", "id": "ms-0", "return": 1, "retcode": 0, "success": true})");
  CHECK_FALSE(read_return(kTopic, data, {}).has_value());
  const auto ret = read_return(kTopic, data, {.below_syndic = true});
  REQUIRE(ret.has_value());
  CHECK(ret->ret.text() == "1");
  const std::string forged =
      packed(R"({"cmd": "_minion_event", "id": "ms-0", "jid": "20261121000000000001", "return": 1})");
  CHECK_FALSE(read_return(kTopic, forged, {.below_syndic = true}).has_value());
}

TEST_CASE("a runner's return is the master's own event of that job") {
  const Topic topic{Topic::Kind::runner_return, "20261121000000000001", ""};
  const std::string data = packed(
      R"({"fun": "runner.test.arg", "jid": "20261121000000000001", "return": {"args": []}, "success": true})");
  const auto ret = read_runner_return(topic, data, true);
  REQUIRE(ret.has_value());
  CHECK(ret->ret.text() == R"({"args": []})");
  CHECK(ret->data.text().find(R"("success": true)") != std::string::npos);
  CHECK(read_runner_return(topic, data, false)->data == Json());
  CHECK_FALSE(read_runner_return({topic.kind, "20261121000000000002", ""}, data, false).has_value());
  CHECK_FALSE(
      read_runner_return(
          topic, packed(R"({"cmd": "_minion_event", "jid": "20261121000000000001", "return": 1})"), false)
          .has_value());
  CHECK_FALSE(read_runner_return(topic, "\xC1", false).has_value());
}

TEST_CASE("a syndic's event names minions; anything else names none") {
  CHECK(read_syndic(packed(R"({"minions": ["a", "b.c"]})")) == std::vector<std::string>{"a", "b.c"});
  CHECK(read_syndic(packed(R"({"minions": ["a"], "cmd": "_minion_event"})")).empty());
  CHECK(read_syndic(packed(R"({"minions": [1]})")).empty());
  CHECK(read_syndic(packed(R"({"minions": 1})")).empty());
  CHECK(read_syndic(packed("{}")).empty());
  CHECK(read_syndic("x").empty());
}

TEST_CASE("a return that names what was published, or does not say it, is one of that job") {
  const OwnCall one{{"a.b"}, "fred"};
  const OwnCall two{{"a.b", "c.d"}, "fred"};
  const auto is_of = [](const std::string& members, const OwnCall& own) {
    return read_return(kTopic, event(members + R"(, "return": 1)"), {.own = &own}).has_value();
  };
  CHECK(is_of("", one));
  CHECK(is_of(R"(, "fun": "a.b", "user": "fred")", one));
  CHECK(is_of(R"(, "fun": ["a.b"])", one));
  CHECK(is_of(R"(, "fun": ["a.b", "c.d"])", two));
  CHECK(is_of(R"(, "user": null)", one));
  CHECK_FALSE(is_of(R"(, "user": "ann")", one));
  CHECK_FALSE(is_of(R"(, "fun": "c.d")", one));
  CHECK_FALSE(is_of(R"(, "fun": "a.b")", two));
  CHECK_FALSE(is_of(R"(, "fun": ["a.b"])", two));
  CHECK_FALSE(is_of(R"(, "fun": ["c.d", "a.b"])", two));
  CHECK_FALSE(is_of(R"(, "fun": ["a.b", 1])", two));
  CHECK_FALSE(is_of(R"(, "fun": 1)", one));
}

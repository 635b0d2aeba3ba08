// SPDX-License-Identifier: MIT
#include "master/salt/job_listener.h"

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "calls/fixtures.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using test::packed;

namespace {

constexpr std::string_view kJid = "20261121000000000001";
const PublishedCall kOwnPing{{"test.ping"}, "fred"};
const Topic kTopic{Topic::Kind::job_return, kJid, "ms-0"};
const Error kGone{ErrorKind::unavailable, "gone"};

Topic returned_by(std::string_view minion) {
  return {Topic::Kind::job_return, kJid, minion};
}

std::string event(const std::string& minion, const std::string& value) {
  return packed(
      format(R"({{"cmd": "_return", "jid": "{}", "id": "{}", "return": {}}})", kJid, minion, value));
}

/// Returns the data of a return of `ms-0`. `members` are additional members as JSON.
std::string event(const std::string& members) {
  return packed(format(R"({{"cmd": "_return", "id": "ms-0", "jid": "{}"{}}})", kJid, members));
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

TEST_CASE("the first return of each expected minion is passed on, unexpected and forged ones are ignored") {
  const auto returns = std::make_shared<master::Returns>();
  JobListener listener(returns, {"a", "b"}, kOwnPing, {});
  listener.on_event(returned_by("stranger"), event("stranger", "1"));
  listener.on_event(returned_by("a"), event("b", "1"));
  listener.on_event({Topic::Kind::runner_return, kJid, ""}, event("a", "1"));
  listener.on_event({Topic::Kind::syndic, kJid, "s"}, packed(R"({"minions": ["x"]})"));
  CHECK(value_of(next(*returns)) == "nothing");
  listener.on_event(returned_by("a"), event("a", "1"));
  listener.on_event(returned_by("a"), event("a", "2"));
  CHECK(value_of(next(*returns)) == "1");
  CHECK(value_of(next(*returns)) == "nothing");
  listener.on_event(returned_by("b"), event("b", "4"));
  CHECK(value_of(next(*returns)) == "4");
}

TEST_CASE("a listener is needed while the mailbox exists") {
  auto returns = std::make_shared<master::Returns>();
  JobListener listener(returns, {"a"}, kOwnPing, {});
  CHECK(listener.is_needed());
  returns.reset();
  CHECK_FALSE(listener.is_needed());
  listener.on_event(returned_by("a"), event("a", "1"));
  listener.on_loss(kGone);
}

TEST_CASE("has_function becomes whether the minion has the function") {
  const auto returns = std::make_shared<master::Returns>();
  JobListener::Options options;
  options.has_function = true;
  for (const auto& [names, has] :
       {std::pair(R"(["test.ping"])", "true"), {"[]", "false"}, {"\"no\"", "false"}}) {
    JobListener listener(returns, {"a"}, kOwnPing, options);
    listener.on_event(returned_by("a"), event("a", names));
    CHECK(value_of(next(*returns)) == has);
  }
}

TEST_CASE("with syndics returns of unnamed minions are accepted") {
  const auto returns = std::make_shared<master::Returns>();
  JobListener::Options options;
  options.syndics = true;
  JobListener listener(returns, {}, kOwnPing, options);
  listener.on_event({Topic::Kind::syndic, kJid, "s"}, packed(R"({"minions": ["x", "y"]})"));
  const auto more = next(*returns);
  REQUIRE(more.has_value());
  REQUIRE(std::holds_alternative<master::MoreMinions>(*more));
  CHECK(std::get<master::MoreMinions>(*more).minions == std::vector<std::string>{"x", "y"});
  CHECK(std::get<master::MoreMinions>(*more).syndics == std::vector<std::string>{"s"});
  listener.on_event({Topic::Kind::syndic, kJid, "s/syndic/t"}, packed(R"({"minions": ["x"]})"));
  const auto below = next(*returns);
  REQUIRE(below.has_value());
  CHECK(std::get<master::MoreMinions>(*below).syndics == std::vector<std::string>{"s", "t"});
  listener.on_event({Topic::Kind::syndic, kJid, "s"}, packed(R"({"minions": []})"));
  CHECK(value_of(next(*returns)) == "nothing");
  listener.on_event(returned_by("z"), event("z", "1"));
  CHECK(value_of(next(*returns)) == "1");
  listener.on_event(returned_by("w"), packed(R"({"jid": "20261121000000000001", "id": "w", "return": 2})"));
  CHECK(value_of(next(*returns)) == "2");
  for (const char* again : {"z", "w", "x"}) listener.on_event(returned_by(again), event(again, "3"));
  CHECK(value_of(next(*returns)) == "3");
  CHECK(value_of(next(*returns)) == "nothing");
}

TEST_CASE("a loss of the bus is passed to the mailbox") {
  const auto returns = std::make_shared<master::Returns>();
  JobListener(returns, {"a"}, kOwnPing, {}).on_loss(kGone);
  const auto lost = next(*returns);
  REQUIRE(lost.has_value());
  CHECK(std::get<Error>(*lost).message == "gone");

  const auto runner = std::make_shared<master::RunnerReturns>();
  RunnerListener(runner, false).on_loss(kGone);
  const auto runner_lost = runner->take(std::chrono::steady_clock::now());
  REQUIRE(runner_lost.has_value());
  CHECK_FALSE(*runner_lost);
}

TEST_CASE("read_return reads value, retcode, success and outputter") {
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

TEST_CASE("a compound return has the worst retcode") {
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

TEST_CASE("read_return ignores other events") {
  // A minion can fire an event with the tag of a return. The master then sets `id` to the minion's id, and
  // `cmd` to another value than `_return`.
  for (const char* json :
       {R"({"cmd": "_minion_event", "id": "ms-0", "jid": "20261121000000000001", "return": 1})",
        R"({"cmd": "_return", "id": "ms-1", "jid": "20261121000000000001", "return": 1})",
        R"({"cmd": "_return", "id": "ms-0", "jid": "20261121000000000002", "return": 1})",
        R"({"cmd": "_return", "id": "ms-0", "jid": "20261121000000000001"})",
        R"({"id": "ms-0", "jid": "20261121000000000001", "return": 1})", "{}", "[]", "1"}) {
    CHECK_FALSE_MESSAGE(read_return(kTopic, packed(json), {}).has_value(), json);
  }
  const char* const forged =
      R"({"cmd": "_minion_event", "id": "ms-0", "jid": "20261121000000000001", "return": 1})";
  CHECK_FALSE(read_return(kTopic, packed(forged), {.below_syndic = true}).has_value());
  CHECK_FALSE(read_return(kTopic, "", {}).has_value());
  CHECK_FALSE(read_return(kTopic, "\x81", {}).has_value());
}

TEST_CASE("a return that is not valid JSON is a failed return") {
  std::string data = event(R"(, "retcode": 0)");
  data[0] = static_cast<char>(data[0] + 1);
  // A msgpack extension of type 79 must have a name and a value.
  data += std::string("\xA6return\xD4\x4F\xC0", 10);
  const auto ret = read_return(kTopic, data, {.whole = true});
  REQUIRE(ret.has_value());
  CHECK(ret->ret.text().starts_with("\"The return cannot be shown as JSON: "));
  CHECK(ret->retcode == 1);
  CHECK_FALSE(ret->success);
  CHECK_FALSE(ret->event.has_value());
}

TEST_CASE("a return without `cmd` is accepted only with syndics") {
  const std::string data = packed(R"({"jid": "20261121000000000001", "id": "ms-0", "return": 1})");
  CHECK_FALSE(read_return(kTopic, data, {}).has_value());
  const auto ret = read_return(kTopic, data, {.below_syndic = true});
  REQUIRE(ret.has_value());
  CHECK(ret->ret.text() == "1");
}

TEST_CASE("read_runner_return accepts only events of the master") {
  const Topic topic{Topic::Kind::runner_return, kJid, ""};
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

TEST_CASE("read_syndic returns the named minions") {
  CHECK(read_syndic(packed(R"({"minions": ["a", "b.c"]})")) == std::vector<std::string>{"a", "b.c"});
  for (const char* json :
       {R"({"minions": ["a"], "cmd": "_minion_event"})", R"({"minions": [1]})", R"({"minions": 1})", "{}"}) {
    CHECK(read_syndic(packed(json)).empty());
  }
  CHECK(read_syndic("x").empty());
}

TEST_CASE("a return may repeat or omit the published job") {
  const PublishedCall one{{"a.b"}, "fred"};
  const PublishedCall two{{"a.b", "c.d"}, "fred"};
  const auto is_of = [](const std::string& members, const PublishedCall& own) {
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

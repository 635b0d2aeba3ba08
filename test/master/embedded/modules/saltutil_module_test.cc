// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <string>

#include <doctest/doctest.h>

#include "../../../support/embedded_engine.h"
#include "../../../support/holds.h"

using namespace rest_fcgi;
using test::EmbeddedEngine;

namespace {

constexpr const char* kTerminatedText = "\"Job terminated: it was asked to stop before it ended.\"";

std::string ask(EmbeddedEngine& engine, std::string_view fun, std::string_view arg = "") {
  return engine.call(format(R"("client": "local", "tgt": "ms-0", "fun": "{}", "arg": [{}])", fun, arg));
}

std::string on_first(std::string_view value) {
  return format(R"({{"ms-0": {}}})", value);
}

/// Waits until the job has returned `value` on the minion ms-0.
bool returns(EmbeddedEngine& engine, const std::string& jid, std::string_view value) {
  return test::eventually([&] { return engine.lookup(jid) == on_first(value); });
}

std::string entry(const std::string& jid, const char* tgt) {
  return format(
      R"({{"pid": {}, "fun": "test.sleep", "arg": [600], "tgt": "{}", "jid": "{}", "ret": "", "tgt_type": "glob", )"
      R"("user": "fred"}})",
      ::getpid(), tgt, jid);
}

}  // namespace

TEST_CASE("saltutil.running, find_job and is_running show the jobs on the minion") {
  EmbeddedEngine engine;
  CHECK(ask(engine, "saltutil.running") == on_first("[]"));
  const std::string here = engine.start_sleep("ms-[01]");
  const std::string elsewhere = engine.start_sleep("ms-2");
  const std::string shown = entry(here, "ms-[01]");
  CHECK(ask(engine, "saltutil.running") == on_first("[" + shown + "]"));
  CHECK(ask(engine, "saltutil.find_job", "\"" + here + "\"") == on_first(shown));
  CHECK(ask(engine, "saltutil.find_job", "\"" + elsewhere + "\"") == on_first("{}"));
  CHECK(ask(engine, "saltutil.is_running", "\"test.*\"") == on_first("[" + shown + "]"));
  CHECK(ask(engine, "saltutil.is_running", "\"cmd.*\"") == on_first("[]"));
}

TEST_CASE("a job on a worker is in the table of running jobs without credentials until it ends") {
  const std::shared_ptr<store::Store> store = *store::Store::open({});
  EmbeddedEngine engine({}, {}, store);
  const std::string jid = engine.start_sleep("ms-0");
  const auto row = [&] {
    std::string text;
    REQUIRE(store->read([&](store::Connection& from) {
      const auto take = [&text](const store::Row& found) {
        text = found.text(0);
        return false;
      };
      return from.each("SELECT job FROM running_job WHERE jid = ?", take, jid);
    }));
    return text;
  };
  CHECK(row().find("\"fun\": \"test.sleep\"") != std::string::npos);
  CHECK(row().find("secret") == std::string::npos);
  ask(engine, "saltutil.kill_job", "\"" + jid + "\"");
  CHECK(test::eventually([&] { return row().empty(); }));
}

TEST_CASE("saltutil.running does not list its own job") {
  EmbeddedEngine engine;
  const auto job = engine.publish_async(
      engine.permit(R"("client": "local_async", "tgt": "ms-0", "fun": "saltutil.running")"));
  REQUIRE(job);
  CHECK(returns(engine, job->jid, "[]"));
}

TEST_CASE("saltutil.kill_job ends a job on one minion only") {
  EmbeddedEngine engine;
  const std::string jid = engine.start_sleep("ms-[01]");
  CHECK(ask(engine, "saltutil.kill_job", "\"" + jid + "\"") ==
        on_first(format("\"Signal 9 sent to job {} at pid {}\"", jid, ::getpid())));
  REQUIRE(returns(engine, jid, kTerminatedText));
  const std::string stored = engine.runner(format(R"("fun": "jobs.list_job", "jid": "{}")", jid)).ret.text();
  CHECK(test::holds(stored, R"("retcode": 1, "success": false)"));
  const auto runs_on_second_only = [&] {
    const auto active = engine.runner(R"("fun": "jobs.active")");
    return active.ret.text().find(R"("Running": [{"ms-1": )") != std::string::npos;
  };
  // The engine stores the return of ms-0 before the end of the job, so the test waits until ms-0 no longer
  // runs the job.
  CHECK(test::eventually(runs_on_second_only));
}

TEST_CASE("saltutil.term_job ends a call that waits for a worker") {
  embedded::Options options;
  options.max_workers = 1;
  EmbeddedEngine engine(options);
  const std::string first = engine.start_sleep("ms-0");
  const std::string second = engine.start_sleep("ms-0");
  ask(engine, "saltutil.term_job", "\"" + second + "\"");
  CHECK(engine.lookup(second) == "{}");
  ask(engine, "saltutil.term_job", "\"" + first + "\"");
  CHECK(returns(engine, second, kTerminatedText));
}

TEST_CASE("saltutil.term_all_jobs and kill_all_jobs end all jobs on the minion") {
  EmbeddedEngine engine;
  for (const auto& [fun, number] : {std::pair("saltutil.term_all_jobs", 15), {"saltutil.kill_all_jobs", 9}}) {
    const std::string a = engine.start_sleep("ms-0");
    const std::string b = engine.start_sleep("ms-0");
    CHECK(ask(engine, fun) ==
          on_first(
              format(R"(["Signal {0} sent to job {1} at pid {3}", "Signal {0} sent to job {2} at pid {3}"])",
                     number, a, b, ::getpid())));
    REQUIRE(test::eventually([&] { return ask(engine, "saltutil.running") == on_first("[]"); }));
  }
}

TEST_CASE("saltutil.signal_job returns an empty text if no such job runs, and refuses other signals") {
  EmbeddedEngine engine;
  const auto sent = [&engine](std::string_view signal) {
    return ask(engine, "saltutil.signal_job", format("\"20261120230610043746\", {}", signal));
  };
  for (const char* signal : {"15", "\"2\""}) CHECK(sent(signal) == on_first("\"\""));
  CHECK(test::holds(sent("19"), "signal 19 cannot be sent to a job"));
  CHECK(test::holds(sent("[]"), "int() argument"));
}

TEST_CASE("an unknown returner is refused after authorization, before the function runs") {
  EmbeddedEngine engine;
  const Error refused =
      engine.refusal(R"("client": "local", "tgt": "*", "fun": "test.ping", "ret": "memory,smtp")");
  CHECK(refused.kind == ErrorKind::invocation);
  CHECK(refused.message.find("'smtp'") != std::string::npos);
  CHECK(engine.refusal(R"("client": "local", "tgt": "*", "fun": "test.ping", "ret": "smtp")", "eve").kind ==
        ErrorKind::authorization);
  CHECK(engine.call(R"("client": "local", "tgt": "ms-0", "fun": "test.ping", "ret": "memory")") ==
        on_first("true"));
}

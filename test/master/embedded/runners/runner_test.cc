// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <string>

#include <doctest/doctest.h>

#include "../../../support/holds.h"
#include "rest_fcgi/master/jid.h"
#include "runner_call.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

namespace {

std::string published(EmbeddedEngine& engine, std::string_view members) {
  return engine.publish(format(R"("client": "local", {})", members)).first.jid;
}

std::string ping(EmbeddedEngine& engine, std::string_view more = "") {
  return published(engine, format(R"("tgt": "*", "fun": "test.ping"{})", more));
}

}  // namespace

TEST_CASE("wrong arguments return Python's text with success, as in Salt") {
  EmbeddedEngine engine;
  const struct {
    const char* members;
    const char* complaint;
  } rows[] = {
      {R"("fun": "manage.up", "foo": 1)", "up() got an unexpected keyword argument 'foo'"},
      {R"("fun": "jobs.lookup_jid")", "lookup_jid() missing 1 required positional argument: 'jid'"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.members);
    const master::RunnerReturn returned = engine.runner(row.members);
    const std::string sentence = text_of(returned.ret);
    CAPTURE(sentence);
    CHECK(sentence.starts_with(format("\nPassed invalid arguments: {}\n\nUsage:\n", row.complaint)));
    CHECK(holds(returned.data.text(), "\"success\": true"));
  }
}

TEST_CASE("keys of clients that a runner does not know are left out") {
  EmbeddedEngine engine;
  const std::string keys =
      R"(, "tgt": "ms-0", "tgt_type": "glob", "expr_form": "glob", "outputter": "json", "ret": "x", "metadata": {})"
      R"(, "nodegroup": "n", "match": "*", "saltenv": "base", "ret_options": {}, "ret_config": "a", "mid": "ms-0")"
      R"(, "ret_kwargs": {"a": 1}, "raise_err": true, "delimiter": ":", "batch": 1, "subset": 1, "listen": true)";
  CHECK(ret(engine, R"("fun": "manage.up")" + keys) == R"(["ms-0"])");
  CHECK(ret(engine, R"("fun": "jobs.active", "arg": [])" + keys) == "{}");
  CHECK(ret(engine, R"("fun": "manage.up", "arg": ["ms-1", "outputter=x"], "kwarg": {"ret": "y"})") ==
        R"(["ms-1"])");
  CHECK(ret(engine, R"("fun": "test.arg", "outputter": "json")") ==
        R"({"args": [], "kwargs": {"outputter": "json"}})");
}

TEST_CASE("jobs.list_job shows a job and its returns") {
  EmbeddedEngine engine;
  const std::string jid =
      published(engine, R"("tgt": "ms-0", "fun": "test.echo", "arg": ["hi"], "metadata": {"a": 1})");
  const std::string expected = format(
      R"({{"jid": "{}", "Function": "test.echo", "Arguments": ["hi"], "Target": "ms-0", "Target-type": "glob", )"
      R"("User": "fred", "Metadata": {{"a": 1}}, "Minions": ["ms-0"], "StartTime": "{}", )"
      R"("Result": {{"ms-0": {{"return": "hi", "retcode": 0, "success": true}}}}}})",
      jid, master::jid_start_time(jid));
  CHECK(ret(engine, format(R"("fun": "jobs.list_job", "jid": "{}")", jid)) == expected);
  CHECK(ret(engine, format(R"("fun": "jobs.list_job", "arg": [{}])", jid)) == expected);
}

TEST_CASE("jobs.list_job and jobs.lookup_jid report an unknown job as Salt does") {
  EmbeddedEngine engine;
  CHECK(ret(engine, R"("fun": "jobs.list_job", "jid": "20261120230610043746")") ==
        R"({"jid": "20261120230610043746", "Error": "Cannot contact returner or no job with this jid", )"
        R"("StartTime": "2026, Nov 20 23:06:10.043746", "Result": {}})");
  CHECK(
      ret(engine, R"("fun": "jobs.list_job", "jid": "nojid")") ==
      R"({"jid": "nojid", "Error": "Cannot contact returner or no job with this jid", "StartTime": "", "Result": {}})");
  CHECK(ret(engine, R"("fun": "jobs.lookup_jid", "jid": "20261120230610043746")") == "{}");
}

TEST_CASE("jobs.lookup_jid shows returns, and missing returns on request") {
  EmbeddedEngine engine;
  const std::string jid = ping(engine);
  const std::string all = R"({"ms-0": true, "ms-1": true, "ms-2": true})";
  CHECK(ret(engine, format(R"("fun": "jobs.lookup_jid", "jid": "{}")", jid)) == all);
  CHECK(ret(engine, format(R"("fun": "jobs.lookup_jid", "arg": [{}])", jid)) == all);
  CHECK(ret(engine, format(R"("fun": "jobs.lookup_jid", "arg": ["{}"])", jid)) == all);
  CHECK(ret(engine, format(R"("fun": "jobs.lookup_jid", "jid": "{}", "returned": false)", jid)) == "{}");
  const auto running = engine.publish_async(
      engine.permit(R"("client": "local_async", "tgt": "ms-0", "fun": "test.sleep", "arg": [600])"));
  REQUIRE(running);
  CHECK(ret(engine, format(R"("fun": "jobs.lookup_jid", "jid": "{}", "missing": true)", running->jid)) ==
        R"({"ms-0": "Minion did not return"})");
}

TEST_CASE("jobs.lookup_jid returns the outputter of the first return") {
  EmbeddedEngine engine;
  const std::string jid = published(engine, R"("tgt": "ms-0", "fun": "nosuch.fun")");
  CHECK(ret(engine, format(R"("fun": "jobs.lookup_jid", "jid": "{}")", jid)) ==
        R"({"outputter": "nested", "data": {"ms-0": "'nosuch.fun' is not available."}})");
  CHECK(holds(ret(engine, format(R"("fun": "jobs.list_job", "jid": "{}")", jid)),
              R"("success": false, "out": "nested")"));
}

TEST_CASE("jobs.list_jobs lists all jobs, oldest first") {
  EmbeddedEngine engine;
  const std::string first = ping(engine);
  const std::string second = published(engine, R"("tgt": "ms-0", "fun": "test.echo", "arg": ["x"])");
  const std::string list = ret(engine, R"("fun": "jobs.list_jobs")");
  JsonDocument document;
  REQUIRE(document.parse(list));
  CHECK(document.root().size() == 2);
  CHECK(list.starts_with(format(
      R"({{"{}": {{"Function": "test.ping", "Arguments": [], "Target": "*", "Target-type": "glob", "User": "fred", "StartTime": ")",
      first)));
  CHECK(document.root().find(second)->find("Function")->text() == "test.echo");
  CHECK(ret(engine, R"("fun": "jobs.list_jobs", "outputter": "x")") ==
        format(R"({{"outputter": "x", "data": {}}})", list));
}

TEST_CASE("jobs.list_jobs filters by function, target, metadata and time") {
  EmbeddedEngine engine;
  const std::string jid = ping(engine, R"(, "metadata": {"a": {"b": 1}, "c": 2})");
  const auto listed = [&](const char* members) {
    return holds(ret(engine, format(R"("fun": "jobs.list_jobs", {})", members)), jid);
  };
  CHECK(listed(R"("search_function": "test.*")"));
  CHECK(listed(R"("search_function": "nosuch, test.ping")"));
  CHECK(listed(R"("search_function": ["nosuch", "test.p*"])"));
  CHECK_FALSE(listed(R"("search_function": "sys.*")"));
  CHECK(listed(R"("search_target": "[*]")"));
  CHECK_FALSE(listed(R"("search_target": "ms-0")"));
  CHECK(listed(R"("search_metadata": {"c": 3, "a": {"b": 1}})"));
  CHECK_FALSE(listed(R"("search_metadata": {"c": 3})"));
  CHECK_FALSE(listed(R"("search_metadata": {"d": 2})"));
  CHECK(listed(R"("start_time": "2020-01-01", "end_time": "9999, Dec 31 23:59")"));
  CHECK_FALSE(listed(R"("start_time": "9999-01-01")"));
  CHECK_FALSE(listed(R"("end_time": "2020-01-01")"));
  CHECK_FALSE(listed(R"("search_function": "test.*", "search_target": "ms-0")"));
  CHECK(listed(R"("search_function": null, "search_target": "", "search_metadata": {})"));
}

TEST_CASE("jobs.list_jobs limits number and length of patterns") {
  EmbeddedEngine engine;
  const std::string long_one(4097, 'a');
  CHECK(holds(text(engine, R"("fun": "jobs.list_jobs", "search_target": ")" + long_one + "\""),
              "search_target: expected at most 100 patterns"));
  std::string many = "\"a\"";
  for (int i = 0; i < 100; ++i) many += ", \"a\"";
  CHECK(holds(text(engine, R"("fun": "jobs.list_jobs", "search_function": [)" + many + "]"),
              "search_function: expected at most 100 patterns"));
}

TEST_CASE("jobs.list_jobs matches a function of a compound job and a target of a list") {
  EmbeddedEngine engine;
  const std::string jid = published(
      engine,
      R"("tgt": ["ms-0", "ms-1"], "tgt_type": "list", "fun": ["test.ping", "test.echo"], "arg": [[], ["x"]])");
  CHECK(holds(ret(engine, R"("fun": "jobs.list_jobs", "search_function": "*.echo", "search_target": "ms-1")"),
              jid));
  CHECK(holds(ret(engine, R"("fun": "jobs.list_jobs", "search_function": "test.echo")"), jid));
  CHECK_FALSE(holds(ret(engine, R"("fun": "jobs.list_jobs", "search_metadata": {"a": 1})"), jid));
}

TEST_CASE("a wrong time and an unknown job cache are refused") {
  EmbeddedEngine engine;
  CHECK(holds(text(engine, R"("fun": "jobs.list_jobs", "start_time": "yesterday")"),
              "Exception occurred in runner jobs.list_jobs: start_time: found 'yesterday', expected a jid"));
  CHECK(holds(text(engine, R"("fun": "jobs.list_jobs", "end_time": 5)"), "end_time: found 5"));
  for (const char* members : {R"("fun": "jobs.list_jobs", "ext_source": "etcd")",
                              R"("fun": "jobs.list_job", "jid": "1", "ext_source": "etcd")",
                              R"("fun": "jobs.lookup_jid", "jid": "1", "ext_source": "etcd")"}) {
    CHECK(holds(text(engine, members), "ext_source: found 'etcd'"));
  }
}

TEST_CASE("jobs.active shows where jobs run") {
  EmbeddedEngine engine;
  const auto job = engine.publish_async(
      engine.permit(R"("client": "local_async", "tgt": "ms-[01]", "fun": "test.sleep", "arg": [600])"));
  REQUIRE(job);
  JsonDocument active;
  REQUIRE(active.parse(ret(engine, R"("fun": "jobs.active")")));
  const auto found = active.root().find(job->jid);
  REQUIRE(found.has_value());
  CHECK(found->find("Function")->text() == "test.sleep");
  CHECK(found->find("Running")->json().text() == format(R"([{{"ms-0": {0}}}, {{"ms-1": {0}}}])", ::getpid()));
  CHECK(found->find("Returned")->json().text() == "[]");
}

TEST_CASE("an asynchronous runner returns to the job cache, and is not in jobs.active") {
  EmbeddedEngine engine;
  const auto started = engine.runner_async(engine.permit(R"("client": "runner_async", "fun": "manage.up")"));
  REQUIRE(started);
  CHECK(started->tag == "salt/run/" + started->jid);
  const std::string lookup = format(R"("fun": "jobs.lookup_jid", "jid": "{}")", started->jid);
  REQUIRE(test::eventually([&] { return ret(engine, lookup) != "{}"; }));
  const std::string found = ret(engine, lookup);
  CHECK(holds(found, "_master\": {\"fun\": \"runner.manage.up\", \"jid\": \"" + started->jid));
  CHECK(holds(found, R"("return": ["ms-0", "ms-1", "ms-2"], "success": true)"));

  const auto sleeping =
      engine.runner_async(engine.permit(R"("client": "runner_async", "fun": "test.sleep", "arg": [600])"));
  REQUIRE(sleeping);
  CHECK(ret(engine, R"("fun": "jobs.active")") == "{}");
  CHECK(holds(ret(engine, format(R"("fun": "jobs.list_job", "jid": "{}")", sleeping->jid)),
              R"("Function": "runner.test.sleep", "Arguments": [600])"));
}

TEST_CASE("jobs.list_jobs returns a page: the newest jobs, those before a jid or those after one") {
  EmbeddedEngine engine;
  std::string jids[5];
  for (std::string& jid : jids) jid = ping(engine);
  const auto page = [&](const std::string& members) {
    JsonDocument document;
    REQUIRE(document.parse(ret(engine, format(R"("fun": "jobs.list_jobs", {})", members))));
    std::string found;
    for (const JsonMember job : document.root().members()) {
      for (int i = 0; i < 5; ++i) {
        if (job.key == jids[i]) found += std::to_string(i);
      }
    }
    return found;
  };
  CHECK(page(R"("limit": 2)") == "34");
  CHECK(page(R"("limit": 9)") == "01234");
  CHECK(page(format(R"("limit": 2, "before": "{}")", jids[3])) == "12");
  CHECK(page(format(R"("limit": 2, "after": "{}")", jids[0])) == "12");
  CHECK(page(format(R"("after": "{}", "before": "{}")", jids[0], jids[4])) == "123");
  CHECK(page(format(R"("limit": 1, "after": "{}", "before": {})", jids[0], jids[4])) == "1");
  CHECK(page(format(R"("limit": 1, "start_time": "{}", "end_time": "{}")", jids[1], jids[2])) == "2");
  CHECK(page(R"("limit": "1", "search_function": "test.ping")") == "4");
  for (const char* members : {R"("limit": 0)", R"("limit": "x")", R"("limit": [])"}) {
    CHECK(holds(text(engine, format(R"("fun": "jobs.list_jobs", {})", members)), "limit: found "));
  }
  CHECK(holds(text(engine, R"("fun": "jobs.list_jobs", "after": "x")"), "after: found 'x'"));
  CHECK(holds(text(engine, R"("fun": "jobs.list_jobs", "before": 7)"), "before: found 7"));
}

TEST_CASE("jobs.list_jobs_filter lists the newest jobs without saltutil.find_job") {
  EmbeddedEngine engine;
  const std::string first = ping(engine);
  const std::string second = published(engine, R"("tgt": "ms-0", "fun": "saltutil.find_job", "arg": ["1"])");
  const std::string third = ping(engine);
  const std::string found = ret(engine, R"("fun": "jobs.list_jobs_filter", "arg": [2])");
  CHECK(holds(found, R"("JID": ")" + first));
  CHECK_FALSE(holds(found, second));
  CHECK(holds(found, third));
  const std::string all =
      ret(engine, R"("fun": "jobs.list_jobs_filter", "count": 2, "filter_find_job": false)");
  CHECK_FALSE(holds(all, first));
  CHECK(holds(all, second));
  CHECK(holds(text(engine, R"("fun": "jobs.list_jobs_filter", "count": 0)"), "count: found 0"));
}

TEST_CASE("jobs.last_run shows the newest job that matches") {
  EmbeddedEngine engine;
  CHECK(ret(engine, R"("fun": "jobs.last_run")") == "false");
  const std::string jid = published(engine, R"("tgt": "ms-0", "fun": "test.echo", "arg": ["x"])");
  ping(engine, R"(, "metadata": {"a": 1})");
  const std::string printed = ret(engine, format(R"("fun": "jobs.print_job", "jid": "{}")", jid));
  CHECK(
      printed ==
      format(
          R"({{"{}": {{"Function": "test.echo", "Arguments": ["x"], "Target": "ms-0", "Target-type": "glob", )"
          R"("User": "fred", "Minions": ["ms-0"], "StartTime": "{}", )"
          R"("Result": {{"ms-0": {{"return": "x", "retcode": 0, "success": true}}}}}}}})",
          jid, master::jid_start_time(jid)));
  CHECK(ret(engine, R"("fun": "jobs.last_run", "function": "test.echo")") == printed);
  CHECK(ret(engine, R"("fun": "jobs.last_run", "target": "ms-0")") == printed);
  CHECK(holds(ret(engine, R"("fun": "jobs.last_run", "metadata": {"a": 1})"), "test.ping"));
  CHECK(holds(ret(engine, R"("fun": "jobs.last_run")"), "test.ping"));
  CHECK(ret(engine, R"("fun": "jobs.last_run", "function": "nosuch")") == "false");
  CHECK(ret(engine, R"("fun": "jobs.last_run", "metadata": "x")") == "false");
  CHECK(holds(ret(engine, R"("fun": "jobs.print_job", "jid": "nojid")"),
              R"({"nojid": {"Error": "Cannot contact returner or no job with this jid")"));
}

TEST_CASE("jobs.exit_success shows which minions returned something true") {
  EmbeddedEngine engine;
  const auto success = [&](const char* members) {
    const std::string jid = published(engine, members);
    return ret(engine, format(R"("fun": "jobs.exit_success", "jid": "{}")", jid));
  };
  CHECK(success(R"("tgt": "ms-0", "fun": "test.ping")") == R"({"ms-0": true})");
  CHECK(success(R"("tgt": "ms-0", "fun": "test.echo", "arg": [0])") == R"({"ms-0": false})");
  CHECK(success(R"("tgt": "ms-0", "fun": "test.echo", "arg": [""])") == R"({"ms-0": false})");
  const auto running = engine.publish_async(
      engine.permit(R"("client": "local_async", "tgt": "ms-1", "fun": "test.sleep", "arg": [600])"));
  REQUIRE(running);
  CHECK(ret(engine, format(R"("fun": "jobs.exit_success", "jid": "{}")", running->jid)) ==
        R"({"ms-1": false})");
  CHECK(ret(engine, R"("fun": "jobs.exit_success", "jid": "nojid")") == "{}");
}

TEST_CASE("jobs.master lists the runners that run") {
  EmbeddedEngine engine;
  CHECK(ret(engine, R"("fun": "jobs.master")") == "[]");
  const auto started =
      engine.runner_async(engine.permit(R"("client": "runner_async", "fun": "test.sleep", "arg": [600])"));
  REQUIRE(started);
  CHECK(holds(ret(engine, R"("fun": "jobs.master")"), R"("fun": "runner.test.sleep", "arg": [600])"));
}

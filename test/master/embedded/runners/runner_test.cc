// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "../../../support/embedded_engine.h"
#include "../../../support/holds.h"
#include "rest_fcgi/core/jid.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

namespace {

std::string text_of(const Json& json) {
  JsonDocument document;
  REQUIRE(document.parse(json.text()));
  return std::string(document.root().text());
}

struct Runners : EmbeddedEngine {
  std::string ret(std::string_view members) { return runner(members).ret.text(); }
  std::string text(std::string_view members) { return text_of(runner(members).ret); }
  std::string published(std::string_view members) {
    return publish(format(R"("client": "local", {})", members)).first.jid;
  }
  std::string ping(std::string_view more = "") {
    return published(format(R"("tgt": "*", "fun": "test.ping"{})", more));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Runners, "wrong arguments return Python's text with success, as in Salt") {
  for (const auto& [members, complaint] :
       {std::pair(R"("fun": "manage.up", "foo": 1)", "up() got an unexpected keyword argument 'foo'"),
        {R"("fun": "jobs.lookup_jid")", "lookup_jid() missing 1 required positional argument: 'jid'"}}) {
    const master::RunnerReturn returned = runner(members);
    CHECK(text_of(returned.ret).starts_with(format("\nPassed invalid arguments: {}\n\nUsage:\n", complaint)));
    CHECK(holds(returned.data.text(), "\"success\": true"));
  }
}

TEST_CASE_FIXTURE(Runners, "keys of clients that a runner does not know are left out") {
  const std::string keys =
      R"(, "tgt": "ms-0", "tgt_type": "glob", "expr_form": "glob", "outputter": "json", "ret": "x", "metadata": {})"
      R"(, "nodegroup": "n", "match": "*", "saltenv": "base", "ret_options": {}, "ret_config": "a", "mid": "ms-0")"
      R"(, "ret_kwargs": {"a": 1}, "raise_err": true, "delimiter": ":", "batch": 1, "subset": 1, "listen": true)";
  CHECK(ret(R"("fun": "manage.up")" + keys) == R"(["ms-0"])");
  CHECK(ret(R"("fun": "jobs.active", "arg": [])" + keys) == "{}");
  CHECK(ret(R"("fun": "manage.up", "arg": ["ms-1", "outputter=x"], "kwarg": {"ret": "y"})") == R"(["ms-1"])");
  CHECK(ret(R"("fun": "test.arg", "outputter": "json")") ==
        R"({"args": [], "kwargs": {"outputter": "json"}})");
}

TEST_CASE_FIXTURE(Runners, "event.send refuses an empty tag, and data that is no map") {
  CHECK(ret(R"("fun": "event.send", "tag": "t", "data": null)") == "true");
  for (const char* wrong : {R"("tag": "")", R"("tag": "t", "data": [1])", R"("tag": 5)"}) {
    CHECK(
        holds(text(format(R"("fun": "event.send", {})", wrong)), "Exception occurred in runner event.send"));
  }
}

TEST_CASE_FIXTURE(Runners, "fileserver answers as a master without files") {
  for (const auto& [call, answer] :
       {std::pair(R"("fun": "fileserver.envs")", R"(["base"])"),
        {R"("fun": "fileserver.envs", "backend": "roots,git")", R"(["base"])"},
        {R"("fun": "fileserver.envs", "backend": ["git"])", "[]"},
        {R"("fun": "fileserver.envs", "backend": "-roots")", "[]"},
        {R"("fun": "fileserver.envs", "sources": true)", R"(["roots"])"},
        {R"("fun": "fileserver.file_list")", "[]"},
        {R"("fun": "fileserver.file_list", "saltenv": "prod", "backend": "roots")", "[]"},
        {R"("fun": "fileserver.dir_list")", "[]"},
        {R"("fun": "fileserver.empty_dir_list")", "[]"},
        {R"("fun": "fileserver.symlink_list")", "{}"},
        {R"("fun": "fileserver.clear_file_list_cache")", "{}"},
        {R"("fun": "fileserver.update", "backend": "git", "remotes": "x")", "true"},
        {R"("fun": "fileserver.clear_cache")", R"("No cache was cleared")"},
        {R"("fun": "fileserver.clear_lock", "remote": "x")", R"("No locks were removed")"},
        {R"("fun": "fileserver.lock")", R"("No locks were set")"}}) {
    CHECK(ret(call) == answer);
  }
}

TEST_CASE_FIXTURE(Runners, "jobs.list_job shows a job and its returns") {
  const std::string jid =
      published(R"("tgt": "ms-0", "fun": "test.echo", "arg": ["hi"], "metadata": {"a": 1})");
  const std::string expected = format(
      R"({{"jid": "{}", "Function": "test.echo", "Arguments": ["hi"], "Target": "ms-0", "Target-type": "glob", )"
      R"("User": "fred", "Metadata": {{"a": 1}}, "Minions": ["ms-0"], "StartTime": "{}", )"
      R"("Result": {{"ms-0": {{"return": "hi", "retcode": 0, "success": true}}}}}})",
      jid, jid_start_time(jid));
  CHECK(ret(format(R"("fun": "jobs.list_job", "jid": "{}")", jid)) == expected);
  CHECK(ret(format(R"("fun": "jobs.list_job", "arg": [{}])", jid)) == expected);
}

TEST_CASE_FIXTURE(Runners, "jobs.list_job and jobs.lookup_jid report an unknown job as Salt does") {
  CHECK(ret(R"("fun": "jobs.list_job", "jid": "20261120230610043746")") ==
        R"({"jid": "20261120230610043746", "Error": "Cannot contact returner or no job with this jid", )"
        R"("StartTime": "2026, Nov 20 23:06:10.043746", "Result": {}})");
  CHECK(
      ret(R"("fun": "jobs.list_job", "jid": "nojid")") ==
      R"({"jid": "nojid", "Error": "Cannot contact returner or no job with this jid", "StartTime": "", "Result": {}})");
  CHECK(ret(R"("fun": "jobs.lookup_jid", "jid": "20261120230610043746")") == "{}");
}

TEST_CASE_FIXTURE(Runners, "jobs.lookup_jid shows returns, their outputter, and missing returns on request") {
  const std::string jid = ping();
  const std::string all = R"({"ms-0": true, "ms-1": true, "ms-2": true})";
  CHECK(lookup(jid) == all);
  CHECK(ret(format(R"("fun": "jobs.lookup_jid", "arg": [{}])", jid)) == all);
  CHECK(ret(format(R"("fun": "jobs.lookup_jid", "arg": ["{}"])", jid)) == all);
  CHECK(ret(format(R"("fun": "jobs.lookup_jid", "jid": "{}", "returned": false)", jid)) == "{}");
  const std::string running = start_sleep("ms-0");
  CHECK(ret(format(R"("fun": "jobs.lookup_jid", "jid": "{}", "missing": true)", running)) ==
        R"({"ms-0": "Minion did not return"})");
  const std::string failed = published(R"("tgt": "ms-0", "fun": "nosuch.fun")");
  CHECK(lookup(failed) == R"({"outputter": "nested", "data": {"ms-0": "'nosuch.fun' is not available."}})");
  CHECK(holds(ret(format(R"("fun": "jobs.list_job", "jid": "{}")", failed)),
              R"("success": false, "out": "nested")"));
}

TEST_CASE_FIXTURE(Runners, "jobs.list_jobs lists all jobs, oldest first") {
  const std::string first = ping();
  const std::string second = published(R"("tgt": "ms-0", "fun": "test.echo", "arg": ["x"])");
  const std::string list = ret(R"("fun": "jobs.list_jobs")");
  JsonDocument document;
  REQUIRE(document.parse(list));
  CHECK(document.root().size() == 2);
  CHECK(list.starts_with(format(
      R"({{"{}": {{"Function": "test.ping", "Arguments": [], "Target": "*", "Target-type": "glob", "User": "fred", "StartTime": ")",
      first)));
  CHECK(document.root().find(second)->find("Function")->text() == "test.echo");
  CHECK(ret(R"("fun": "jobs.list_jobs", "outputter": "x")") ==
        format(R"({{"outputter": "x", "data": {}}})", list));
}

TEST_CASE_FIXTURE(Runners, "jobs.list_jobs filters by function, target, metadata and time") {
  std::string jid = ping(R"(, "metadata": {"a": {"b": 1}, "c": 2})");
  const auto listed = [&](const char* members) {
    return holds(ret(format(R"("fun": "jobs.list_jobs", {})", members)), jid);
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
  // The search finds a job of several functions by one function, and a job with a list target by one minion.
  jid = published(
      R"("tgt": ["ms-0", "ms-1"], "tgt_type": "list", "fun": ["test.ping", "test.echo"], "arg": [[], ["x"]])");
  CHECK(listed(R"("search_function": "*.echo", "search_target": "ms-1")"));
  CHECK_FALSE(listed(R"("search_metadata": {"a": 1})"));
}

TEST_CASE_FIXTURE(Runners,
                  "jobs.list_jobs limits its patterns, and refuses a wrong time and an unknown job cache") {
  const std::string long_one(4097, 'a');
  CHECK(holds(text(R"("fun": "jobs.list_jobs", "search_target": ")" + long_one + "\""),
              "search_target: expected at most 100 patterns"));
  std::string many = "\"a\"";
  for (int i = 0; i < 100; ++i) many += ", \"a\"";
  CHECK(holds(text(R"("fun": "jobs.list_jobs", "search_function": [)" + many + "]"),
              "search_function: expected at most 100 patterns"));
  CHECK(holds(text(R"("fun": "jobs.list_jobs", "start_time": "yesterday")"),
              "Exception occurred in runner jobs.list_jobs: start_time: found 'yesterday', expected a jid"));
  CHECK(holds(text(R"("fun": "jobs.list_jobs", "end_time": 5)"), "end_time: found 5"));
  for (const char* members : {R"("fun": "jobs.list_jobs", "ext_source": "etcd")",
                              R"("fun": "jobs.list_job", "jid": "1", "ext_source": "etcd")",
                              R"("fun": "jobs.lookup_jid", "jid": "1", "ext_source": "etcd")"}) {
    CHECK(holds(text(members), "ext_source: found 'etcd'"));
  }
}

TEST_CASE_FIXTURE(Runners, "jobs.active shows where jobs run") {
  const std::string job = start_sleep("ms-[01]");
  JsonDocument active;
  REQUIRE(active.parse(ret(R"("fun": "jobs.active")")));
  const auto found = active.root().find(job);
  REQUIRE(found.has_value());
  CHECK(found->find("Function")->text() == "test.sleep");
  CHECK(found->find("Running")->json().text() == format(R"([{{"ms-0": {0}}}, {{"ms-1": {0}}}])", ::getpid()));
  CHECK(found->find("Returned")->json().text() == "[]");
}

TEST_CASE_FIXTURE(
    Runners,
    "an asynchronous runner returns to the job cache, and is in jobs.master but not in jobs.active") {
  CHECK(ret(R"("fun": "jobs.master")") == "[]");
  const master::Started started = start_runner(R"("fun": "manage.up")");
  CHECK(started.tag == "salt/run/" + started.jid);
  REQUIRE(test::eventually([&] { return lookup(started.jid) != "{}"; }));
  const std::string found = lookup(started.jid);
  CHECK(holds(found, "_master\": {\"fun\": \"runner.manage.up\", \"jid\": \"" + started.jid));
  CHECK(holds(found, R"("return": ["ms-0", "ms-1", "ms-2"], "success": true)"));
  const master::Started sleeping = start_runner(R"("fun": "test.sleep", "arg": [600])");
  CHECK(ret(R"("fun": "jobs.active")") == "{}");
  CHECK(holds(ret(format(R"("fun": "jobs.list_job", "jid": "{}")", sleeping.jid)),
              R"("Function": "runner.test.sleep", "Arguments": [600])"));
  CHECK(holds(ret(R"("fun": "jobs.master")"), R"("fun": "runner.test.sleep", "arg": [600])"));
}

TEST_CASE_FIXTURE(Runners,
                  "jobs.list_jobs returns a page: the newest jobs, those before a jid or those after one") {
  std::string jids[5];
  for (std::string& jid : jids) jid = ping();
  const auto page = [&](const std::string& members) {
    JsonDocument document;
    REQUIRE(document.parse(ret(format(R"("fun": "jobs.list_jobs", {})", members))));
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
    CHECK(holds(text(format(R"("fun": "jobs.list_jobs", {})", members)), "limit: found "));
  }
  CHECK(holds(text(R"("fun": "jobs.list_jobs", "after": "x")"), "after: found 'x'"));
  CHECK(holds(text(R"("fun": "jobs.list_jobs", "before": 7)"), "before: found 7"));
}

TEST_CASE_FIXTURE(Runners, "jobs.list_jobs adds states, and selects jobs by state, user and function") {
  const std::string good = ping();
  const std::string bad = published(R"("tgt": "ms-*", "fun": "nosuch.fun")");
  const std::string running = start_sleep("ms-0");
  const auto listed = [&](const char* members) {
    return ret(format(R"("fun": "jobs.list_jobs", {})", members));
  };
  const std::string all = listed(R"("status": true)");
  CHECK(holds(all, R"("Status": {"state": "ok", "minions": 3, "returned": 3, "failed": 0})"));
  CHECK(holds(all, R"("Status": {"state": "failed", "minions": 3, "returned": 3, "failed": 3})"));
  CHECK(holds(all, R"("Status": {"state": "running", "minions": 1, "returned": 0, "failed": 0})"));
  const std::string failed = listed(R"("status": "failed", "limit": 1, "search_user": "fr*")");
  CHECK(holds(failed, bad));
  CHECK_FALSE(holds(failed, good));
  CHECK_FALSE(holds(failed, running));
  CHECK(listed(R"("search_user": "nosuch")") == "{}");
  CHECK_FALSE(holds(listed(R"("exclude_function": ["sys.*", "test.p*"])"), good));
  CHECK(holds(text(R"("fun": "jobs.list_jobs", "status": "odd")"), "status: found 'odd'"));
}

TEST_CASE_FIXTURE(Runners, "jobs.list_jobs_filter lists the newest jobs without saltutil.find_job") {
  const std::string first = ping();
  const std::string second = published(R"("tgt": "ms-0", "fun": "saltutil.find_job", "arg": ["1"])");
  const std::string third = ping();
  const std::string found = ret(R"("fun": "jobs.list_jobs_filter", "arg": [2])");
  CHECK(holds(found, R"("JID": ")" + first));
  CHECK_FALSE(holds(found, second));
  CHECK(holds(found, third));
  const std::string all = ret(R"("fun": "jobs.list_jobs_filter", "count": 2, "filter_find_job": false)");
  CHECK_FALSE(holds(all, first));
  CHECK(holds(all, second));
  CHECK(holds(text(R"("fun": "jobs.list_jobs_filter", "count": 0)"), "count: found 0"));
}

TEST_CASE_FIXTURE(Runners, "jobs.last_run shows the newest job that matches") {
  CHECK(ret(R"("fun": "jobs.last_run")") == "false");
  const std::string jid = published(R"("tgt": "ms-0", "fun": "test.echo", "arg": ["x"])");
  ping(R"(, "metadata": {"a": 1})");
  const std::string printed = ret(format(R"("fun": "jobs.print_job", "jid": "{}")", jid));
  CHECK(
      printed ==
      format(
          R"({{"{}": {{"Function": "test.echo", "Arguments": ["x"], "Target": "ms-0", "Target-type": "glob", )"
          R"("User": "fred", "Minions": ["ms-0"], "StartTime": "{}", )"
          R"("Result": {{"ms-0": {{"return": "x", "retcode": 0, "success": true}}}}}}}})",
          jid, jid_start_time(jid)));
  CHECK(ret(R"("fun": "jobs.last_run", "function": "test.echo")") == printed);
  CHECK(ret(R"("fun": "jobs.last_run", "target": "ms-0")") == printed);
  CHECK(holds(ret(R"("fun": "jobs.last_run", "metadata": {"a": 1})"), "test.ping"));
  CHECK(holds(ret(R"("fun": "jobs.last_run")"), "test.ping"));
  CHECK(ret(R"("fun": "jobs.last_run", "function": "nosuch")") == "false");
  CHECK(ret(R"("fun": "jobs.last_run", "metadata": "x")") == "false");
  CHECK(holds(ret(R"("fun": "jobs.print_job", "jid": "nojid")"),
              R"({"nojid": {"Error": "Cannot contact returner or no job with this jid")"));
}

TEST_CASE_FIXTURE(Runners, "jobs.exit_success shows which minions returned something true") {
  const auto success = [&](const char* members) {
    const std::string jid = published(members);
    return ret(format(R"("fun": "jobs.exit_success", "jid": "{}")", jid));
  };
  CHECK(success(R"("tgt": "ms-0", "fun": "test.ping")") == R"({"ms-0": true})");
  CHECK(success(R"("tgt": "ms-0", "fun": "test.echo", "arg": [0])") == R"({"ms-0": false})");
  CHECK(success(R"("tgt": "ms-0", "fun": "test.echo", "arg": [""])") == R"({"ms-0": false})");
  const std::string running = start_sleep("ms-1");
  CHECK(ret(format(R"("fun": "jobs.exit_success", "jid": "{}")", running)) == R"({"ms-1": false})");
  CHECK(ret(R"("fun": "jobs.exit_success", "jid": "nojid")") == "{}");
}

TEST_CASE_FIXTURE(
    Runners,
    "manage.up and manage.status show every minion of the target as up, and fail with a wrong target") {
  CHECK(ret(R"("fun": "manage.status")") == R"({"up": ["ms-0", "ms-1", "ms-2"], "down": []})");
  CHECK(ret(R"("fun": "manage.status", "tgt": "nosuch")") == R"({"up": [], "down": []})");
  CHECK(ret(R"("fun": "manage.up", "tgt": "ms-[12]")") == R"(["ms-1", "ms-2"])");
  CHECK(ret(R"("fun": "manage.up", "arg": ["role:web", "grain"])") == R"(["ms-0", "ms-1"])");
  CHECK(ret(R"("fun": "manage.up", "tgt": "ms-1,ms-0,nosuch", "tgt_type": "list")") == R"(["ms-0", "ms-1"])");
  CHECK(ret(R"("fun": "manage.up", "tgt": ["ms-1"], "tgt_type": "list")") == R"(["ms-1"])");
  for (const char* members :
       {R"("fun": "manage.up", "tgt": "ms-(", "tgt_type": "pcre")",
        R"("fun": "manage.down", "tgt": "x", "tgt_type": "range")",
        R"("fun": "manage.status", "tgt_type": "nosuch")", R"("fun": "manage.up", "tgt": 5)"}) {
    CAPTURE(members);
    const master::RunnerReturn returned = runner(members);
    CHECK(holds(returned.ret.text(), "\"Exception occurred in runner manage."));
    CHECK(holds(returned.data.text(), "\"success\": false"));
  }
}

TEST_CASE_FIXTURE(Runners, "the manage runners about presence show every minion as present") {
  for (const std::string fun : {"up", "list_state", "present", "joined", "allowed", "alived", "reaped"}) {
    CHECK_MESSAGE(ret(format(R"("fun": "manage.{}")", fun)) == R"(["ms-0", "ms-1", "ms-2"])", fun);
  }
  for (const std::string fun :
       {"down", "list_not_state", "not_present", "not_joined", "not_allowed", "not_alived", "not_reaped"}) {
    CHECK_MESSAGE(ret(format(R"("fun": "manage.{}")", fun)) == "[]", fun);
  }
  CHECK(ret(R"("fun": "manage.present", "subset": ["ms-1", "nosuch"])") == R"(["ms-1"])");
  CHECK(ret(R"("fun": "manage.present", "arg": ["ms-1,ms-2", true])") ==
        R"({"ms-1": "127.0.0.1", "ms-2": "127.0.0.1"})");
  CHECK(holds(text(R"("fun": "manage.not_present", "subset": 5)"), "found int"));
  const std::string versions = ret(R"("fun": "manage.versions")");
  CHECK(versions.starts_with(R"({"Master": "3006.)"));
  CHECK(holds(versions, R"("Up to date": {"ms-0": )"));
}

TEST_CASE_FIXTURE(Runners,
                  "cache.grains and cache.pillar show the data of minions, cache.mine and show_sls nothing") {
  CHECK(ret(R"("fun": "cache.mine", "arg": ["*"])") == "{}");
  const std::string states = ret(R"("fun": "state.orchestrate_show_sls", "arg": ["*"])");
  CHECK(states.ends_with(R"(_master": {}})"));
  CHECK(ret(R"("fun": "state.orch_show_sls", "mods": "a")") == states);
  const std::string grains = ret(R"("fun": "cache.grains", "arg": ["role:db", "grain"])");
  CHECK(grains.starts_with(R"({"ms-2": {)"));
  CHECK(holds(grains, R"("role": "db")"));
  CHECK(ret(R"("fun": "cache.pillar")") == R"({"ms-0": {}, "ms-1": {}, "ms-2": {}})");
  CHECK(holds(text(R"("fun": "cache.grains")"), "missing 1 required positional argument: 'tgt'"));
}

TEST_CASE_FIXTURE(Runners, "the doc runners show the documentation of all functions") {
  for (const auto& [fun, name] : {std::pair("doc.runner", "manage.up"),
                                  {"doc.wheel", "key.list_all"},
                                  {"doc.execution", "test.ping"}}) {
    JsonDocument document;
    REQUIRE(document.parse(ret(format(R"("fun": "{}")", fun))));
    const auto doc = document.root().find(name);
    REQUIRE(doc.has_value());
    CHECK(holds(doc->text(), name));
    for (const JsonMember member : document.root().members()) {
      CHECK_MESSAGE(member.value.text().size() > member.key.size() + 20, member.key);
    }
  }
}

TEST_CASE_FIXTURE(Runners, "the test runners return the same as Salt's test runners") {
  CHECK(ret(R"("fun": "test.raw_arg", "arg": [1, "__b=2"])") == R"({"args": [1], "kwargs": {"__b": 2}})");
  CHECK(ret(R"("fun": "test.stdout_print")") == R"("bar")");
  CHECK(ret(R"("fun": "test.metasyntactic", "locality": "uk")") ==
        R"(["wibble", "wobble", "wubble", "flob"])");
  CHECK(holds(ret(R"("fun": "test.metasyntactic")"), R"(["foo", "bar")"));
  CHECK(ret(R"("fun": "test.metasyntactic", "locality": "x")") == "null");
  CHECK(holds(text(R"("fun": "test.get_opts")"), "config.values"));
}

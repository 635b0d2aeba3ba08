// SPDX-License-Identifier: MIT
// `test/wire/test_salt_call.py` compares most functions of this file with a real minion.
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../../../support/execution.h"
#include "../../../support/holds.h"
#include "master/embedded/host/grains.h"
#include "master/embedded/modules/loader.h"
#include "rest_fcgi/core/version.h"

namespace rest_fcgi::embedded {
namespace {

using test::holds;

void check(const master::Return& outcome, std::string_view ret, int retcode, bool success,
           std::string_view out) {
  CHECK(outcome.ret.text() == ret);
  CHECK(outcome.retcode == retcode);
  CHECK(outcome.success == success);
  CHECK(outcome.out == out);
}

struct WithMinion {
  test::Execution minion;
};

TEST_CASE("a return code other than 0, and an object whose result or success is false, are failures") {
  test::Execution minion;
  check(minion.run("test.false"), "false", 0, true, "");
  check(minion.run("test.retcode"), "true", 42, false, "");
  check(minion.run("test.retcode", "[0]"), "true", 0, true, "");
  check(minion.run("test.echo", R"([{"result": false}])"), R"({"result": false})", 1, false, "");
  check(minion.run("test.echo", R"([{"result": true, "success": 0}])"), R"({"result": true, "success": 0})",
        1, false, "");
  check(minion.run("test.echo", R"([{"result": true}])"), R"({"result": true})", 0, true, "");
  check(minion.run("test.echo", R"([{"a": {"result": false}}])"), R"({"a": {"result": false}})", 0, true, "");
  check(minion.run("test.echo", R"([["result"]])"), R"(["result"])", 0, true, "");
}

TEST_CASE("an unknown function is not available, and shows the documentation of functions that it begins") {
  test::Execution minion;
  check(minion.run("nosuch.fun"), R"("'nosuch.fun' is not available.")", 1, false, "nested");
  check(minion.run("test.true_"), R"("'test.true_' is not available.")", 1, false, "nested");
  check(
      minion.run("grains.l"),
      R"({"grains.ls": "\n    Return the names of all grains.\n\n    CLI Example:\n\n        salt '*' grains.ls\n    ", )"
      R"("grains.l": "'grains.l' is not available."})",
      1, false, "nested");
}

TEST_CASE("a return has its function's outputter") {
  test::Execution minion(R"({"os": "Debian"})");
  check(minion.run("grains.items"), R"({"os": "Debian"})", 0, true, "nested");
  check(minion.run("grains.item", R"(["os"])"), R"({"os": "Debian"})", 0, true, "nested");
  check(minion.run("grains.get", R"(["os"])"), R"("Debian")", 0, true, "");
}

TEST_CASE_FIXTURE(WithMinion, "functions that sleep or run a program are not quick") {
  for (const auto& [name, is_quick] : {std::pair("test.sleep", false),
                                       {"test.rand_sleep", false},
                                       {"sys.doc", false},
                                       {"disk.usage", false},
                                       {"test.ping", true},
                                       {"test.version", true},
                                       {"config.get", true},
                                       {"pillar.items", true},
                                       {"grains.items", true}}) {
    CHECK(minion.modules().find(name) != nullptr);
    CHECK(minion.modules().is_quick(name) == is_quick);
  }
  CHECK(minion.modules().find("nosuch.fun") == nullptr);
  CHECK(minion.modules().is_quick("nosuch.fun"));
}

constexpr std::string_view kPublication =
    R"("__pub_tgt": "*", "__pub_jid": "20260101000000000001", "__pub_ret": "", "__pub_tgt_type": "glob", )"
    R"("__pub_user": "saltdev")";

TEST_CASE("texts name=value are keyword arguments with YAML values, and the last of a name counts") {
  test::Execution minion;
  CHECK(
      minion.ret("test.arg_clean", R"(["a=1", "b=yes", "c=[1, x]", "d={a: 1}", "e=", "f==x", "g h=1"])") ==
      R"({"args": ["f==x", "g h=1"], "kwargs": {"a": 1, "b": true, "c": [1, "x"], "d": {"a": 1}, "e": ""}})");
  CHECK(minion.ret("test.echo", R"(["text=5"])") == "5");
  CHECK(minion.ret("test.arg_clean", R"(["a=1", "b=2", "a=3"])", R"({"b": 4})") ==
        R"({"args": [], "kwargs": {"a": 3, "b": 4}})");
}

TEST_CASE_FIXTURE(WithMinion, "functions with **kwargs get their job, and a caller cannot forge __pub_user") {
  CHECK(
      minion.ret("test.arg", R"(["a"])", R"({"b": {"c": [1]}})") ==
      R"({"args": ["a"], "kwargs": {"b": {"c": [1]}, "__pub_fun": "test.arg", "__pub_arg": ["a", {"b": {"c": [1]}}], )" +
          std::string(kPublication) + "}}");
  CHECK(
      minion.ret("test.kwarg", "[]", R"({"__pub_user": "root"})") ==
      R"({"__pub_user": "saltdev", "__pub_fun": "test.kwarg", "__pub_arg": [{"__pub_user": "root"}], "__pub_tgt": "*", )"
      R"("__pub_jid": "20260101000000000001", "__pub_ret": "", "__pub_tgt_type": "glob"})");
}

TEST_CASE("wrong arguments are refused with Python's text and the function's documentation") {
  test::Execution minion;
  const struct {
    const char* fun;
    const char* args;
    const char* complaint;
    const char* kwargs = "{}";
  } rows[] = {
      {"test.ping", "[1]", "ping() takes 0 positional arguments but 1 was given"},
      {"test.echo", "[1, 2]", "echo() takes 1 positional argument but 2 were given"},
      {"grains.get", "[1, 2, 3, 4, 5]", "get() takes from 1 to 4 positional arguments but 5 were given"},
      {"test.echo", "[]", "echo() missing 1 required positional argument: 'text'"},
      {"grains.equals", "[]", "equals() missing 2 required positional arguments: 'key' and 'value'"},
      {"test.echo", "[1, 2]", "echo() got multiple values for argument 'text'", R"({"text": 2})"}};
  for (const auto& row : rows) {
    CHECK(minion.sentence(row.fun, row.args, row.kwargs) ==
          std::string("Passed invalid arguments to ") + row.fun + ": " + row.complaint);
  }
  CHECK(
      minion.ret("test.true", "[1]") ==
      R"("Passed invalid arguments to test.true: true_() takes 0 positional arguments but 1 was given\n\n    Return )"
      R"(``True``.\n\n    CLI Example:\n\n        salt '*' test.true\n    ")");
  const std::string start = "ERROR executing 'test.ping': The following keyword arguments are not valid: ";
  CHECK(minion.sentence("test.ping", R"(["x", "a=yes"])",
                        R"({"b": null, "c": {"d": [1, "t", true]}, "e": 1.50})") ==
        start + "a=True, b=None, c={'d': [1, 't', True]}, e=1.5");
}

TEST_CASE("sys.list_modules lists all modules, or those that are named or match a pattern") {
  test::Execution minion;
  CHECK(
      minion.ret("sys.list_modules") ==
      R"(["beacons", "cmd", "config", "disk", "environ", "file", "grains", "group", "mine", "network", "pillar", )"
      R"("saltutil", "schedule", "status", "sys", "test", "user"])");
  CHECK(minion.ret("sys.list_modules", R"(["test", "sys", "nosuch", "test."])") == R"(["sys", "test"])");
  CHECK(minion.ret("sys.list_modules", R"(["sys.*", "*.fib"])") == R"(["sys", "test"])");
  CHECK(minion.ret("sys.list_modules", R"(["te?t"])") == "[]");
}

TEST_CASE("sys.list_functions lists all functions, or those of modules or that match a pattern") {
  test::Execution minion;
  CHECK(minion.ret("sys.list_functions", R"(["sys"])") ==
        R"(["sys.argspec", "sys.doc", "sys.list_functions", "sys.list_modules"])");
  CHECK(minion.ret("sys.list_functions", R"(["test.pin?", "sys.list_f*", "nosuch", ""])") ==
        R"(["sys.list_functions", "test.ping"])");
  CHECK(minion.ret("sys.list_functions", R"(["test.p*"])", R"({"garbage": 1})") ==
        R"(["test.ping", "test.providers"])");
  CHECK(holds(minion.ret("sys.list_functions"), R"("grains.equals", )"));
}

TEST_CASE("sys.doc returns the documentation of functions, of modules or of all in Salt's layout") {
  test::Execution minion;
  const std::string_view ping =
      R"("test.ping": "\n    Return ``True``: the minion is there. No ICMP is involved.)"
      R"(\n\n    CLI Example:\n\n        salt '*' test.ping\n    ")";
  CHECK(minion.ret("sys.doc", R"(["test.ping"])") == "{" + std::string(ping) + "}");
  CHECK(minion.ret("sys.doc", R"(["test.pi*", "test.ping"])") == "{" + std::string(ping) + "}");
  CHECK(minion.ret("sys.doc", R"(["nosuch", "test.pin?"])") == "{}");
  const std::string grains = minion.ret("sys.doc", R"(["grains"])");
  CHECK(grains.starts_with(R"({"grains.equals": )"));
  CHECK_FALSE(holds(grains, "\"sys.doc\": "));
  CHECK(holds(minion.ret("sys.doc"), "\"sys.doc\": "));
}

TEST_CASE_FIXTURE(WithMinion, "sys.argspec shows parameters") {
  CHECK(minion.ret("sys.argspec", R"(["test.arg"])") ==
        R"({"test.arg": {"args": null, "defaults": null, "varargs": true, "kwargs": true}})");
  CHECK(minion.ret("sys.argspec", R"(["file.get_h*"])") ==
        R"({"file.get_hash": {"args": ["path", "form", "chunk_size"], "defaults": ["sha256", 65536], )"
        R"("varargs": null, "kwargs": null}})");
  CHECK(minion.ret("sys.argspec", R"(["sys"])")
            .starts_with(R"({"sys.argspec": {"args": ["module"], "defaults": [""], )"));
  CHECK(minion.ret("sys.argspec") == "{}");
  CHECK(minion.ret("sys.argspec", R"(["nosuch"])") == "{}");
}

TEST_CASE("test.sleep and test.rand_sleep return true, refuse a wrong time, and end at a stop request") {
  test::Execution minion;
  CHECK(minion.ret("test.sleep", R"(["0"])") == "true");
  CHECK(minion.ret("test.rand_sleep", "[0]") == "true");
  const std::string start = "ERROR executing 'test.sleep': length ";
  for (const std::string_view bad : {"[-1]", R"(["abc"])", "[[1]]"}) {
    CHECK(minion.sentence("test.sleep", bad).starts_with(start));
  }
  CHECK(minion.sentence("test.rand_sleep", "[-1]").starts_with("ERROR executing 'test.rand_sleep': max "));
  std::stop_source source;
  std::jthread stopper([&source] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source.request_stop();
  });
  const master::Return outcome = minion.run("test.sleep", "[9223372036854775807]", "{}", source.get_token());
  CHECK(outcome.ret.text() == R"("Job terminated: it was asked to stop before it ended.")");
  CHECK(outcome.retcode == 1);
  CHECK_FALSE(outcome.success);
}

TEST_CASE_FIXTURE(WithMinion, "the functions about versions show Salt's release and this program's version") {
  CHECK(minion.ret("test.version") == Json::string(kSaltVersion).text());
  const std::string own(kVersion);
  CHECK(holds(minion.ret("test.versions_information"),
              R"({"rest_fcgi Version": {"rest_fcgi": ")" + own + "\""));
  for (const char* fun : {"test.versions_report", "test.versions"}) {
    CHECK(minion.ret(fun).starts_with(R"("rest_fcgi Version:\n     rest_fcgi: )" + own));
  }
}

TEST_CASE_FIXTURE(WithMinion, "no function calls another one by name") {
  for (const std::string_view name : {"test.cross_test", "test.try", "test.try_"})
    CHECK(minion.modules().find(name) == nullptr);
}

}  // namespace

namespace {

TEST_CASE("config.get searches options, grains and pillar in this order") {
  test::Execution m(R"({"both": "grain", "id": "grain"})");
  m.set_pillar(R"({"both": "pillar"})");
  CHECK(m.ret("config.get", R"(["id"])") == R"("ms-0")");
  CHECK(m.ret("config.get", R"(["id"])", R"({"omit_opts": true})") == R"("grain")");
  CHECK(m.ret("config.get", R"(["both"])") == R"("grain")");
  CHECK(m.ret("config.get", R"(["both"])", R"({"omit_grains": true})") == R"("pillar")");
}

TEST_CASE("pillar.data merges the pillar with the argument pillar") {
  test::Execution m;
  m.set_pillar(R"({"a": {"x": 1}, "b": 2})");
  CHECK(m.ret("pillar.data", "[]", R"({"pillar": {"a": {"y": 3}}})") == R"({"a": {"x": 1, "y": 3}, "b": 2})");
}

TEST_CASE("config.get shows nothing of the server's own configuration") {
  test::Execution m;
  const std::string all = m.ret("config.get", "[[]]");
  CHECK(holds(all, R"("id": "ms-0")"));
  for (const std::string key : {"sharedsecret", "external_auth", "rest_fcgi", "token_dir"}) {
    CAPTURE(key);
    CHECK(m.ret("config.get", "[\"" + key + "\"]") == R"("")");
    CHECK_FALSE(holds(all, "\"" + key + "\":"));
  }
}

TEST_CASE("grains.items with sanitize replaces grains that identify the host") {
  const std::string_view grains =
      R"({"id": "a", "fqdn": "a.b", "domain": "b", "nodename": "a", "localhost": "a", )"
      R"("serialnumber": "ABCDEFGH", "os": "x"})";
  const std::string_view sanitized =
      R"({"id": "MINION.DOMAINNAME", "fqdn": "MINION.DOMAINNAME", "domain": "DOMAINNAME", "nodename": "MINION", )"
      R"("localhost": "MINION", "serialnumber": "ABCDEFXX", "os": "x"})";
  test::Execution minion(grains);
  for (const std::string_view yes : {"[true]", "[1]", "[\"True\"]", "[\"sanitize=True\"]"}) {
    CHECK_MESSAGE(minion.ret("grains.items", yes) == sanitized, yes);
  }
  for (const std::string_view no : {"[false]", "[0]", "[\"yes\"]", "[null]"}) {
    CHECK_MESSAGE(minion.ret("grains.items", no) == grains, no);
  }
}

TEST_CASE("grains.item takes a default, a delimiter and sanitize, and limits repeated defaults") {
  test::Execution minion(
      R"({"pkg": {"apache": "httpd"}, "num": 5, "host": "web", "serialnumber": "ABCDEFGH"})");
  CHECK(minion.ret("grains.item", R"(["default=5", "nosuch"])") == R"({"nosuch": 5})");
  CHECK(minion.ret("grains.item", R"(["pkg.apache"])", R"({"delimiter": "."})") ==
        R"({"pkg.apache": "httpd"})");
  CHECK(minion.ret("grains.item", R"(["host", "serialnumber", "num"])", R"({"sanitize": true})") ==
        R"({"host": "MINION", "serialnumber": "ABCDEFXX", "num": 5})");
  std::string keys;
  for (int i = 0; i < 50; ++i) keys += (i == 0 ? "\"k" : ", \"k") + std::to_string(i) + "\"";
  const std::string kwargs = "{\"default\": \"" + std::string(100000, 'x') + "\"}";
  CHECK(minion.ret("grains.item", "[\"a\", \"b\"]", kwargs).size() > 200000);
  CHECK(minion.run("grains.item", "[" + keys + "]", kwargs).retcode == 1);
}

TEST_CASE_FIXTURE(WithMinion, "functions about things that the minion lacks return Salt's empty values") {
  const std::string_view no_yaml = R"({"return_yaml": false})";
  CHECK(minion.ret("beacons.list", "[]", no_yaml) == "{}");
  CHECK(minion.ret("beacons.list") == R"("beacons: {}\n")");
  CHECK(minion.ret("beacons.list_available", "[]", no_yaml) == R"({"beacons": {}})");
  CHECK(minion.ret("schedule.list", "[]", no_yaml) == "{}");
  CHECK(minion.ret("schedule.list") == R"("schedule: {}\n")");
  for (const auto& [fun, empty] : {std::pair("mine.valid", "{}"),
                                   {"mine.flush", "true"},
                                   {"mine.update", "true"},
                                   {"saltutil.list_extmods", "{}"},
                                   {"saltutil.refresh_pillar", "true"},
                                   {"saltutil.pillar_refresh", "true"},
                                   {"saltutil.refresh_grains", "true"},
                                   {"saltutil.refresh_modules", "true"},
                                   {"saltutil.refresh_beacons", "true"},
                                   {"saltutil.sync_grains", "[]"},
                                   {"saltutil.sync_modules", "[]"},
                                   {"saltutil.sync_states", "[]"}}) {
    CHECK(minion.ret(fun) == empty);
  }
  CHECK(holds(minion.ret("saltutil.sync_all"), R"("modules": [], )"));
}

}  // namespace

}  // namespace rest_fcgi::embedded

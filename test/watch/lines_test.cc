// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "rest_fcgi/watch/watch.h"

using namespace rest_fcgi::watch;

namespace {

/// Returns each field as `NAME=VALUE`.
std::vector<std::string> fields_of(const std::vector<std::string>& pieces) {
  FieldReader reader;
  std::vector<std::string> found;
  for (const std::string& piece : pieces) {
    CHECK(reader.read(piece, [&](std::string_view name, std::string_view value) {
      found.push_back(std::string(name) + "=" + std::string(value));
    }));
  }
  return found;
}

/// Returns the line without its time, which depends on the time zone.
std::string line(const std::string& event, const Options& options = {}) {
  const std::string text = line_of(event, options);
  return text.size() < 9 ? text : text.substr(9);
}

}  // namespace

TEST_CASE("fields and comments are found in a stream that arrives in pieces") {
  const std::vector<std::string> fields = {"retry=400", "id=1", R"(data={"tag": "a"})",
                                           "=You read too slowly."};
  CHECK(fields_of({"retry: 400\n\nid: 1\nda", "ta: {\"tag\": \"a\"}\n", "\n: You read too slowly.\r\n"}) ==
        fields);
  CHECK(fields_of({"data: {\"tag\""}).empty());
}

TEST_CASE(
    "a line has the tag and the main fields of the data, and only events whose tag matches the glob are "
    "shown") {
  CHECK(line(R"({"tag": "salt/job/1/new", "data": {"_stamp": "2026-11-26T12:13:14.123456", "jid": "1",
                 "user": "alice", "fun": "test.ping", "tgt": "web*", "tgt_type": "glob", "arg": []}})") ==
        "salt/job/1/new fun=test.ping tgt=web* user=alice\n");
  CHECK(
      line(
          R"({"tag": "salt/job/1/ret/m", "data": {"_stamp": "2026-11-26T12:13:14", "id": "m", "fun": "cmd.run",
                 "success": false, "retcode": 127, "return": "x"}})") ==
      "salt/job/1/ret/m id=m fun=cmd.run success=false retcode=127: x\n");
  CHECK(line(R"({"tag": "presence", "data": {"present": ["m"]}})") == "presence {\"present\": [\"m\"]}\n");
  CHECK(line(R"({"tag": "t", "data": {"tgt": ["a", "b"], "fun": "a b"}})") ==
        "t fun=\"a b\" tgt=[\"a\", \"b\"]\n");
  const Options options{.url = {}, .tags = {"a", "salt/job/*/new"}};
  CHECK(line(R"({"tag": "salt/job/1/new", "data": {"fun": "a"}})", options) == "salt/job/1/new fun=a\n");
  CHECK(line(R"({"tag": "salt/job/1/ret/m", "data": {}})", options).empty());
  CHECK_FALSE(line(R"({"tag": "rest_fcgi/events/lost", "data": {}})", options).empty());
  CHECK(line("not JSON").empty());
}

TEST_CASE("a return that failed has the text of the failure: the exception, or the comment of a state") {
  const auto failure = [](const std::string& ret) {
    const std::string text =
        line(R"({"tag": "t", "data": {"id": "m", "retcode": 1, "return": )" + ret + "}}");
    return text.substr(text.find("retcode=1") + 9);
  };
  CHECK(failure(R"("Traceback:\n  File \"x\"\nValueError: no\u001b[2J\n")") ==
        ": ValueError: no\\u001b[2J\n");
  CHECK(failure(R"(["Rendering SLS 'base:x' failed"])") == ": [\"Rendering SLS 'base:x' failed\"]\n");
  CHECK(failure(R"({"file_|-a_|-/a_|-managed": {"result": true, "comment": "good"},
                    "pkg_|-vim_|-vim_|-installed": {"result": false, "comment": "not found"}})") ==
        ": vim: not found\n");
  CHECK(failure(R"("")") == ": \"\"\n");
  CHECK(line(R"({"tag": "t", "data": {"id": "m", "retcode": {"a.b": 0, "c.d": 1}, "return": "x"}})")
            .ends_with(": x\n"));
  CHECK(line(R"({"tag": "t", "data": {"id": "m", "success": true, "retcode": 0, "return": "x"}})") ==
        "t id=m success=true retcode=0\n");
}

TEST_CASE("a failure is red and a return is green, but only in colour") {
  const auto shown = [](const std::string& data, bool in_colour) {
    return line_of(R"({"tag": "t", "data": )" + data + "}", {.url = {}, .tags = {}, .in_colour = in_colour});
  };
  const std::string bad = R"({"id": "m", "success": false, "return": "x"})";
  CHECK(shown(bad, true).find("\033[1;31mt\033[0m") != std::string::npos);
  CHECK(shown(R"({"id": "m", "success": true, "return": "x"})", true).find("\033[32mt\033[0m") !=
        std::string::npos);
  CHECK(shown(bad, false).find('\033') == std::string::npos);
}

TEST_CASE("the time of an event is local time, and control characters do not reach the terminal") {
  ::setenv("TZ", "XXX-2", 1);  // The time zone is two hours east of Greenwich.
  ::tzset();
  CHECK(line_of(R"({"tag": "t", "data": {"_stamp": "2026-11-26T23:13:14.5", "id": "m"}})", {}) ==
        "01:13:14 t id=m\n");
  ::unsetenv("TZ");
  ::tzset();
  CHECK(line_of(R"({"tag": "t", "data": {"id": "m"}})", {}) == "--:--:-- t id=m\n");
  // The event contains ESC, DEL, U+009B (CSI) and U+202E (right-to-left override).
  const std::string event =
      "{\"tag\": \"t\\u001b[2J\", \"data\": {\"fun\": \"a\\u0007\x7f\xC2\x9B\xE2\x80\xAE\", \"id\": "
      "\"\xC3\xA9\"}}";
  CHECK(line(event) == "t\\u001b[2J id=\xC3\xA9 fun=a\\u0007\\u007f\\u009b\\u202e\n");
  CHECK(line_of(event, {.url = {}, .tags = {}, .as_json = true}) ==
        "{\"tag\": \"t\\u001b[2J\", \"data\": {\"fun\": \"a\\u0007\\u007f\\u009b\\u202e\", \"id\": "
        "\"\xC3\xA9\"}}\n");
}

// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "rest_fcgi/watch/watch.h"

using namespace rest_fcgi::watch;

namespace {

std::vector<std::string> data_of(const std::vector<std::string>& pieces) {
  DataReader reader;
  std::vector<std::string> found;
  for (const std::string& piece : pieces) {
    CHECK(reader.read(piece, [&](std::string_view data) { found.emplace_back(data); }));
  }
  return found;
}

/// Returns the line without its time, which depends on the time zone.
std::string line(const std::string& event, const Options& options = {}) {
  const std::string text = line_of(event, options);
  return text.size() < 9 ? text : text.substr(9);
}

}  // namespace

TEST_CASE("data is found in a stream that arrives in pieces") {
  const std::vector<std::string> two = {R"({"tag": "a"})", R"({"tag": "b"})"};
  CHECK(data_of({"retry: 400\n\nid: 1\ntag: a\nda", "ta: {\"tag\": \"a\"}\n",
                 "\n: \n\ndata: {\"tag\": \"b\"}\r\n"}) == two);
  CHECK(data_of({"data: {\"tag\""}).empty());
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
      "salt/job/1/ret/m id=m fun=cmd.run success=false retcode=127\n");
  CHECK(line(R"({"tag": "presence", "data": {"present": ["m"]}})") == "presence {\"present\": [\"m\"]}\n");
  CHECK(line(R"({"tag": "t", "data": {"tgt": ["a", "b"], "fun": "a b"}})") ==
        "t fun=\"a b\" tgt=[\"a\", \"b\"]\n");
  const Options options{.url = {}, .tag = "salt/job/*/new"};
  CHECK(line(R"({"tag": "salt/job/1/new", "data": {"fun": "a"}})", options) == "salt/job/1/new fun=a\n");
  CHECK(line(R"({"tag": "salt/job/1/ret/m", "data": {}})", options).empty());
  CHECK(line("not JSON").empty());
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
  CHECK(line_of(event, {.url = {}, .as_json = true}) ==
        "{\"tag\": \"t\\u001b[2J\", \"data\": {\"fun\": \"a\\u0007\\u007f\\u009b\\u202e\", \"id\": "
        "\"\xC3\xA9\"}}\n");
}

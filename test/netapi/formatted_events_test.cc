// SPDX-License-Identifier: MIT
#include "netapi/formatted_events.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/manual_clock.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;
using netapi::FormattedEvents;
using Frames = std::vector<std::string>;

namespace {

constexpr netapi::FormattedStyle kMap{
    .minions_are_listed = false, .hears_presence_changes = true, .end = "\n\n"};
constexpr netapi::FormattedStyle kList{
    .minions_are_listed = true, .hears_presence_changes = false, .end = ""};

Frames frames_after(FormattedEvents& view, std::string_view tag, std::string_view data) {
  view.apply(tag, data);
  return view.take_frames();
}

std::string started(std::string_view minions = R"("ms-0")") {
  return format(
      R"({{"jid": "1", "minions": [{}], "fun": "test.ping", "tgt": "*", "tgt_type": "glob", "_stamp": "now"}})",
      minions);
}

std::string ret(std::string_view value, bool success = true, std::string_view fun = "test.ping") {
  return format(R"({{"return": {}, "retcode": {}, "success": {}, "fun": "{}"}})", value, success ? 0 : 1,
                success, fun);
}

std::string job(std::string_view minions, std::string_view state) {
  return format(
      R"({{"jobs": {{"1": {{"jid": "1", "start_time": "now", "minions": {{{}}}, "fun": "test.ping", )"
      R"("tgt": "*", "tgt_type": "glob", "state": "{}"}}}}}})",
      minions, state);
}

}  // namespace

TEST_CASE("a job is complete when all minions have returned") {
  const ManualClock clock;
  FormattedEvents view(kList, clock);
  CHECK(frames_after(view, "salt/job/1/new", started(R"("a", "b")")) ==
        Frames{job(R"("a": {"success": false}, "b": {"success": false})", "running")});
  CHECK(frames_after(view, "salt/job/1/ret/a", ret("[1]")) ==
        Frames{job(R"("a": {"success": true, "return": [1], "retcode": 0}, "b": {"success": false})",
                   "running")});
  CHECK(frames_after(view, "syndic/job/1/ret/b", ret("null", false)) ==
        Frames{job(R"("a": {"success": true, "return": [1], "retcode": 0}, )"
                   R"("b": {"success": false, "return": null, "retcode": 1})",
                   "complete")});
}

TEST_CASE("rest_tornado's frames map minions by id and end with two line feeds") {
  const ManualClock clock;
  FormattedEvents view(kMap, clock);
  JsonDocument grains;
  REQUIRE(grains.parse(R"({"b": {"os": "Debian"}, "a": null})"));
  view.start(grains.root());
  CHECK(view.take_frames() ==
        Frames{R"({"minions": {"a": {"id": "a"}, "b": {"grains": {"os": "Debian"}, "id": "b"}}})"
               "\n\n"});
  CHECK(frames_after(view, "salt/job/1/new", started()).front().ends_with("}\n\n"));
}

TEST_CASE("a return of grains.items updates the minions, and an accepted minion is asked for grains") {
  const ManualClock clock;
  FormattedEvents view(kList, clock);
  CHECK(frames_after(view, "salt/job/1/ret/a", ret(R"({"os": "x"})", true, "grains.items")).back() ==
        R"({"minions": [{"grains": {"os": "x"}, "id": "a"}]})");
  static_cast<void>(frames_after(view, "salt/job/2/new", R"({"minions": ["b"], "fun": "grains.items"})"));
  CHECK(frames_after(view, "salt/key", R"({"act": "accept", "id": "c"})") ==
        Frames{R"({"minions": [{"grains": {"os": "x"}, "id": "a"}, {"id": "c"}]})"});
  FormattedEvents accepted(kMap, clock);
  static_cast<void>(frames_after(accepted, "salt/auth", R"({"act": "accept", "id": "a", "result": true})"));
  CHECK(accepted.take_new_minions().empty());
  CHECK(frames_after(accepted, "salt/minion/a/start", R"({"id": "a"})").empty());
  CHECK(frames_after(accepted, "salt/minion/unknown/start", R"({"id": "unknown"})").empty());
  CHECK(accepted.take_new_minions() == std::vector<std::string>{"a"});
}

TEST_CASE("key events change the minions, and only changes make a frame") {
  const ManualClock clock;
  FormattedEvents view(kMap, clock);
  const Frames one{"{\"minions\": {\"a\": {\"id\": \"a\"}}}\n\n"};
  CHECK(frames_after(view, "salt/key", R"({"act": "accept", "id": "a", "result": true})") == one);
  CHECK(frames_after(view, "salt/key", R"({"act": "accept", "id": "a"})").empty());
  CHECK(frames_after(view, "salt/key", R"({"act": "pend", "id": "b"})").empty());
  CHECK(frames_after(view, "salt/key", R"({"act": "delete", "id": "b"})").empty());
  CHECK(frames_after(view, "salt/key", R"({"act": "delete", "id": "a"})") == Frames{"{\"minions\": {}}\n\n"});
  CHECK(frames_after(view, "salt/auth", R"({"act": "accept", "id": "a", "result": true})") == one);
  CHECK(frames_after(view, "salt/auth", R"({"act": "pend", "id": "z", "result": true})").empty());
}

TEST_CASE("presence events change the minions") {
  const ManualClock clock;
  FormattedEvents view(kMap, clock);
  CHECK(frames_after(view, "salt/presence/present", R"({"present": ["a", "b"]})") ==
        Frames{"{\"minions\": {\"a\": {\"id\": \"a\"}, \"b\": {\"id\": \"b\"}}}\n\n"});
  CHECK(view.take_new_minions() == Frames{"a", "b"});
  CHECK(view.take_new_minions().empty());
  CHECK(frames_after(view, "salt/presence/present", R"({"present": ["b", "a"]})").empty());
  CHECK(frames_after(view, "salt/presence/change", R"({"new": ["c"], "lost": ["a"]})") ==
        Frames{"{\"minions\": {\"b\": {\"id\": \"b\"}, \"c\": {\"id\": \"c\"}}}\n\n"});
  CHECK(frames_after(view, "salt/presence/present", R"({"present": ["c"]})") ==
        Frames{"{\"minions\": {\"c\": {\"id\": \"c\"}}}\n\n"});

  FormattedEvents other(kList, clock);
  CHECK(frames_after(other, "salt/presence/change", R"({"new": ["c"], "lost": []})").empty());
  CHECK(frames_after(other, "salt/presence/present", R"({"present": ["c"]})").size() == 1);
}

TEST_CASE("other and malformed events are ignored") {
  const ManualClock clock;
  FormattedEvents view(kMap, clock);
  for (const char* const tag :
       {"salt/job/1", "salt/job/1/ret", "salt/job/1/ret/a/b", "salt/job/1/new/x", "other/job/1/new",
        "salt/run/1/new", "salt/netapi/hook/key", "", "salt/key/x", "salt/presence"}) {
    INFO(tag);
    CHECK(frames_after(view, tag, started()).empty());
  }
  for (const auto& event : std::vector<std::pair<const char*, const char*>>{
           {"salt/job/1/new", "{}"},
           {"salt/job/1/new", R"({"minions": "ms-0"})"},
           {"salt/job/1/ret/a", R"({"return": 1, "retcode": 0})"},
           {"salt/job/1/ret/a", R"({"return": 1, "success": true})"},
           {"salt/key", R"({"act": {}, "id": []})"},
           {"salt/presence/present", R"({"present": "a"})"},
           {"salt/presence/change", "{}"},
           {"salt/key", "[]"},
           {"salt/key", "no JSON"}}) {
    INFO(event.first, " ", event.second);
    CHECK(frames_after(view, event.first, event.second).empty());
  }
}

TEST_CASE("a job whose start was missed is completed from jobs.list_job") {
  const ManualClock clock;
  FormattedEvents view(kList, clock);
  CHECK(frames_after(view, "salt/job/1/ret/a", ret("1")).size() == 1);
  CHECK(frames_after(view, "salt/job/1/ret/b", ret("2")).size() == 1);
  CHECK(view.take_unknown_jobs() == Frames{"1"});
  CHECK(view.take_unknown_jobs().empty());
  JsonDocument listed;
  REQUIRE(listed.parse(
      R"({"jid": "1", "Function": "test.ping", "Target": "*", "Target-type": "glob", "StartTime": "now",)"
      R"( "Minions": ["a", "b", "c"], "Result": {"b": {"return": 3, "retcode": 0, "success": true}}})"));
  view.fill_in_job("1", listed.root());
  CHECK(view.take_frames() ==
        Frames{job(R"("a": {"success": true, "return": 1, "retcode": 0}, )"
                   R"("b": {"success": true, "return": 2, "retcode": 0}, "c": {"success": false})",
                   "running")});
  view.fill_in_job("2", listed.root());
  REQUIRE(listed.parse(R"({"Error": "no"})"));
  view.fill_in_job("1", listed.root());
  view.fill_in_job("1", JsonValue());
  CHECK(view.take_frames().empty());
}

TEST_CASE("beyond the limits the oldest jobs are removed, finished ones first") {
  const ManualClock clock;
  FormattedEvents view(kList, clock, {.max_jobs = 2});
  const auto jobs_in = [](const std::string& frame) {
    std::string jids;
    for (const char jid : std::string("1234")) {
      if (frame.find(format(R"("{}": {{"jid")", jid)) != std::string::npos) jids += jid;
    }
    return jids;
  };
  static_cast<void>(frames_after(view, "salt/job/1/new", started()));
  static_cast<void>(frames_after(view, "salt/job/2/new", started()));
  static_cast<void>(frames_after(view, "salt/job/2/ret/ms-0", ret("1")));
  CHECK(jobs_in(frames_after(view, "salt/job/3/new", started()).front()) == "13");
  CHECK(jobs_in(frames_after(view, "salt/job/4/new", started()).front()) == "34");

  FormattedEvents small(kList, clock, {.max_job_bytes = 1000});
  static_cast<void>(frames_after(small, "salt/job/1/ret/a", ret("1")));
  const std::string large = "\"" + std::string(900, 'x') + "\"";
  CHECK(jobs_in(frames_after(small, "salt/job/2/ret/a", ret(large)).front()) == "2");
}

TEST_CASE("a return beyond a job's limit is shown as null") {
  const ManualClock clock;
  FormattedEvents view(kList, clock, {.max_job_bytes = 1000});
  static_cast<void>(frames_after(view, "salt/job/1/new", started(R"("a", "b", "c")")));
  const std::string large = "\"" + std::string(600, 'x') + "\"";
  static_cast<void>(frames_after(view, "salt/job/1/ret/a", ret(large)));
  static_cast<void>(frames_after(view, "salt/job/1/ret/b", ret(large, false)));
  const std::string a = R"("a": {"success": true, "return": )" + large + R"(, "retcode": 0}, )";
  const std::string b = R"("b": {"success": false, "return": null, "retcode": 1}, )";
  CHECK(frames_after(view, "salt/job/1/ret/c", ret("1")) ==
        Frames{job(a + b + R"("c": {"success": true, "return": 1, "retcode": 0})", "complete")});

  JsonDocument listed;
  REQUIRE(listed.parse(R"({"Minions": ["b"], "Result": {"b": {"return": )" + large + "}}}"));
  FormattedEvents small(kList, clock, {.max_job_bytes = 500});
  static_cast<void>(frames_after(small, "salt/job/1/ret/a", ret("1")));
  small.fill_in_job("1", listed.root());
  CHECK(small.take_frames().at(0).find(R"("b": {"return": null})") != std::string::npos);
}

TEST_CASE("the number of minions and the size of all grains are limited") {
  const ManualClock clock;
  FormattedEvents view(kList, clock, {.max_minions = 1});
  CHECK(frames_after(view, "salt/presence/present", R"({"present": ["a", "b"]})") ==
        Frames{R"({"minions": [{"id": "a"}]})"});
  CHECK(frames_after(view, "salt/key", R"({"act": "accept", "id": "c"})").empty());
  CHECK(frames_after(view, "salt/job/1/ret/d", ret(R"({"os": "x"})", true, "grains.items")).back() ==
        R"({"minions": [{"id": "a"}]})");
  FormattedEvents few(kMap, clock, {.max_grain_bytes = 15});
  JsonDocument grains;
  REQUIRE(grains.parse(R"({"a": {"os": "x"}, "b": {"os": "y"}})"));
  few.start(grains.root());
  CHECK(few.take_frames() == Frames{"{\"minions\": {\"a\": {\"grains\": {\"os\": \"x\"}, \"id\": \"a\"}, "
                                    "\"b\": {\"id\": \"b\"}}}\n\n"});
}

// SPDX-License-Identifier: MIT
#include "master/salt/events/event.h"

#include <malloc.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/fake_event_bus.h"
#include "../../../support/vector_file.h"
#include "master/salt/packed/packed.h"

namespace {

using namespace rest_fcgi::salt;
using namespace rest_fcgi;
using namespace std::string_literals;
using namespace std::string_view_literals;
using rest_fcgi::test::event_frame;
using rest_fcgi::test::vector_file;

std::string describe_topic(std::string_view tag) {
  const auto topic = topic_of(tag);
  if (!topic) return "nothing";
  const char* const kinds[] = {"job", "begin", "runner", "syndic"};
  return std::string(kinds[static_cast<int>(topic->kind)]) + " " + std::string(topic->jid) + " " +
         std::string(topic->who);
}

TEST_CASE("topic_of reads returns of minions and runners, starts of runners, and events of syndics") {
  CHECK(describe_topic("salt/job/20261120233651543848/ret/pm-0") == "job 20261120233651543848 pm-0");
  CHECK(describe_topic("salt/job/1/ret/a/b") == "job 1 a/b");
  CHECK(describe_topic("salt/job/1/ret/ret/x") == "job 1 ret/x");
  CHECK(describe_topic("salt/run/20261120233655223239/ret") == "runner 20261120233655223239 ");
  CHECK(describe_topic("salt/run/20261120233655223239/new") == "begin 20261120233655223239 ");
  CHECK(describe_topic("syndic/syn-1/1234") == "syndic 1234 syn-1");
  CHECK(describe_topic("syndic/a/b/1234") == "syndic 1234 a/b");
}

TEST_CASE("topic_of ignores long job ids, and other and incomplete tags") {
  const std::string longest(64, '1');
  for (const std::string& tag :
       {"salt/job/" + longest + "/ret/m", "salt/run/" + longest + "/ret", "syndic/s/" + longest}) {
    CAPTURE(tag);
    CHECK(describe_topic(tag) != "nothing");
    CHECK(describe_topic(std::string(tag).insert(tag.find('1'), "1")) == "nothing");
  }
  for (const char* tag : {"20261120233651543848",
                          "salt/job/1/new",
                          "salt/job/1/publish",
                          "salt/auth",
                          "",
                          "salt/job/1/prog/ms-0/0",
                          "salt/run/1/progress/ret",
                          "salt/wheel/1/ret",
                          "salt/job/",
                          "salt/job/1",
                          "salt/job/1/",
                          "salt/job/1/ret",
                          "salt/job/1/ret/",
                          "salt/job//ret/m",
                          "salt/run/",
                          "salt/run//ret",
                          "salt/run/1",
                          "syndic/",
                          "syndic/s",
                          "syndic/s/",
                          "syndic//1"}) {
    CHECK_MESSAGE(describe_topic(tag) == "nothing", tag);
  }
}

std::string about(std::string_view tag) {
  const auto job = job_tag(tag);
  if (!job) return "no job";
  const char* const of[] = {"job", "runner", "wheel"};
  return std::string(of[static_cast<int>(job->of)]) + " " + std::string(job->jid) + " " +
         std::string(job->rest);
}

TEST_CASE("job_tag returns the parts of a tag") {
  CHECK(about("salt/job/1/new") == "job 1 new");
  CHECK(about("salt/job/1/ret/a/b") == "job 1 ret/a/b");
  CHECK(about("salt/run/1/any/thing") == "runner 1 any/thing");
  CHECK(about("salt/wheel/1/ret") == "wheel 1 ret");
  CHECK(about("20261120233651543848") == "job 20261120233651543848 ");
  CHECK(about("20261120233651543848_1234") == "job 20261120233651543848_1234 ");
  const std::string long_id(65, '1');
  for (const std::string& tag :
       {std::string(), std::string("key"), std::string("123"), std::string("salt/job/error"),
        std::string("salt/job/1"), std::string("salt/run//new"), std::string("salt/wheel/1/"),
        std::string("salt/auth"), std::string("syndic/s/1"), std::string("2026112023365154384x"), long_id,
        "salt/job/" + long_id + "/new"}) {
    CHECK_MESSAGE(about(tag) == "no job", tag);
  }
}

constexpr std::size_t kMost = 1 << 20;

struct Read {
  std::vector<std::string> events;
  std::string problem;

  bool operator==(const Read&) const = default;
};

void read_on(FrameReader& reader, std::string_view bytes, Read& read) {
  reader.feed(bytes);
  while (read.problem.empty()) {
    const auto event = reader.next();
    if (!event) {
      read.problem = event.error().message;
    } else if (*event) {
      read.events.push_back(std::string((*event)->tag) + "|" + std::string((*event)->data));
    } else {
      break;
    }
  }
}

Read read_all(std::string_view stream, std::size_t piece = std::string_view::npos) {
  FrameReader reader(kMost);
  Read read;
  for (; !stream.empty(); stream.remove_prefix(std::min(piece, stream.size()))) {
    read_on(reader, stream.substr(0, piece), read);
  }
  return read;
}

std::string problem_of(std::string_view stream) {
  return read_all(stream).problem;
}

std::vector<std::string> tags_of(const Read& read) {
  std::vector<std::string> tags;
  for (const std::string& event : read.events) tags.push_back(event.substr(0, event.find('|')));
  return tags;
}

const std::vector<std::string> kTags3006 = {"20261121001912259217", "salt/job/20261121001912259217/new",
                                            "salt/job/20261121001912259217/ret/ms-0"};
const std::vector<std::string> kTags3008 = {"salt/job/20261121001915011370/new",
                                            "salt/job/20261121001915011370/publish",
                                            "salt/job/20261121001915011370/ret/ms-0"};

TEST_CASE("streams in both framings are read in pieces of any size") {
  for (const auto& [file, tags] :
       {std::pair("24-stream-3006.28.bin", kTags3006), std::pair("25-stream-3008.3.bin", kTags3008)}) {
    const std::string stream = vector_file(file);
    const Read whole = read_all(stream);
    CHECK(tags_of(whole) == tags);
    CHECK(whole.problem.empty());
    CHECK(read_all(stream, 1) == whole);
    for (std::size_t cut = 1; cut < stream.size(); ++cut) {
      FrameReader reader(kMost);
      Read read;
      read_on(reader, std::string_view(stream).substr(0, cut), read);
      read_on(reader, std::string_view(stream).substr(cut), read);
      CHECK(read == whole);
    }
  }
}

TEST_CASE("the memory of a large frame is freed after the next frame") {
  const auto in_use = [] { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; };
  for (const Framing framing : {Framing::bare, Framing::with_length}) {
    const std::string stream =
        event_frame("big", std::string(20 << 20, 'x'), framing) + event_frame("small", "y", framing);
    FrameReader reader(64 << 20);
    const std::size_t before = in_use();
    std::size_t bytes = 0;
    for (std::size_t at = 0; at < stream.size(); at += 65536) {
      reader.feed(std::string_view(stream).substr(at, 65536));
      for (auto event = reader.next(); event && *event; event = reader.next()) bytes += (*event)->data.size();
    }
    CHECK(bytes == (20 << 20) + 1);
    CHECK(in_use() < before + kMost);
  }
}

TEST_CASE("the first two line feeds of a body, which may be a str, separate tag and data") {
  const auto first = [](std::string_view stream) { return read_all(stream).events.at(0); };
  CHECK(first(event_frame("t", "a\n\nb")) == "t|a\n\nb");
  CHECK(first(event_frame("t\n", "b")) == "t|\nb");
  CHECK(first(event_frame("", "")) == "|");
  CHECK(first("\x82\xa4head\x80\xa4"
              "body\xa6t\n\n\x81\x01\x02"sv) == "t|\x81\x01\x02");
  // A reader ignores the content of `head`, and unknown members of a frame.
  CHECK(first("\x83\xa4"
              "body\xa4t\n\nd\xa4head\x81\xa1x\x92\x01\x02\xa3new\xc0"sv) == "t|d");
}

TEST_CASE("a malformed frame is an error with its number") {
  const std::pair<std::string_view, const char*> wrong[] = {
      {"\x91\x01"sv, "found a value that is not a map, expected {\"head\": {}, \"body\": ...}"},
      {"\x80"sv, "found a map without `body`"},
      {"\x81\xa4head\x80"sv, "found a map without `body`"},
      {"\x81\x01\x02"sv, "found a map with a key that is not a string"},
      {"\x81\xa4"
       "body\x01"sv,
       "found a map with a wrong `body`, expected `bin` or `str`"},
      {"\x81\xa4"
       "body\xa3t\nd"sv,
       "found a `body` without two line feeds between tag and data"},
      {"\x82\xc1"sv, "Malformed msgpack: a byte that cannot begin a value: byte 1"},
  };
  for (const auto& [bytes, problem] : wrong) {
    CHECK(problem_of(bytes) == std::string("frame 1 of the event stream: ") + problem);
    const std::string with_length =
        std::string("\x00\x00\x00", 3) + static_cast<char>(bytes.size()) + std::string(bytes);
    CHECK(problem_of(with_length) == std::string("frame 1 of the event stream: ") + problem);
  }
  CHECK(problem_of(event_frame("t", "d") + "\x01")
            .starts_with("frame 2 of the event stream: found a value that is not a map"));
}

TEST_CASE("a frame that is too large, nested too deeply or of another length is an error") {
  CHECK(problem_of("\x00\x10\x00\x01"sv) ==
        "frame 1 of the event stream: found a length of 1048577 bytes, expected at most 1048576");
  const std::string bare = event_frame("big", std::string(2 * kMost, 'x'));
  const std::string problem = "frame 1 of the event stream: found more than 1048576 bytes";
  CHECK(problem_of(bare) == problem);
  CHECK(problem_of(std::string_view(bare).substr(0, kMost)).empty());
  CHECK(problem_of(std::string_view(bare).substr(0, kMost + 1)) == problem);
  const std::string deep = problem_of("\x82\xa4head" + std::string(kMaxDepth, '\x91'));
  CHECK(deep.find("nested deeper than 600 levels") != std::string::npos);
  const std::string map = event_frame("t", "d");
  for (const std::size_t length : {std::size_t{0}, map.size() - 1, map.size() + 1}) {
    CHECK(problem_of(std::string("\0\0\0", 3) + static_cast<char>(length) + map + map) ==
          "frame 1 of the event stream: found a length of " + std::to_string(length) +
              " bytes, expected the length of the value");
  }
}

}  // namespace

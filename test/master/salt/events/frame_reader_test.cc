// SPDX-License-Identifier: MIT
#include <malloc.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/fake_event_bus.h"
#include "../../../support/vector_file.h"
#include "master/salt/events/event.h"
#include "master/salt/packed/packed.h"

namespace {

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using namespace std::string_literals;
using namespace std::string_view_literals;
using rest_fcgi::test::event_frame;
using rest_fcgi::test::vector_file;

constexpr std::size_t kMost = 1 << 20;
constexpr Framing kFramings[] = {Framing::bare, Framing::with_length};

struct Read {
  std::vector<std::string> events;  // the events in the form `tag|data`
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

/// Returns the events of a stream that the reader gets in pieces of `piece` bytes.
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

TEST_CASE("a stream with a changed byte gives few events, and the same in pieces of any size") {
  for (const char* file : {"24-stream-3006.28.bin", "25-stream-3008.3.bin"}) {
    const std::string stream = vector_file(file);
    for (std::size_t place = 0; place < stream.size(); ++place) {
      for (const unsigned mask : {0x01u, 0x08u, 0x40u, 0x80u, 0xffu, 0x5au}) {
        std::string wrong = stream;
        wrong[place] = static_cast<char>(static_cast<unsigned char>(wrong[place]) ^ mask);
        const Read whole = read_all(wrong);
        // If the length of a frame is damaged, the bytes of the frame can look like several short frames.
        CHECK(whole.events.size() <= stream.size() / 16);
        CHECK(read_all(wrong, 61) == whole);
      }
    }
  }
}

TEST_CASE("a large frame is read and its memory is freed") {
  const std::string data(20 << 20, 'x');
  for (const Framing framing : kFramings) {
    const std::string stream = event_frame("big", data, framing) + event_frame("small", "y", framing);
    FrameReader reader(64 << 20);
    const std::size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
    std::size_t events = 0;
    std::size_t bytes = 0;
    for (std::string_view rest = stream; !rest.empty();
         rest.remove_prefix(std::min<std::size_t>(rest.size(), 65536))) {
      reader.feed(rest.substr(0, 65536));
      for (auto event = reader.next(); event && *event; event = reader.next()) {
        ++events;
        bytes += (*event)->data.size();
      }
    }
    CHECK(events == 2);
    CHECK(bytes == data.size() + 1);
    CHECK(::mallinfo2().uordblks + ::mallinfo2().hblkhd < before + kMost);
  }
}

TEST_CASE("the body may be a str") {
  CHECK(read_all("\x82\xa4head\x80\xa4"
                 "body\xa6t\n\n\x81\x01\x02"sv)
            .events == std::vector{"t|\x81\x01\x02"s});
}

TEST_CASE("the first two line feeds separate tag and data") {
  CHECK(read_all(event_frame("t", "a\n\nb")).events == std::vector{"t|a\n\nb"s});
  CHECK(read_all(event_frame("t\n", "b")).events == std::vector{"t|\nb"s});
  CHECK(read_all(event_frame("", "")).events == std::vector{"|"s});
}

TEST_CASE("other members of a frame are ignored") {
  CHECK(read_all("\x83\xa4"
                 "body\xa4t\n\nd\xa4head\x81\xa1x\x92\x01\x02\xa3"
                 "new\xc0"sv)
            .events == std::vector{"t|d"s});
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

TEST_CASE("a frame beyond the size limit is an error") {
  CHECK(problem_of("\x00\x10\x00\x01"sv) ==
        "frame 1 of the event stream: found a length of 1048577 bytes, expected at most 1048576");
  const std::string bare = event_frame("big", std::string(2 * kMost, 'x'));
  const std::string problem = "frame 1 of the event stream: found more than 1048576 bytes";
  CHECK(problem_of(bare) == problem);
  CHECK(problem_of(std::string_view(bare).substr(0, kMost)).empty());
  CHECK(problem_of(std::string_view(bare).substr(0, kMost + 1)) == problem);
}

TEST_CASE("a frame that is nested too deeply is an error") {
  CHECK(problem_of("\x82\xa4head" + std::string(kMaxDepth, '\x91')).find("nested deeper than 600 levels") !=
        std::string::npos);
}

TEST_CASE("a wrong length is an error") {
  const std::string map = event_frame("t", "d");
  const auto with_length = [&](std::size_t length) {
    return std::string("\0\0\0", 3) + static_cast<char>(length) + map + map;
  };
  CHECK(problem_of(with_length(map.size() - 1)) ==
        "frame 1 of the event stream: found a length of 20 bytes, expected the length of the value");
  CHECK(problem_of(with_length(map.size() + 1)) ==
        "frame 1 of the event stream: found a length of 22 bytes, expected the length of the value");
  CHECK(problem_of("\0\0\0\0"sv) ==
        "frame 1 of the event stream: found a length of 0 bytes, expected the length of the value");
}

}  // namespace

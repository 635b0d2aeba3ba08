// SPDX-License-Identifier: MIT
#include "master/salt/events/large_frame.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "../../../support/fake_event_bus.h"

namespace {

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using namespace std::string_literals;
using rest_fcgi::test::event_frame;

/// What is known of it: `none` where it is no event, `more` where too little came.
std::string known(std::string_view came) {
  const auto frame = LargeFrame::read(came);
  if (!frame) return "none";
  return *frame ? std::string((*frame)->tag) : "more";
}

const std::string kLarge = event_frame("tag", std::string(100000, 'x'));

TEST_CASE("the beginning of a large event says its tag and its size") {
  const auto frame = LargeFrame::read(kLarge);
  REQUIRE(frame);
  REQUIRE(frame->has_value());
  CHECK((*frame)->size == kLarge.size());
  CHECK((*frame)->tag == "tag");
  CHECK((*frame)->data.size() > 16000);
  CHECK((*frame)->data.size() < LargeFrame::kBeginning);
  CHECK(kLarge.find((*frame)->data) != std::string::npos);
}

TEST_CASE("nothing is known before the whole beginning came") {
  for (std::size_t size = 0; size < LargeFrame::kBeginning; size += size < 40 ? 1 : 1000) {
    CHECK(known(std::string_view(kLarge).substr(0, size)) == "more");
  }
  CHECK(known(std::string_view(kLarge).substr(0, LargeFrame::kBeginning)) == "tag");
}

TEST_CASE("a frame that is shorter than a beginning is known once it is whole") {
  const std::string frame = event_frame("t", "d");
  CHECK(known(frame.substr(0, frame.size() - 1)) == "more");
  CHECK(known(frame) == "t");
  CHECK(known(frame + "more") == "t");
}

TEST_CASE("other entries may stand before the body, small ones") {
  const std::string body = kLarge.substr(7);  // after {"head": {}
  CHECK(known("\x83\xa4head\x80\xa1x\x92\x01\x02"s + body) == "tag");
  CHECK(known("\x81"s + body) == "tag");
  CHECK(known("\x82\xa4head\xc6\x00\x01\x00\x00"s + std::string(65536, 'h') + body) == "none");
}

TEST_CASE("what does not begin as an event is none, as soon as that can be seen") {
  CHECK(known("\x91") == "none");
  CHECK(known("\x80") == "none");
  CHECK(known("\x81\x01") == "none");
  CHECK(known("\x81\xa4head\x80") == "none");
  CHECK(known("\x81\xa4"
              "body\x01") == "none");
  CHECK(known("\x82\xa4"
              "body\xa3t\n\n") == "none");
  CHECK(known("\x81\xc4\xff") == "none");
  CHECK(known("\x82\xa4head\xc1") == "none");
  CHECK(known("\x81\xa4"
              "body\xc6\x00\x01\x00\x00"s +
              std::string(65536, 'x')) == "none");  // no tag
}

}  // namespace

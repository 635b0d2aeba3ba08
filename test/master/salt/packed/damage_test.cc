// SPDX-License-Identifier: MIT
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "master/salt/packed/packed.h"
#include "trouble.h"

using namespace std::string_view_literals;
using rest_fcgi::salt::PackedValue;
using rest_fcgi::test::event_data;
using rest_fcgi::test::kVectorFiles;
using rest_fcgi::test::trouble_with;
using rest_fcgi::test::vector_file;

namespace {

/// Returns msgpack samples. Some samples are recorded from a real master. The others contain all special
/// cases of the conversion to JSON.
std::vector<std::string> samples() {
  std::vector<std::string> found;
  for (const std::string_view name : kVectorFiles) {
    if (name.find("stream") != std::string_view::npos) continue;
    found.push_back(name.find("event") == std::string_view::npos ? vector_file(name) : event_data(name));
  }
  found.emplace_back(
      "\x83\x92\x01\x81\xA1x\xC4\x01\xFF\xC7\x05\x4F\x92\xA1N\x91\x05\x05\xCA\x3F\x00\x00\x00\xC0\xA0"sv);
  found.emplace_back(
      "\x82\xC7\x18\x4E"
      "20261120T12:00:00.000000\xC7\x08\x4F\x92\xA1N\xC7\x02\x4E"
      "20\xD6\x05zzzz\x93\x80\x90\xA0"sv);
  return found;
}

}  // namespace

TEST_CASE("msgpack that is cut at any byte is an error") {
  for (const std::string& sample : samples()) {
    for (std::size_t size = 0; size < sample.size(); ++size) {
      const std::string_view trouble = trouble_with(std::string_view(sample).substr(0, size));
      if (!trouble.empty()) FAIL_CHECK(trouble, " in the first ", size, " bytes of ", sample);
    }
  }
}

TEST_CASE("msgpack with a changed byte is an error or valid JSON") {
  for (std::string sample : samples()) {
    CHECK(trouble_with(sample).empty());
    CHECK(PackedValue::read(sample));
    for (std::size_t place = 0; place < sample.size(); ++place) {
      const char original = sample[place];
      for (const unsigned mask : {0x01U, 0x10U, 0x20U, 0x80U, 0xFFU}) {
        sample[place] = static_cast<char>(static_cast<unsigned char>(original) ^ mask);
        const std::string_view trouble = trouble_with(sample);
        if (!trouble.empty()) FAIL_CHECK(trouble, " with byte ", place, " changed by ", mask, " in ", sample);
      }
      sample[place] = original;
    }
  }
}

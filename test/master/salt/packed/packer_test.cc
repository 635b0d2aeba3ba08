// SPDX-License-Identifier: MIT
#include "master/salt/packed/packer.h"

#include <limits>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "master/salt/packed/packed.h"

using namespace std::string_view_literals;
using rest_fcgi::JsonDocument;
using rest_fcgi::WipedBytes;
using rest_fcgi::salt::Packer;
using rest_fcgi::salt::to_json;

namespace {

std::string_view view(const WipedBytes& bytes) {
  return {bytes.data(), bytes.size()};
}

std::string packed(std::string_view json) {
  JsonDocument document;
  REQUIRE(document.parse(json));
  WipedBytes bytes;
  Packer(bytes).value(document.root());
  return std::string(view(bytes));
}

}  // namespace

TEST_CASE("values are packed in their shortest form") {
  WipedBytes bytes;
  Packer packer(bytes);
  packer.nil().boolean(true).boolean(false).integer(0).integer(-1).integer(-33).integer(128).real(0.1);
  packer.unsigned_integer(std::numeric_limits<std::uint64_t>::max());
  packer.integer(std::numeric_limits<std::int64_t>::min());
  CHECK(view(bytes) ==
        "\xC0\xC3\xC2\x00\xFF\xD0\xDF\xCC\x80\xCB\x3F\xB9\x99\x99\x99\x99\x99\x9A"
        "\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xD3\x80\x00\x00\x00\x00\x00\x00\x00"sv);
}

TEST_CASE("a float with an integer value stays a float") {
  WipedBytes bytes;
  Packer(bytes).real(1).real(-0.0).real(-3).real(18446744073709551616.0);
  CHECK(view(bytes) ==
        "\xCB\x3F\xF0\x00\x00\x00\x00\x00\x00\xCB\x80\x00\x00\x00\x00\x00\x00\x00"
        "\xCB\xC0\x08\x00\x00\x00\x00\x00\x00\xCB\x43\xF0\x00\x00\x00\x00\x00\x00"sv);
}

TEST_CASE("text of any length is packed as str") {
  for (const std::size_t length : {0U, 31U, 32U, 255U, 256U, 65535U, 65536U}) {
    CAPTURE(length);
    const std::string text(length, 'x');
    WipedBytes bytes;
    Packer(bytes).text(text);
    const auto first = static_cast<unsigned char>(bytes[0]);
    CHECK((first == 0xD9 || first == 0xDA || first == 0xDB || (first >= 0xA0 && first <= 0xBF)));
    CHECK(to_json(view(bytes))->text() == '"' + text + '"');
  }
}

TEST_CASE("packed JSON is converted back unchanged") {
  for (const std::string_view json : {
           R"({"a": [1, -5, 1.5, 1.0, -0.0, 1e+16, true, false, null, "h\u0001\"é"], "b": {}, "c": []})",
           R"([9223372036854775807, -9223372036854775808, 9999999999999999999])",
           R"(["", {"": ""}])",
       }) {
    CHECK(to_json(packed(json))->text() == json);
  }
}

TEST_CASE("of equal keys the last one is packed") {
  CHECK(packed(R"({"x": 1, "y": 2, "x": 3})") == "\x82\xA1y\x02\xA1x\x03");
}

TEST_CASE("large integers and job ids are packed as text") {
  for (const std::string text : {"20261120233651543848", "18446744073709551615", "-9223372036854775809",
                                 "123456789012345678901234567890"}) {
    CHECK(to_json(packed(text))->text() == '"' + text + '"');
  }
  CHECK(packed("9223372036854775808") == "\xCF\x80\x00\x00\x00\x00\x00\x00\x00"sv);
  CHECK(packed("-0") == "\x00"sv);
}

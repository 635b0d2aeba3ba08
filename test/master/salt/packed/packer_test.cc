// SPDX-License-Identifier: MIT
#include "master/salt/packed/packer.h"

#include <limits>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "master/salt/packed/packed.h"

using namespace std::string_view_literals;
using rest_fcgi::JsonDocument;
using rest_fcgi::WipedBytes;
using rest_fcgi::salt::Packer;
using rest_fcgi::salt::to_json;
using rest_fcgi::test::vector_file;

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

Packer& begin_request(Packer& packer, std::size_t load_members, std::string_view cmd) {
  packer.begin_map(3).text("enc").text("clear").text("load").begin_map(load_members);
  return packer.text("cmd").text(cmd);
}

Packer& credentials(Packer& packer) {
  packer.text("eauth").text("sharedsecret").text("username").text("ssdev");
  return packer.text("password").text("s3cret");
}

}  // namespace

TEST_CASE("requests are packed like those of Salt's client") {
  WipedBytes ping;
  Packer packer(ping);
  begin_request(packer, 1, "ping").text("version").integer(3);
  CHECK(view(ping) == vector_file("01-ping-request.bin"));

  WipedBytes publish;
  Packer publisher(publish);
  begin_request(publisher, 8, "publish").text("tgt").text("pm-0").text("fun").text("test.ping");
  publisher.text("arg").begin_array(0).text("tgt_type").text("glob").text("ret").text("");
  publisher.text("user").text("UNKNOWN").text("kwargs").begin_map(3);
  credentials(publisher).text("version").integer(3);
  CHECK(view(publish) == vector_file("03-publish-request.bin"));

  WipedBytes runner;
  Packer caller(runner);
  begin_request(caller, 6, "runner").text("fun").text("test.arg");
  credentials(caller).text("kwarg").begin_map(2).text("kwarg").begin_map(1).text("a").integer(1);
  caller.text("arg").begin_array(1).text("x").text("version").integer(3);
  CHECK(view(runner) == vector_file("12-runner-request.bin"));

  WipedBytes wheel;
  Packer turner(wheel);
  begin_request(turner, 6, "wheel").text("fun").text("key.list").text("match").text("acc");
  credentials(turner).text("version").integer(3);
  CHECK(view(wheel) == vector_file("16-wheel-request.bin"));
}

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

TEST_CASE("large arrays and maps are packed") {
  std::string array = "[0";
  for (int i = 1; i < 70000; ++i) array += ", " + std::to_string(i);
  array += "]";
  CHECK(to_json(packed(array))->text() == array);
  std::string object = "{\"0\": 0";
  for (int i = 1; i < 300; ++i) object += ", \"" + std::to_string(i) + "\": null";
  object += "}";
  CHECK(to_json(packed(object))->text() == object);
}

TEST_CASE("of equal keys the last one is packed") {
  CHECK(packed(R"({"a": 1, "b": 2, "a": 3})") ==
        "\x82\xA1"
        "b\x02\xA1"
        "a\x03");
}

TEST_CASE("large integers and job ids are packed as text") {
  CHECK(to_json(packed("20261120233651543848"))->text() == R"("20261120233651543848")");
  CHECK(to_json(packed("18446744073709551615"))->text() == R"("18446744073709551615")");
  CHECK(to_json(packed("-9223372036854775809"))->text() == R"("-9223372036854775809")");
  CHECK(to_json(packed("123456789012345678901234567890"))->text() == R"("123456789012345678901234567890")");
  CHECK(packed("9223372036854775808") == "\xCF\x80\x00\x00\x00\x00\x00\x00\x00"sv);
  CHECK(packed("-0") == "\x00"sv);
}

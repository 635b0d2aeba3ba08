// SPDX-License-Identifier: MIT
#include "master/salt/packed/packed.h"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "../calls/fixtures.h"
#include "master/salt/packed/packer.h"
#include "trouble.h"

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using namespace std::string_view_literals;
using test::event_data;
using test::packed;
using test::trouble_with;
using test::vector_file;
using Kind = PackedValue::Kind;

namespace {

std::string error_of(std::string_view bytes) {
  auto value = PackedValue::read(bytes);
  return value ? "none" : value.error().message;
}

}  // namespace

TEST_CASE("PackedValue has kind and content") {
  const std::pair<std::string_view, Kind> kinds[] = {{"\xC0", Kind::nil},
                                                     {"\xC3", Kind::boolean},
                                                     {"\xFF", Kind::integer},
                                                     {"\xCA\x3F\x00\x00\x00"sv, Kind::real},
                                                     {"\xD4\x05z", Kind::extension},
                                                     {"\x92\xA2hi\x05", Kind::array},
                                                     {"\x81\xA1x\xC0", Kind::map},
                                                     {"\xA2hi", Kind::text},
                                                     {"\xC4\x01\xFF", Kind::text}};
  for (const auto& [bytes, kind] : kinds) CHECK(PackedValue::read(bytes)->kind == kind);
  CHECK(PackedValue::read("\xC3")->boolean);
  CHECK(!PackedValue::read("\xC2")->boolean);
  CHECK(PackedValue::read("\xFF")->integer == -1);
  CHECK(PackedValue::read("\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF")->integer ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(PackedValue::read("\xCA\x3F\x00\x00\x00"sv)->real == 0.5);
  CHECK(PackedValue::read("\xCB\x3F\xF8\x00\x00\x00\x00\x00\x00"sv)->real == 1.5);
  CHECK(PackedValue::read("\x92\xA2hi\x05")->text.empty());
  CHECK(PackedValue::read("\xA2hi")->text == "hi");
  CHECK(PackedValue::read("\xC4\x01\xFF")->text == "\xFF");
}

TEST_CASE("PackedValue::read needs exactly one value") {
  CHECK(error_of("") == "Malformed msgpack: cut short: byte 0");
  CHECK(error_of("\xA5hi") == "Malformed msgpack: cut short: byte 1");
  CHECK(error_of("\xC0\xC0") == "Malformed msgpack: more than one value: byte 1");
  CHECK(error_of("\xC1") == "Malformed msgpack: a byte that cannot begin a value: byte 0");
  CHECK(error_of(std::string(kMaxDepth, '\x91') + "\x01") == "none");
  CHECK(error_of(std::string(kMaxDepth + 1, '\x91') + "\x01") ==
        "Malformed msgpack: nested deeper than 600 levels: byte 600");
  CHECK(PackedValue::read("").error().kind == ErrorKind::internal);
}

TEST_CASE("each_element and each_member show the parts of a value in order") {
  std::string shown;
  REQUIRE(each_element("\x93\x01\x92\x02\x03\xA1x", [&shown](const PackedValue& element) {
    shown += to_json(element.packed)->text() + ";";
  }));
  CHECK(shown == "1;[2, 3];\"x\";");
  shown.clear();
  const auto show = [&shown](const PackedValue& key, const PackedValue& value) {
    shown += to_json(key.packed)->text() + "=" + to_json(value.packed)->text() + ";";
  };
  REQUIRE(each_member("\x83\xA1x\x01\x05\x90\x91\x01\x81\x02\x03", show));
  CHECK(shown == "\"x\"=1;5=[];[1]={\"2\": 3};");
}

TEST_CASE("Fields finds only the wanted members") {
  const std::string data = event_data("07-event-job-ret.bin");
  auto fields = Fields::read(data, {"cmd", "id", "jid", "retcode", "success", "return", "out"});
  REQUIRE(fields);
  CHECK(fields->text("cmd") == "_return");
  CHECK(fields->text("id") == "pm-0");
  CHECK(fields->text("jid") == "20261120233651543848");
  CHECK(to_json(fields->find("retcode")->packed)->text() == "0");
  CHECK(fields->find("success")->boolean);
  CHECK(to_json(fields->find("return")->packed)->text() == "true");
  CHECK(fields->find("out") == nullptr);
  CHECK(fields->find("fun") == nullptr);
  CHECK(fields->text("fun").empty());
  CHECK(fields->text("retcode").empty());
}

TEST_CASE("Fields ignores keys that are bin, and uses the last of equal names") {
  for (const std::string_view bin : {"\xc4\x03"sv, "\xc5\x00\x03"sv, "\xc6\x00\x00\x00\x03"sv}) {
    const std::string map = std::string("\x82\xa3xyz\xa1v").append(bin).append("xyz\xa1w");
    CHECK(Fields::read(map, {"xyz"})->text("xyz") == "v");
  }
  const auto fields = Fields::read("\x83\xA1x\x01\xA1x\xA1y\xA1z\x05", {"x", "z"});
  CHECK(fields->text("x") == "y");
  CHECK(fields->find("z")->integer == 5);
}

TEST_CASE("Fields needs exactly one map") {
  const auto error_of = [](std::string_view bytes) { return Fields::read(bytes, {"x"}).error(); };
  CHECK(error_of("\xA3str").message == "Expected msgpack of a map, found a str");
  CHECK(error_of("\x81\xA1x").message == "Malformed msgpack: cut short: byte 3");
  CHECK(error_of("\x81\xA1x\x01\x01").message == "Malformed msgpack: more than one value: byte 4");
  CHECK(error_of("").kind == ErrorKind::internal);
}

namespace {

/// Some samples come from a real master. The others contain all special cases of the conversion to JSON.
std::vector<std::string> samples() {
  std::vector<std::string> found;
  for (const std::string_view name : test::kVectorFiles) {
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

TEST_CASE("values are packed in their shortest form") {
  std::string bytes;
  Packer packer(bytes);
  packer.nil().boolean(true).boolean(false).integer(0).integer(-1).integer(-33).integer(128).real(0.1);
  packer.unsigned_integer(std::numeric_limits<std::uint64_t>::max());
  packer.integer(std::numeric_limits<std::int64_t>::min());
  CHECK(bytes ==
        "\xC0\xC3\xC2\x00\xFF\xD0\xDF\xCC\x80\xCB\x3F\xB9\x99\x99\x99\x99\x99\x9A"
        "\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xD3\x80\x00\x00\x00\x00\x00\x00\x00"sv);
}

TEST_CASE("a float with an integer value stays a float") {
  std::string bytes;
  Packer(bytes).real(1).real(-0.0).real(-3).real(18446744073709551616.0);
  CHECK(bytes ==
        "\xCB\x3F\xF0\x00\x00\x00\x00\x00\x00\xCB\x80\x00\x00\x00\x00\x00\x00\x00"
        "\xCB\xC0\x08\x00\x00\x00\x00\x00\x00\xCB\x43\xF0\x00\x00\x00\x00\x00\x00"sv);
}

TEST_CASE("text of any length is packed as str") {
  for (const std::size_t length : {0U, 31U, 32U, 255U, 256U, 65535U, 65536U}) {
    CAPTURE(length);
    const std::string text(length, 'x');
    std::string bytes;
    Packer(bytes).text(text);
    const auto first = static_cast<unsigned char>(bytes[0]);
    CHECK((first == 0xD9 || first == 0xDA || first == 0xDB || (first >= 0xA0 && first <= 0xBF)));
    CHECK(to_json(bytes)->text() == '"' + text + '"');
  }
}

TEST_CASE("packed JSON is converted back unchanged, with the last of equal keys") {
  for (const std::string_view json : {
           R"({"a": [1, -5, 1.5, 1.0, -0.0, 1e+16, true, false, null, "h\u0001\"é"], "b": {}, "c": []})",
           R"([9223372036854775807, -9223372036854775808, 9999999999999999999])",
           R"(["", {"": ""}])",
       }) {
    CHECK(to_json(packed(json))->text() == json);
  }
  CHECK(packed(R"({"x": 1, "y": 2, "x": 3})") == "\x82\xA1y\x02\xA1x\x03");
  for (const std::string text : {"20261120233651543848", "18446744073709551615", "-9223372036854775809",
                                 "123456789012345678901234567890"}) {
    CHECK(to_json(packed(text))->text() == '"' + text + '"');
  }
  CHECK(packed("9223372036854775808") == "\xCF\x80\x00\x00\x00\x00\x00\x00\x00"sv);
  CHECK(packed("-0") == "\x00"sv);
}

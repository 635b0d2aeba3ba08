// SPDX-License-Identifier: MIT
#include "master/salt/packed/packed.h"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"

using namespace std::string_view_literals;
using rest_fcgi::ErrorKind;
using rest_fcgi::Result;
using rest_fcgi::salt::each_element;
using rest_fcgi::salt::each_member;
using rest_fcgi::salt::kMaxDepth;
using rest_fcgi::salt::PackedValue;
using rest_fcgi::salt::read_texts;
using rest_fcgi::salt::to_json;

using Kind = PackedValue::Kind;

namespace {

std::string error_of(std::string_view bytes) {
  auto value = PackedValue::read(bytes);
  return value ? "none" : value.error().message;
}

}  // namespace

TEST_CASE("PackedValue has kind and content") {
  CHECK(PackedValue::read("\xC0")->kind == Kind::nil);
  CHECK(PackedValue::read("\xC3")->kind == Kind::boolean);
  CHECK(PackedValue::read("\xC3")->boolean);
  CHECK(!PackedValue::read("\xC2")->boolean);
  CHECK(PackedValue::read("\xFF")->kind == Kind::integer);
  CHECK(PackedValue::read("\xFF")->integer == -1);
  CHECK(PackedValue::read("\xCC\x80")->integer == 128);
  CHECK(PackedValue::read("\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF")->integer ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(PackedValue::read("\xCA\x3F\x00\x00\x00"sv)->kind == Kind::real);
  CHECK(PackedValue::read("\xCA\x3F\x00\x00\x00"sv)->real == 0.5);
  CHECK(PackedValue::read("\xCB\x3F\xF8\x00\x00\x00\x00\x00\x00"sv)->real == 1.5);
  CHECK(PackedValue::read("\xD4\x05z")->kind == Kind::extension);

  const std::string_view text = "\xA2hi";
  CHECK(PackedValue::read(text)->kind == Kind::text);
  CHECK(PackedValue::read(text)->text == "hi");
  CHECK(PackedValue::read(text)->text.data() == text.data() + 1);
  CHECK(PackedValue::read("\xC4\x01\xFF")->kind == Kind::text);
  CHECK(PackedValue::read("\xC4\x01\xFF")->text == "\xFF");
}

TEST_CASE("inner values do not change the outer value") {
  auto array = PackedValue::read("\x95\xC3\x05\xA2hi\x81\x01\x02\xCB\x3F\xF8\x00\x00\x00\x00\x00\x00"sv);
  REQUIRE(array);
  CHECK(array->kind == Kind::array);
  CHECK(!array->boolean);
  CHECK(array->integer == 0);
  CHECK(array->real == 0);
  CHECK(array->text.empty());
  CHECK(PackedValue::read("\x81\xA1x\xC0")->kind == Kind::map);
}

TEST_CASE("PackedValue::read needs exactly one value") {
  CHECK(error_of("") == "Malformed msgpack: cut short: byte 0");
  CHECK(error_of("\xA5hi") == "Malformed msgpack: cut short: byte 1");
  CHECK(error_of("\xC0\xC0") == "Malformed msgpack: more than one value: byte 1");
  CHECK(error_of("\xC1") == "Malformed msgpack: a byte that begins no value: byte 0");
  CHECK(error_of(std::string(kMaxDepth, '\x91') + "\x01") == "none");
  CHECK(error_of(std::string(kMaxDepth + 1, '\x91') + "\x01") ==
        "Malformed msgpack: nested deeper than 600 levels: byte 600");
  CHECK(PackedValue::read("").error().kind == ErrorKind::internal);
}

TEST_CASE("each_element shows elements in order") {
  std::vector<std::string> shown;
  const auto show = [&shown](const PackedValue& element) {
    shown.emplace_back(to_json(element.packed)->text());
  };
  REQUIRE(each_element("\x93\x01\x92\x02\x03\xA1x", show));
  CHECK(shown == std::vector<std::string>{"1", "[2, 3]", "\"x\""});
  shown.clear();
  REQUIRE(each_element("\xDC\x00\x01\xC0"sv, show));
  REQUIRE(each_element("\xDD\x00\x00\x00\x01\xC3"sv, show));
  REQUIRE(each_element("\x90", show));
  REQUIRE(each_element("\xDC\x00\x00"sv, show));
  CHECK(shown == std::vector<std::string>{"null", "true"});
}

TEST_CASE("each_member shows members in order") {
  std::string shown;
  const auto show = [&shown](const PackedValue& key, const PackedValue& value) {
    shown += to_json(key.packed)->text() + "=" + to_json(value.packed)->text() + ";";
  };
  REQUIRE(each_member("\x83\xA1x\x01\x05\x90\x91\x01\x81\x02\x03", show));
  CHECK(shown == "\"x\"=1;5=[];[1]={\"2\": 3};");
  shown.clear();
  REQUIRE(each_member("\x80", show));
  REQUIRE(each_member("\xDE\x00\x01\xC0\xC2"sv, show));
  REQUIRE(each_member("\xDF\x00\x00\x00\x01\xC0\xC3"sv, show));
  CHECK(shown == "null=false;null=true;");
}

TEST_CASE("walking over another type is an error with its name") {
  const auto ignore = [](const PackedValue&) {};
  const auto ignore_both = [](const PackedValue&, const PackedValue&) {};
  const auto elements = [&](std::string_view bytes) { return each_element(bytes, ignore).error().message; };
  const auto members = [&](std::string_view bytes) {
    return each_member(bytes, ignore_both).error().message;
  };
  CHECK(elements("\x81\x01\x02") == "Expected msgpack of an array, found a map");
  CHECK(elements("\xC0") == "Expected msgpack of an array, found nil");
  CHECK(members("\x91\x01") == "Expected msgpack of a map, found an array");
  CHECK(members("\x90") == "Expected msgpack of a map, found an array");
  CHECK(members("\xA1x") == "Expected msgpack of a map, found a str");
  CHECK(members("\xC2") == "Expected msgpack of a map, found a bool");
  CHECK(members("\x05") == "Expected msgpack of a map, found an int");
  CHECK(members("\xCA\x3F\x00\x00\x00"sv) == "Expected msgpack of a map, found a float");
  CHECK(members("\xD4\x05z") == "Expected msgpack of a map, found an ext");
  CHECK(members("\x91") == "Malformed msgpack: cut short: byte 1");
  CHECK(members("") == "Malformed msgpack: cut short: byte 0");
  CHECK(members("\xDE\x00"sv) == "Malformed msgpack: cut short: byte 1");
}

TEST_CASE("walking over a damaged container stops there") {
  int shown = 0;
  const auto count = [&shown](const PackedValue&) { ++shown; };
  const auto count_both = [&shown](const PackedValue&, const PackedValue&) { ++shown; };
  CHECK(each_element("\x93\x01\x02", count).error().message == "Malformed msgpack: cut short: byte 3");
  CHECK(each_element("\xDD\xFF\xFF\xFF\xFF\x01", count).error().message ==
        "Malformed msgpack: cut short: byte 6");
  CHECK(shown == 3);
  CHECK(each_element("\x91\x01\x02", count).error().message ==
        "Malformed msgpack: more than one value: byte 2");
  CHECK(each_member("\x82\x01\x02\x03", count_both).error().message ==
        "Malformed msgpack: cut short: byte 4");
  CHECK(each_member("\xDF\xFF\xFF\xFF\xFF\x01", count_both).error().message ==
        "Malformed msgpack: cut short: byte 6");
  CHECK(each_member("\x82\x01\x02\xC1", count_both).error().message ==
        "Malformed msgpack: a byte that begins no value: byte 3");
  CHECK(each_member("\x80\x80", count_both).error().message ==
        "Malformed msgpack: more than one value: byte 1");
  const std::string deep = "\x91" + std::string(kMaxDepth, '\x91') + "\x01";
  CHECK(each_element(deep, count).error().message ==
        "Malformed msgpack: nested deeper than 600 levels: byte 600");
}

using rest_fcgi::ErrorKind;
using rest_fcgi::salt::Fields;
using rest_fcgi::salt::PackedValue;
using rest_fcgi::salt::read_texts;
using rest_fcgi::test::event_data;
using rest_fcgi::test::vector_file;

TEST_CASE("Fields finds only the wanted members") {
  const std::string data = event_data("07-event-job-ret.bin");
  auto fields = Fields::read(data, {"cmd", "id", "jid", "retcode", "success", "return", "out"});
  REQUIRE(fields);
  CHECK(fields->text("cmd") == "_return");
  CHECK(fields->text("id") == "pm-0");
  CHECK(fields->text("jid") == "20261120233651543848");
  REQUIRE(fields->find("retcode") != nullptr);
  CHECK(fields->find("retcode")->kind == PackedValue::Kind::integer);
  CHECK(fields->find("retcode")->integer == 0);
  REQUIRE(fields->find("success") != nullptr);
  CHECK(fields->find("success")->boolean);
  CHECK(to_json(fields->find("return")->packed)->text() == "true");
  CHECK(fields->find("out") == nullptr);
  CHECK(fields->find("fun") == nullptr);
  CHECK(fields->text("fun").empty());
  CHECK(fields->text("retcode").empty());
}

TEST_CASE("Fields ignores keys that are bin") {
  using namespace std::string_view_literals;
  for (const std::string_view bin : {"\xc4\x03"sv, "\xc5\x00\x03"sv, "\xc6\x00\x00\x00\x03"sv}) {
    const std::string map = std::string(
                                "\x82\xa3"
                                "cmd\xa1"
                                "a")
                                .append(bin)
                                .append(
                                    "cmd\xa1"
                                    "b");
    const auto fields = Fields::read(map, {"cmd"});
    REQUIRE(fields);
    CHECK(fields->text("cmd") == "a");
  }
}

TEST_CASE("Fields uses the last of equal names") {
  auto fields = Fields::read("\x83\xA1x\x01\xA1x\xA1y\xA1z\x05", {"x", "z"});
  REQUIRE(fields);
  CHECK(fields->text("x") == "y");
  CHECK(fields->find("z")->integer == 5);
}

TEST_CASE("Fields needs exactly one map") {
  const auto error_of = [](std::string_view bytes) { return Fields::read(bytes, {"x"}).error(); };
  CHECK(error_of("\xA8"
                 "bad load")
            .message == "Expected msgpack of a map, found a str");
  CHECK(error_of("\x81\xA1x").message == "Malformed msgpack: cut short: byte 3");
  CHECK(error_of("\x81\xA1x\x01\x01").message == "Malformed msgpack: more than one value: byte 4");
  CHECK(error_of("").kind == ErrorKind::internal);
}

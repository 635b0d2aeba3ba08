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
using rest_fcgi::salt::each_element;
using rest_fcgi::salt::each_member;
using rest_fcgi::salt::Fields;
using rest_fcgi::salt::kMaxDepth;
using rest_fcgi::salt::PackedValue;
using rest_fcgi::salt::to_json;
using rest_fcgi::test::event_data;

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
  CHECK(PackedValue::read("\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF")->integer ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(PackedValue::read("\xCA\x3F\x00\x00\x00"sv)->kind == Kind::real);
  CHECK(PackedValue::read("\xCA\x3F\x00\x00\x00"sv)->real == 0.5);
  CHECK(PackedValue::read("\xCB\x3F\xF8\x00\x00\x00\x00\x00\x00"sv)->real == 1.5);
  CHECK(PackedValue::read("\xD4\x05z")->kind == Kind::extension);

  CHECK(PackedValue::read("\x92\xA2hi\x05")->kind == Kind::array);
  CHECK(PackedValue::read("\x92\xA2hi\x05")->text.empty());
  CHECK(PackedValue::read("\x81\xA1x\xC0")->kind == Kind::map);

  const std::string_view text = "\xA2hi";
  CHECK(PackedValue::read(text)->kind == Kind::text);
  CHECK(PackedValue::read(text)->text == "hi");
  CHECK(PackedValue::read(text)->text.data() == text.data() + 1);
  CHECK(PackedValue::read("\xC4\x01\xFF")->kind == Kind::text);
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

TEST_CASE("each_element shows elements in order") {
  std::vector<std::string> shown;
  const auto show = [&shown](const PackedValue& element) {
    shown.emplace_back(to_json(element.packed)->text());
  };
  REQUIRE(each_element("\x93\x01\x92\x02\x03\xA1x", show));
  CHECK(shown == std::vector<std::string>{"1", "[2, 3]", "\"x\""});
}

TEST_CASE("each_member shows members in order") {
  std::string shown;
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

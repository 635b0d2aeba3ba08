// SPDX-License-Identifier: MIT
#include <optional>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "../calls/fixtures.h"
#include "master/salt/packed/packed.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json_document.h"

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using namespace std::string_view_literals;
using test::event_data;

namespace {

std::string text_of(std::string_view bytes) {
  auto json = to_json(bytes);
  if (!json) return "error: " + json.error().message;
  return json->text();
}

std::string levels(std::size_t depth, std::string_view innermost) {
  return std::string(depth, '\x91') + std::string(innermost);
}

}  // namespace

TEST_CASE("nil, booleans, integers, text, arrays and maps become JSON") {
  CHECK(text_of("\xC0") == "null");
  CHECK(text_of("\xC2") == "false");
  CHECK(text_of("\xC3") == "true");
  CHECK(text_of("\x00"sv) == "0");
  CHECK(text_of("\xE0") == "-32");
  CHECK(text_of("\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF") == "18446744073709551615");
  CHECK(text_of("\xD3\x80\x00\x00\x00\x00\x00\x00\x00"sv) == "-9223372036854775808");
  CHECK(text_of("\xA0") == R"("")");
  CHECK(text_of("\xA2hi") == R"("hi")");
  CHECK(text_of("\xA7h\xC3\xA9\xF0\x9F\x98\x80") == "\"h\xC3\xA9\xF0\x9F\x98\x80\"");
  CHECK(text_of("\xA5\"\\/\n\x01") == R"("\"\\/\n\u0001")");
  CHECK(text_of("\x90") == "[]");
  CHECK(text_of("\x80") == "{}");
  CHECK(text_of("\x93\x01\x91\x02\x90") == "[1, [2], []]");
  CHECK(text_of("\xDC\x00\x02\x01\xC0"sv) == "[1, null]");
  CHECK(text_of("\x82\xA1z\x01\xA1y\x80") == R"({"z": 1, "y": {}})");
  CHECK(text_of("\xDE\x00\x01\xA1z\x91\x80"sv) == R"({"z": [{}]})");
  CHECK(text_of("\xC4\x02hi") == R"("hi")");
  CHECK(text_of("\xC4\x00"sv) == R"("")");
  CHECK(text_of("\xC4\x02\xFF\xFE") == R"("//4=")");
  CHECK(text_of("\xC4\x04xy\xFF\x00"sv) == R"("eHn/AA==")");
  CHECK(text_of("\xA3x\xFFy") == "\"x\xEF\xBF\xBDy\"");
  CHECK(text_of("\xCB\x3F\xF0\x00\x00\x00\x00\x00\x00"sv) == "1.0");
  CHECK(text_of("\xCB\x3F\xB9\x99\x99\x99\x99\x99\x9A") == "0.1");
  CHECK(text_of("\xCB\x43\x41\xC3\x79\x37\xE0\x80\x00"sv) == "1e+16");
  CHECK(text_of("\xCB\x3E\x7A\xD7\xF2\x9A\xBC\xAF\x48") == "1e-07");
  CHECK(text_of("\xCB\x80\x00\x00\x00\x00\x00\x00\x00"sv) == "-0.0");
  CHECK(text_of("\xCB\x00\x00\x00\x00\x00\x00\x00\x01"sv) == "5e-324");
  CHECK(text_of("\xCA\x3D\xCC\xCC\xCD") == "0.10000000149011612");
  CHECK(text_of("\xCB\x7F\xF8\x00\x00\x00\x00\x00\x00"sv) == "null");
  CHECK(text_of("\xCB\x7F\xF0\x00\x00\x00\x00\x00\x00"sv) == "null");
  CHECK(text_of("\xCA\xFF\x80\x00\x00"sv) == "null");
}

TEST_CASE("other keys become text as in Python's json, and an array or map its JSON text") {
  CHECK(text_of("\x81\x01\x02") == R"({"1": 2})");
  CHECK(text_of("\x81\xCB\x3F\xF8\x00\x00\x00\x00\x00\x00\xC0"sv) == R"({"1.5": null})");
  CHECK(text_of("\x83\xC0\x01\xC2\x02\xC3\x03") == R"({"null": 1, "false": 2, "true": 3})");
  CHECK(text_of("\x81\xCB\x7F\xF8\x00\x00\x00\x00\x00\x00\x01"sv) == R"({"NaN": 1})");
  CHECK(text_of("\x81\xCB\x7F\xF0\x00\x00\x00\x00\x00\x00\x01"sv) == R"({"Infinity": 1})");
  CHECK(text_of("\x81\xCB\xFF\xF0\x00\x00\x00\x00\x00\x00\x01"sv) == R"({"-Infinity": 1})");
  CHECK(text_of("\x81\xC4\x01\xFF\x01") == R"({"/w==": 1})");
  CHECK(text_of("\x81\xC7\x02\x05zz\x01") == R"({"zz": 1})");
  CHECK(text_of("\x81\x92\x01\xA1x\x02") == R"({"[1, \"x\"]": 2})");
  CHECK(text_of("\x81\x90\x91\x80") == R"({"[]": [{}]})");
  CHECK(text_of("\x82\x81\x01\x91\x80\xC0\x81\xA1x\x01\x81\xA1y\x02") ==
        R"({"{\"1\": [{}]}": null, "{\"x\": 1}": {"y": 2}})");
  CHECK(text_of("\x81\x81\x90\x01\x02") ==
        "error: Malformed msgpack: a key that is an array or map, inside another such key: byte 2");
}

TEST_CASE("Salt's date extension becomes an ISO 8601 date, and another extension its payload") {
  CHECK(text_of("\xC7\x18\x4E"
                "20261120T12:00:00.000000"sv) == R"("2026-11-20T12:00:00.000000")");
  CHECK(text_of("\x81\xC7\x18\x4E"
                "20260102T03:04:05.000006\x01"sv) == R"({"2026-01-02T03:04:05.000006": 1})");
  CHECK(text_of("\xC7\x18\x4E"
                "20261120T12:00:00,000000"sv) == R"("20261120T12:00:00,000000")");
  CHECK(text_of("\xD6\x4E"
                "2026"sv) == R"("2026")");
  CHECK(text_of("\xD4\x05z") == R"("z")");
  CHECK(text_of("\xC7\x00\x05"sv) == R"("")");
}

TEST_CASE("a named constant becomes its value, or is an error if it is malformed") {
  CHECK(text_of("\xC7\x04\x4F\x92\xA1N\x05") == "5");
  CHECK(text_of("\xC7\x08\x4F\x92\xA1N\x92\x01\x81\x02\x03") == R"([1, {"2": 3}])");
  CHECK(text_of("\x81\xC7\x04\x4F\x92\xA1N\x05\xC7\x05\x4F\x92\xA1N\xA1v") == R"({"5": "v"})");
  CHECK(text_of("\xC7\x0A\x4F\x92\xA1N\xC7\x04\x4F\x92\xA1M\x07") == "7");
  const std::string none =
      "error: Malformed msgpack: an extension of type 79 that is not an array of name and value: byte ";
  CHECK(text_of("\xC7\x00\x4F"sv) == none + "2");
  CHECK(text_of("\xC7\x02\x4FNN") == none + "4");
  CHECK(text_of("\xC7\x03\x4F\x92\xA1N") == "error: Malformed msgpack: cut short: byte 5");
}

TEST_CASE("nesting is limited, also that of named constants, and announced lengths cause no allocation") {
  auto within = to_json(levels(kMaxDepth, "\x01"));
  REQUIRE(within);
  JsonDocument document;
  CHECK(document.parse(within->text(), JsonLimits::none()));
  CHECK(text_of(levels(kMaxDepth, "\x90")) ==
        "error: Malformed msgpack: nested deeper than 600 levels: byte 600");
  CHECK(text_of(std::string(100000, '\x91')).find("deeper than 600") != std::string::npos);
  std::string maps;
  for (int i = 0; i < 601; ++i) maps += "\x81\xA0";
  CHECK(text_of(maps + "\xC0").find("deeper than 600") != std::string::npos);
  std::string packed = "\x05";
  for (int i = 0; i < 700; ++i) {
    const std::string inner = "\x92\xA0" + packed;
    packed = "\xC8" + std::string(1, static_cast<char>(inner.size() >> 8U)) +
             std::string(1, static_cast<char>(inner.size() & 0xFFU)) + "\x4F" + inner;
    if (i == 599) CHECK(text_of(packed) == "5");
  }
  CHECK(text_of(packed).find("deeper than 600") != std::string::npos);
  for (const std::string_view header :
       {"\xDD\xFF\xFF\xFF\xFF", "\xDF\xFF\xFF\xFF\xFF", "\xDB\xFF\xFF\xFF\xFF", "\xC6\xFF\xFF\xFF\xFF",
        "\xC9\xFF\xFF\xFF\xFF"}) {
    std::string out;
    CHECK(append_json(header, out).error().message.find("cut short") != std::string::npos);
    CHECK(out.capacity() < 64);
  }
}

namespace {

/// A redactor that hides members with the name `hide`, top-level members with the name `top`, and the part of
/// a text after a `!`.
class Words final : public Redactor {
 public:
  [[nodiscard]] Verdict of_member(std::string_view key, std::size_t depth) const override {
    if (key == "top") return depth == 1 ? Verdict::hide : Verdict::look_inside;
    return key == "hide" ? Verdict::hide : key == "show" ? Verdict::show : Verdict::look_inside;
  }
  [[nodiscard]] std::optional<std::string> shown(std::string_view text) const override {
    if (text.find('!') == std::string_view::npos) return std::nullopt;
    return std::string(text.substr(0, text.find('!'))) + "[hidden]";
  }
};

std::string discreet(std::string_view bytes) {
  const Words words;
  std::string text;
  REQUIRE(append_json(bytes, text, &words));
  return text;
}

std::string discreet_json(std::string_view json) {
  return discreet(test::packed(json));
}

}  // namespace

TEST_CASE("a hidden value is replaced, except nil and booleans, and a value that is shown is not examined") {
  for (const char* value : {"1", "-1", "1.5", R"("x")", "[]", "{}", R"([1, "x", {"hide": 1}])",
                            R"({"a": {"show": [1]}, "b": 2})"}) {
    CHECK_MESSAGE(discreet_json(format(R"({{"hide": {}, "next": [1, {{"hide": 2}}]}})", value)) ==
                      R"({"hide": "[hidden]", "next": [1, {"hide": "[hidden]"}]})",
                  value);
  }
  for (const char* value : {"null", "true", "false"}) {
    CHECK(discreet_json(format(R"({{"hide": {}, "next": 1}})", value)) ==
          format(R"({{"hide": {}, "next": 1}})", value));
  }
  CHECK(discreet("\x82\xA4hide\xC4\x01\xFF\xA1n\x01") == R"({"hide": "[hidden]", "n": 1})");
  CHECK(discreet("\x82\xA4hide\xC7\x01\x05z\xA1n\x01") == R"({"hide": "[hidden]", "n": 1})");
  CHECK(discreet("\x82\xA4hide\xC7\x05\x4F\x92\xA1N\x91\x01\xA1n\x01") == R"({"hide": "[hidden]", "n": 1})");
  CHECK(discreet("\x82\xC4\x04hide\x07\xA1n\x01") == R"({"hide": "[hidden]", "n": 1})");
  CHECK(discreet_json(R"({"show": {"hide": ["a!b"], "show": 1}, "hide": 2, "x": "a!b"})") ==
        R"({"show": {"hide": ["a!b"], "show": 1}, "hide": "[hidden]", "x": "a[hidden]"})");
  CHECK(discreet_json(R"([{"show": "a!b"}, "a!b", [[{"hide": 1}]]])") ==
        R"([{"show": "a!b"}, "a[hidden]", [[{"hide": "[hidden]"}]]])");
  CHECK(discreet_json(R"({"top": 1, "a": {"top": 1}, "b": [{"top": 1}]})") ==
        R"({"top": "[hidden]", "a": {"top": 1}, "b": [{"top": 1}]})");
  CHECK(discreet("\x81\x81\xA4hide\xA1x\x01") == R"({"{\"hide\": \"[hidden]\"}": 1})");
  CHECK(discreet("\x82\xA4hide\x81\x81\x91\x01\x02\x03\xA1n\x01") == R"({"hide": "[hidden]", "n": 1})");
}

namespace {

// The expected JSON is the output of `salt.utils.json.dumps` for these files.
constexpr std::pair<std::string_view, std::string_view> kEvents[] = {
    {"14-event-run-ret.bin",
     R"({"fun": "runner.test.arg", "jid": "20261120233655223239", "user": "ssdev", )"
     R"("fun_args": ["x", {"a": 1}], "_stamp": "2026-11-20T23:36:55.705731", "return": )"
     R"({"args": ["x"], "kwargs": {"a": 1}}, "success": true})"},
    {"23-event-ret-compound.bin",
     R"({"cmd": "_return", "id": "pm-0", "return": {"test.ping": true, "test.echo": )"
     R"("hi"}, "retcode": {"test.ping": 0, "test.echo": 0}, "success": {"test.ping": )"
     R"(true, "test.echo": true}, "jid": "20261120233659633627", "fun": ["test.ping", )"
     R"("test.echo"], "fun_args": [[], ["hi"]], "user": "ssdev", "_stamp": )"
     R"("2026-11-20T23:36:59.702374"})"},
};

}  // namespace

TEST_CASE(
    "events of a real master become the same JSON as in Salt, types that Salt cannot write valid JSON") {
  for (const auto& event : kEvents)
    CHECK_MESSAGE(text_of(event_data(event.first)) == event.second, event.first);
  const std::string data = event_data("22-event-ret-odd-types.bin");
  const auto fields = Fields::read(data, {"return"});
  CHECK(text_of(fields->find("return")->packed) ==
        "{\"nan\": null, \"inf\": null, \"u64\": 18446744073709551615, \"i64\": -9223372036854775808, "
        "\"bin\": \"//4=\", \"utf8\": \"h\xC3\xA9\xF0\x9F\x98\x80\", \"nil\": null, "
        "\"f\": 0.1, "
        "\"intkeys\": {\"1\": 2, \"-3\": 4}, \"dt\": \"2026-01-02T03:04:05.000006\", \"empty\": [[], {}, "
        "\"\"]}");
}

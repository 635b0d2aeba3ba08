// SPDX-License-Identifier: MIT
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "master/salt/packed/packed.h"

using rest_fcgi::ErrorKind;
using rest_fcgi::salt::Fields;
using rest_fcgi::salt::PackedValue;
using rest_fcgi::salt::read_texts;
using rest_fcgi::test::event_data;
using rest_fcgi::test::vector_file;

TEST_CASE("the wanted members of a map are found, and no others") {
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
  CHECK(fields->find("return")->json()->text() == "true");
  CHECK(fields->find("out") == nullptr);
  CHECK(fields->find("fun") == nullptr);
  CHECK(fields->text("fun").empty());
  CHECK(fields->text("retcode").empty());
}

TEST_CASE("a key that is a bin names no field") {
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

TEST_CASE("a map inside of a map is read from the field that it is") {
  const std::string reply = vector_file("09-publish-reply-missing.bin");
  auto fields = Fields::read(reply, {"load", "error"});
  REQUIRE(fields);
  CHECK(fields->find("error") == nullptr);
  REQUIRE(fields->find("load") != nullptr);
  auto load = Fields::read(fields->find("load")->packed, {"jid", "minions", "missing"});
  REQUIRE(load);
  CHECK(load->text("jid") == "20261120233653233435");
  CHECK(*read_texts(load->find("minions")->packed) == std::vector<std::string_view>{"pm-0"});
  CHECK(*read_texts(load->find("missing")->packed) == std::vector<std::string_view>{"ghost"});

  const std::string refusal = vector_file("15-runner-reply-not-authorized.bin");
  auto error = Fields::read(Fields::read(refusal, {"error"})->find("error")->packed, {"name", "message"});
  REQUIRE(error);
  CHECK(error->text("name") == "EauthAuthenticationError");
  CHECK(error->text("message") == "Authentication failure of type \"eauth\" occurred for user limited.");
}

TEST_CASE("a value that is nil is there") {
  const std::string reply = vector_file("08-publish-reply-no-match.bin");
  auto load = Fields::read(Fields::read(reply, {"load"})->find("load")->packed, {"jid", "error"});
  REQUIRE(load);
  REQUIRE(load->find("jid") != nullptr);
  CHECK(load->find("jid")->kind == PackedValue::Kind::nil);
  CHECK(load->text("error") == "Master could not resolve minions for target zz*");
}

TEST_CASE("the body of an event's frame is a field") {
  const std::string frame = vector_file("23-event-ret-compound.bin");
  auto fields = Fields::read(frame, {"body"});
  REQUIRE(fields);
  CHECK(fields->text("body").find("salt/job/20261120233659633627/ret/pm-0\n\n") == 0);
}

TEST_CASE("of members with the same name the last one counts") {
  auto fields = Fields::read("\x83\xA1x\x01\xA1x\xA1y\xA1z\x05", {"x", "z"});
  REQUIRE(fields);
  CHECK(fields->text("x") == "y");
  CHECK(fields->find("z")->integer == 5);
}

TEST_CASE("a name is text, and nothing else") {
  auto fields = Fields::read("\x83\xC4\x01x\x01\x05\x02\xC0\x03", {"x", "5", "null"});
  REQUIRE(fields);
  CHECK(fields->find("x") == nullptr);
  CHECK(fields->find("5") == nullptr);
  CHECK(fields->find("null") == nullptr);
}

TEST_CASE("fields are read from exactly one map") {
  const auto error_of = [](std::string_view bytes) { return Fields::read(bytes, {"x"}).error(); };
  CHECK(error_of("\xA8"
                 "bad load")
            .message == "Expected msgpack of a map, found a str");
  CHECK(error_of("\x81\xA1x").message == "Malformed msgpack: cut short: byte 3");
  CHECK(error_of("\x81\xA1x\x01\x01").message == "Malformed msgpack: more than one value: byte 4");
  CHECK(error_of("").kind == ErrorKind::internal);
}

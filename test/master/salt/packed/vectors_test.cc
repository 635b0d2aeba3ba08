// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "master/salt/packed/packed.h"

using rest_fcgi::salt::Fields;
using rest_fcgi::salt::to_json;
using rest_fcgi::test::event_data;
using rest_fcgi::test::vector_file;

namespace {

struct Expected {
  std::string_view file;
  std::string_view json;
};

// The expected JSON is the output of Salt's `salt.utils.json.dumps` for these files.
constexpr std::array<Expected, 17> kBodies = {{
    {"01-ping-request.bin", R"({"enc": "clear", "load": {"cmd": "ping"}, "version": 3})"},
    {"02-ping-reply.bin", R"({"cmd": "ping"})"},
    {"03-publish-request.bin",
     R"({"enc": "clear", "load": {"cmd": "publish", "tgt": "pm-0", "fun": "test.ping", )"
     R"("arg": [], "tgt_type": "glob", "ret": "", "user": "UNKNOWN", "kwargs": {"eauth":)"
     R"( "sharedsecret", "username": "ssdev", "password": "s3cret"}}, "version": 3})"},
    {"04-publish-reply.bin",
     R"({"enc": "clear", "load": {"jid": "20261120233651543848", "minions": ["pm-0"], )"
     R"("missing": []}})"},
    {"08-publish-reply-no-match.bin",
     R"({"enc": "clear", "load": {"jid": null, "minions": [], "error": "Master could not)"
     R"( resolve minions for target zz*"}})"},
    {"09-publish-reply-missing.bin",
     R"({"enc": "clear", "load": {"jid": "20261120233653233435", "minions": ["pm-0"], )"
     R"("missing": ["ghost"]}})"},
    {"10-publish-reply-auth-error.bin",
     R"({"error": {"name": "AuthenticationError", "message": "Authentication error )"
     R"(occurred."}})"},
    {"11-publish-reply-authz-error.bin",
     R"({"error": {"name": "AuthorizationError", "message": "Authorization error )"
     R"(occurred."}})"},
    {"12-runner-request.bin",
     R"({"enc": "clear", "load": {"cmd": "runner", "fun": "test.arg", "eauth": )"
     R"("sharedsecret", "username": "ssdev", "password": "s3cret", "kwarg": {"kwarg": )"
     R"({"a": 1}, "arg": ["x"]}}, "version": 3})"},
    {"13-runner-reply.bin", R"({"tag": "salt/run/20261120233655223239", "jid": "20261120233655223239"})"},
    {"15-runner-reply-not-authorized.bin",
     R"({"error": {"name": "EauthAuthenticationError", "message": "Authentication )"
     R"(failure of type \"eauth\" occurred for user limited."}})"},
    {"16-wheel-request.bin",
     R"({"enc": "clear", "load": {"cmd": "wheel", "fun": "key.list", "match": "acc", )"
     R"("eauth": "sharedsecret", "username": "ssdev", "password": "s3cret"}, "version": )"
     R"(3})"},
    {"17-wheel-reply.bin",
     R"({"tag": "salt/wheel/20261120233657314797", "data": {"fun": "wheel.key.list", )"
     R"("jid": "20261120233657314797", "tag": "salt/wheel/20261120233657314797", "user":)"
     R"( "ssdev", "_stamp": "2026-11-20T23:36:57.328671", "return": {"minions": ["pm-0",)"
     R"( "pm-1", "pm-2"]}, "success": true}})"},
    {"18-mk_token-reply.bin",
     R"({"start": 1795217817.9328873, "expire": 1795261017.9328876, "name": "ssdev", )"
     R"("eauth": "sharedsecret", "token": )"
     R"("e1549a74c5955da804e9a635cd30b5ab8433fe664483e894c32c1548cefd3a5b"})"},
    {"19-reply-bad-load-map.bin", R"({"msg": "bad load"})"},
    {"20-reply-bad-load-str.bin", R"("bad load")"},
    {"21-reply-exception-str.bin", R"("Some exception handling minion payload")"},
}};

constexpr std::array<Expected, 5> kEvents = {{
    {"05-event-minions.bin", R"({"minions": ["pm-0"], "_stamp": "2026-11-20T23:36:51.544161"})"},
    {"06-event-job-new.bin", R"({"jid": "20261120233651543848", "tgt_type": "glob", "tgt": "pm-0", "user": )"
                             R"("ssdev", "fun": "test.ping", "arg": [], "minions": ["pm-0"], "missing": [], )"
                             R"("_stamp": "2026-11-20T23:36:51.544830"})"},
    {"07-event-job-ret.bin",
     R"({"cmd": "_return", "id": "pm-0", "success": true, "return": true, "retcode": 0, )"
     R"("jid": "20261120233651543848", "fun": "test.ping", "fun_args": [], "user": )"
     R"("ssdev", "_stamp": "2026-11-20T23:36:51.624455"})"},
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
}};

}  // namespace

TEST_CASE("messages of a real master become the same JSON as in Salt") {
  for (const Expected& expected : kBodies) {
    CAPTURE(expected.file);
    auto json = to_json(vector_file(expected.file));
    REQUIRE(json);
    CHECK(json->text() == expected.json);
  }
}

TEST_CASE("events of a real master become the same JSON as in Salt") {
  for (const Expected& expected : kEvents) {
    CAPTURE(expected.file);
    auto json = to_json(event_data(expected.file));
    REQUIRE(json);
    CHECK(json->text() == expected.json);
  }
}

TEST_CASE("types that Salt cannot write become valid JSON") {
  const std::string data = event_data("22-event-ret-odd-types.bin");
  auto fields = Fields::read(data, {"return"});
  REQUIRE(fields);
  REQUIRE(fields->find("return") != nullptr);
  auto json = to_json(fields->find("return")->packed);
  REQUIRE(json);
  CHECK(json->text() ==
        "{\"nan\": null, \"inf\": null, \"u64\": 18446744073709551615, \"i64\": -9223372036854775808, "
        "\"bin\": \"//4=\", \"utf8\": \"h\xC3\xA9\xF0\x9F\x98\x80\", \"nil\": null, "
        "\"f\": 0.1, "
        "\"intkeys\": {\"1\": 2, \"-3\": 4}, \"dt\": \"2026-01-02T03:04:05.000006\", \"empty\": [[], {}, "
        "\"\"]}");
}

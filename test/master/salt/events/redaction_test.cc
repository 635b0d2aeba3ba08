// SPDX-License-Identifier: MIT
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "listeners.h"
#include "master/salt/events/bus_log.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/secrets.h"

using namespace rest_fcgi;
using master::TextKind;
using test::HeardBus;

namespace {

/// The secret in the events of the tests. No listener may see this text.
constexpr std::string_view kCanary = "c4nary-s3cret";

struct Case {
  const char* what;
  const char* tag;
  const char* data;  ///< The event's data, in which CANARY marks each secret.
};

constexpr Case kCases[] = {
    {"a refused publish with an own jid: password and root key", "salt/job/20261120233651543848/error",
     R"({"cmd": "publish", "tgt": "*", "fun": "test.ping", "arg": [], "key": "CANARY", "user": "root",
         "kwargs": {"eauth": "pam", "username": "fred", "password": "CANARY", "delimiter": ":"},
         "error": {"name": "AuthenticationError", "message": "Authentication error occurred."}})"},
    {"a refused publish: the name of its eauth", "salt/job/error", R"({"kwargs": {"eauth": "CANARY"}})"},
    {"an error of a minion's function", "_salt_error",
     R"({"id": "ms-0", "data": {"message": "x", "key": "CANARY", "args": ["password=CANARY"]}})"},
    {"a new job: a command line", "salt/job/20261120233651543848/new",
     R"({"fun": "cmd.run", "arg": ["curl -H 'X-Auth-Token: CANARY' x", "mysql --password CANARY db", "x --token=CANARY"]})"},
    {"a new job: pillar", "salt/job/20261120233651543848/new",
     R"({"fun": "state.apply", "arg": [{"__kwarg__": true, "pillar": {"db": [{"Root_Password": "CANARY"}]}}]})"},
    {"a job as its minions get it", "salt/job/20261120233651543848/publish",
     R"({"fun": "x.y", "arg": ["token=CANARY", {"__kwarg__": true, "secret": "CANARY"}], "ret": "",
         "ret_kwargs": {"password": "CANARY"}})"},
    {"a return: the arguments that it repeats", "salt/job/20261120233651543848/ret/ms-0",
     R"({"cmd": "_return", "return": true, "fun_args": ["password=CANARY", {"passwd": "CANARY"}],
         "metadata": {"token": "CANARY"}})"},
    {"the same under the bare id", "20261120233651543848",
     R"({"cmd": "_return", "return": true, "fun_args": [{"sharedkey": "CANARY"}]})"},
    {"a runner returns what it made", "salt/run/20261120233651543848/ret",
     R"({"fun": "runner.vault.generate_token", "return": {"token": "CANARY", "url": "x"}})"},
    {"wheel key.gen", "salt/wheel/20261120233651543848/ret",
     R"({"fun": "wheel.key.gen", "return": {"pub": "-----BEGIN PUBLIC", "priv": "CANARY"}, "success": true})"},
    {"a hook: its caller's session", "salt/netapi/hook/x",
     R"({"body": "", "post": {}, "headers": {"X-Auth-Token": "CANARY", "Cookie": "session_id=CANARY",
         "Authorization": "Basic CANARY", "Proxy-Authorization": "Basic CANARY", "Host": "h"}})"},
    {"a hook: what was posted", "salt/netapi/hook/x",
     R"({"body": "user=fred&password=CANARY&x=1", "post": {"password": "CANARY"}, "headers": {}})"},
    {"a hook: JSON that was posted", "salt/netapi/hook/x",
     R"({"body": "{\"user\": \"fred\", \"secretkey\" : \"CANARY\"}", "post": {"secretkey": "CANARY"}})"},
    {"a minion's own event", "my/tag",
     R"({"cmd": "_minion_event", "id": "ms-0", "data": {"db": {"password": "CANARY"}}})"},
    {"masters among themselves", "cluster/peer/m1",
     R"({"peers": {"m2": {"aes": "CANARY"}}, "payload": "CANARY"})"},
};

bool names_a_secret(std::string_view name) {
  return master::secrecy_of(name) != master::Secrecy::shown;
}

std::string with_canary(std::string text) {
  for (std::size_t at; (at = text.find("CANARY")) != std::string::npos;) text.replace(at, 6, kCanary);
  return text;
}

}  // namespace

TEST_CASE("secrets in events are hidden") {
  HeardBus bus;
  for (const Case& event : kCases) {
    CAPTURE(event.what);
    const std::string shown = bus.shown(event.tag, with_canary(event.data));
    CAPTURE(shown);
    CHECK(shown.find(kCanary) == std::string::npos);
    CHECK(shown.find("[hidden]") != std::string::npos);
  }
}

TEST_CASE("returns of minions are not redacted") {
  HeardBus bus;
  for (const char* tag : {"salt/job/20261120233651543848/ret/ms-0", "20261120233651543848"}) {
    for (const char* data :
         {R"({"return": {"password": "x", "token": ["secret=y"]}, "retcode": 0})",
          R"({"return": "password: x"})",
          R"({"return": {"m.token": 1}, "retcode": {"m.token": 0}, "success": {"m.token": true}})"}) {
      CHECK(bus.shown(tag, data) == data);
    }
    CHECK(bus.shown(tag, R"({"return": {"token": 1}, "more": {"return": {"token": 1}}})") ==
          R"({"return": {"token": 1}, "more": {"return": {"token": "[hidden]"}}})");
  }
  for (const char* data :
       {R"({"data": {"return": {"password": "x"}}})", R"({"data": {"ret": {"a": "token=x"}, "len": 1}})"}) {
    CHECK(bus.shown("salt/job/20261120233651543848/prog/ms-0/1", data) == data);
  }
}

TEST_CASE("members that are not secret, and counts under plural names, are shown") {
  HeardBus bus;
  const std::pair<const char*, const char*> events[] = {
      {"salt/auth", R"({"result": true, "act": "accept", "id": "ms-0", "pub": "-----BEGIN PUBLIC KEY"})"},
      {"salt/presence/present", R"({"present": ["ms-0", "token-1"]})"},
      {"salt/job/20261120233651543848/new",
       R"({"jid": "1", "tgt": "G@os:x and *", "arg": ["a=b", {"key": "os", "__kwarg__": true}], "missing": []})"},
      {"salt/job/20261120233651543848/sub/ms-0/error/state.sls",
       R"({"comment": "no = no", "result": false})"},
      {"salt/stats/1", R"({"key": {"eauth": "pam", "payload": 1.5}})"},
      {"my/tag", R"({"data": {"key": "value", "password_file": "/x", "no_token": null, "has_token": true}})"},
      {"salt/netapi/hook/x",
       R"({"data": {"tokens": 3, "max_tokens": 4096, "passwords": "12", "bypass": "on"}})"},
      {"salt/netapi/hook/x",
       R"({"body": "tokens=3&compass=north", "post": {"tokens": "3", "compass": "north"}})"}};
  for (const auto& [tag, data] : events) CHECK(bus.shown(tag, data) == data);
}

TEST_CASE("a name is secret if its last word is") {
  for (const char* name : {"password",     "PASSWORD",      "db_password",    "db.pass",
                           "X-Auth-Token", "tokens",        "apiKey",         "aws_secret_access_key",
                           "private_key",  "cookies",       "rootpw",         "token_",
                           "password1",    "db_password_2", "APIKey",         "accessToken",
                           "api-keys",     "API key",       "dbpass",         "password_confirmation",
                           "newPassword",  "oauth2token",   "user[password]", "sshkey",
                           "ssh_key",      "jwt",           "id_jwt",         "bearer",
                           "passkey"}) {
    CAPTURE(name);
    CHECK(names_a_secret(name));
  }
  for (const char* name : {"",          "s",           "key",     "pub",       "password_file", "tokenizer",
                           "keys",      "public_key",  "id",      "user",      "eauth",         "return",
                           "tok en 1",  "bypass",      "by_pass", "sslBypass", "compass",       "secretary",
                           "passenger", "token_count", "monkey",  "hot_key",   "step_wd"}) {
    CAPTURE(name);
    CHECK_FALSE(names_a_secret(name));
  }
  CHECK(names_a_secret("ssh_key_passphrase"));
  CHECK(names_a_secret(std::string(1000, 'x') + "token"));
}

TEST_CASE("a value other than a count under a plural name is hidden") {
  CHECK(
      HeardBus().shown(
          "my/tag",
          R"({"data": {"tokens": ["a", 1], "secrets": {"a": 1}, "token": 5, "passwords": "x1"}})") ==
      R"({"data": {"tokens": "[hidden]", "secrets": "[hidden]", "token": "[hidden]", "passwords": "[hidden]"}})");
}

TEST_CASE("in a text only the value after a secret's name is hidden") {
  const auto shown = [](std::string_view text, TextKind kind = TextKind::plain) {
    return master::without_secrets(text, kind).value_or(std::string(text));
  };
  struct Text {
    const char* shown;  ///< The text that listeners get, in which [hidden] replaces each secret.
    const char* secret = "x";
    TextKind kind = TextKind::plain;
  };
  for (const Text& text : {
           Text{"password=[hidden]"},
           Text{"a=1&password=[hidden]&b=2"},
           Text{"password=[hidden]", "a b;\nc&d", TextKind::argument},
           Text{"password=[hidden]", "'a' b", TextKind::argument},
           Text{"mysql password=[hidden] b", "x", TextKind::argument},
           Text{"password=[hidden]&x", "a;b,c"},
           Text{"password=[hidden], b=2"},
           Text{"password=[hidden] other"},
           Text{"password=[hidden]\tb"},
           Text{"password=[hidden]\r\nb"},
           Text{"a 'password=[hidden]' b"},
           Text{"a=b password = [hidden]; c"},
           Text{"secret = [hidden], x = y"},
           Text{"secret = [hidden]; x"},
           Text{"password=\"[hidden]\"&b=2"},
           Text{"password=\"[hidden]\" a b"},
           Text{"password='[hidden]'; b", "two words"},
           Text{"password=\"[hidden]", "never closed & so on"},
           Text{"<a token=\"[hidden]\"/>", "a b"},
           Text{"sshkey=[hidden] b"},
           Text{"user%5Bpassword%5D=[hidden]&b=2"},
           Text{"user[password]=[hidden]&b=2"},
           Text{"tokens=[hidden]\nb", "[\"a\", {\"b\": 1}]"},
           Text{"mysql -u x --password [hidden] db"},
           Text{"mysql --password '[hidden]' db", "a b"},
           Text{"mysql --password=\"[hidden]\" db", "a b"},
           Text{"\"--password\"  [hidden]"},
           Text{R"({"cmd": "mysql --password [hidden]", "b": 2})"},
           Text{R"({"msg": "a password=[hidden]; b", "c": 2})"},
           Text{R"({"a": 1, "token": "[hidden]", "b": 2})", R"(a\"b, c})"},
           Text{R"({"a": 1, "token": "[hidden]", "b": 2})", R"(a\\)"},
           Text{R"({'a': 1, 'token': '[hidden]', 'b': 2})", "a, b"},
           Text{R"({\"token\": \"[hidden]\", \"b\": 2})", R"(a\\\"b)"},
           Text{R"({"a": {"bypass": "on"}, "api_key" : "[hidden]"})"},
           Text{R"({"tokens": [hidden])", R"(["a", "b"]})"},
           Text{"login refused: password: [hidden]\nb", "two words, or more"},
           Text{"user: fred\npassword: [hidden]\nhost: h\n", "my, pass"},
           Text{"a:\n  - password: '[hidden]'\n    b: 1\n", "a b"},
           Text{"X-Auth-Token: [hidden]\r\nHost: h\r\n"},
           Text{"Authorization: [hidden]\r\nHost: h", "Basic abc="},
           Text{"Cookie: [hidden]\r\nHost: h", "a=1; session_id=2"},
           Text{"curl -H 'X-Auth-Token: [hidden]' http://h/", "a b"},
           Text{"clone https://user:[hidden]@host/x?y@z", "a@b:c"},
           Text{"url=redis://:[hidden]@host&b=2"},
       }) {
    std::string whole = text.shown;
    whole.replace(whole.find("[hidden]"), 8, text.secret);
    CAPTURE(whole);
    CHECK(shown(whole, text.kind) == text.shown);
  }
  CHECK(shown(R"({"a": 1, "token":5, "tokens": "12", "secret": "x"})") ==
        R"({"a": 1, "token":[hidden]"tokens": "12", "secret": "[hidden]"})");
  CHECK(shown("token=a&b=1&secret=b&c") == "token=[hidden]&b=1&secret=[hidden]&c");
  CHECK(shown(std::string(1000, 'x') + "token = y") == std::string(1000, 'x') + "token = [hidden]");
  for (const char* plain : {"",
                            "=",
                            ":",
                            " ",
                            "a password is a word",
                            "x=password",
                            "user:pass@host",
                            "-p x",
                            "password, a=b",
                            "password\n=x",
                            "x=token y=z",
                            "password=&a=b",
                            "--password",
                            "usage: x <token> <file>",
                            "<token>b</token>",
                            "http://h:80/a@b",
                            "https://user@host",
                            "name=\"password\"",
                            "password:\nuser: x",
                            "bypass=on&compass: north",
                            R"({"bypass": "on"})"}) {
    CHECK(shown(plain) == plain);
  }
}

TEST_CASE("an argument NAME=VALUE of a job is hidden to its end, another text up to a blank") {
  HeardBus bus;
  CHECK(bus.shown("my/tag", R"({"a": "password=x y"})") == R"({"a": "password=[hidden] y"})");
  CHECK(bus.shown("salt/job/20261120233651543848/new", R"({"arg": ["password=x y"]})") ==
        R"({"arg": ["password=[hidden]"]})");
}

TEST_CASE("redaction takes linear time") {
  constexpr std::size_t kSize = 300'000;
  constexpr std::size_t kBlanks = 100'000;
  for (const char* part :
       {" ",           "\\",       "\"",        "-",           "a",          "=",         ":",
        "-a ",         "-a=",      "a: ",       "a\" \\",      "-a \" ' ",   " : ",       "://",
        "a://",        "a:token ", "token= \n", "token=\"\" ", "--token \n", "tokens=1 ", "token]\\\"",
        "x token:x, ", "token=x ", "token=\"x", "token=[x\n"}) {
    CAPTURE(part);
    std::string text;
    while (text.size() < kSize) text += part;
    CHECK(master::without_secrets(text).has_value() ==
          (std::string_view(part).find("x") != std::string_view::npos));
    const std::string name = "password" + std::string(kBlanks, ' ') + "=";
    CHECK(master::without_secrets(name + "\"x" + text).value_or("").starts_with(name));
  }
}

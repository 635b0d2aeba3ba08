// SPDX-License-Identifier: MIT
#include "rest_fcgi/lowstate/lowstate.h"

#include <doctest/doctest.h>

#include "read.h"

namespace rest_fcgi::lowstate {
namespace {

using auth::Credentials;
using test::check_refused;
using test::local_with;
using test::Read;
using test::refusal;

TEST_CASE("a body is a list of a limited number of chunks, which may be empty, or one chunk") {
  CHECK(Read("[]").chunks().empty());
  const Read read(R"({"client": "wheel", "fun": "key.list_all"})");
  REQUIRE(read.chunks().size() == 1);
  CHECK(read.chunks()[0].client == Client::wheel);
  CHECK(refusal("42") == "The body must be a list of lowstate objects; found int.");
  CHECK(refusal("null") == "The body must be a list of lowstate objects; found NoneType.");
  CHECK(refusal("\"[]\"") == "The body must be a list of lowstate objects; found str.");
  const Read two(
      R"([{"client": "local", "tgt": "*", "fun": "test.ping"}, {"client": "runner", "fun": "manage.up"}])");
  REQUIRE(two.chunks().size() == 2);
  CHECK(two.chunks()[0].index == 0);
  CHECK(two.chunks()[0].client == Client::local);
  CHECK(two.chunks()[1].index == 1);
  CHECK(two.chunks()[1].client == Client::runner);
  CHECK(refusal(R"([{"client": "runner", "fun": "a.b"}, "x"])") ==
        "Lowstate chunk 1: the chunk must be an object; found str.");
  CHECK(refusal("[{}, {}, {}]", {.json = {}, .max_chunks = 2}) ==
        "The body has 3 lowstate chunks; at most 2 are accepted.");
}

TEST_CASE("an unknown client is refused with Salt's text") {
  CHECK(refusal(R"({"client": "foo"})") == "Invalid client specified: 'foo'");
  CHECK(refusal(R"({"fun": "test.ping"})") == "Invalid client specified: 'None'");
  CHECK(refusal(R"({"client": null})") == "Invalid client specified: 'None'");
  CHECK(refusal(R"({"client": ["local"]})") == "Invalid client specified: '['local']'");
  CHECK(refusal(R"({"client": ""})") == "Invalid client specified: ''");
}

TEST_CASE("a token wins over eauth credentials, and empty credentials count as absent") {
  using Kind = Credentials::Kind;
  const auto kind_with = [](const std::string& keys) {
    return Read(R"({"client": "runner", "fun": "a.b", )" + keys + "}").chunk().credentials.kind;
  };
  const std::string pam = R"("eauth": "pam", "username": "u", "token": )";
  CHECK(kind_with(pam + R"("ab")") == Kind::token);
  for (const std::string empty : {"null", R"("")", "[]", "{}"}) {
    CAPTURE(empty);
    CHECK(kind_with(pam + empty) == Kind::eauth);
    CHECK(kind_with(R"("token": "ab", "username": )" + empty + R"(, "password": )" + empty +
                    R"(, "eauth": )" + empty) == Kind::token);
    CHECK(kind_with(R"("username": "u", "password": "p", "eauth": )" + empty) == Kind::none);
  }
  CHECK(kind_with(R"("username": "u", "password": "p")") == Kind::none);
  CHECK(kind_with(R"("eauth": "pam")") == Kind::eauth);
  const Read read(R"({"client": "runner", "fun": "a.b", "eauth": "pam", "username": "u", "password": "p"})");
  const Credentials& credentials = read.chunk().credentials;
  CHECK(credentials.kind == Credentials::Kind::eauth);
  CHECK(credentials.eauth == "pam");
  CHECK(credentials.username == "u");
  CHECK(credentials.password.reveal() == "p");
}

TEST_CASE("credentials of another type are refused without showing them") {
  for (const std::string key : {"eauth", "username", "password", "token"}) {
    const std::string chunk = R"({"client": "runner", "fun": "a.b", ")" + key + "\": ";
    check_refused({{chunk + "40961}", "'" + key + "' must be a string; found int."},
                   {chunk + "[1]}", "'" + key + "' must be a string; found list."}});
  }
}

const ReadOptions kWithExprForm{.has_expr_form = true};

TEST_CASE("expr_form is accepted for tgt_type, which wins, and an empty target matches no minion") {
  const auto type_of = [](const std::string& keys) {
    return Read(local_with(keys), {}, kWithExprForm).local().target.type;
  };
  CHECK(type_of(R"("expr_form": "grain")") == TargetType::grain);
  CHECK(type_of(R"("expr_form": "grain", "tgt_type": "pcre")") == TargetType::pcre);
  CHECK(type_of(R"("expr_form": "grain", "tgt_type": "")") == TargetType::grain);
  CHECK(Read(local_with(R"("expr_form": "x")"), {}, kWithExprForm)
            .error()
            .message.starts_with("Lowstate chunk 0: 'expr_form' is 'x'; accepted are "));
  CHECK(Read(R"({"client": "local", "fun": "a.b", "tgt": ""})").local().target.expression.empty());
  CHECK(Read(R"({"client": "local", "fun": "a.b", "tgt": [], "tgt_type": "list"})")
            .local()
            .target.list.empty());
  CHECK(refusal(R"({"client": "local", "fun": "a.b", "tgt": null})").find("'tgt' is missing") !=
        std::string::npos);
}

TEST_CASE("an empty value counts as absent") {
  for (const std::string empty : {"null", "\"\"", "[]", "{}"}) {
    for (const std::string key : {"tgt_type", "expr_form", "delimiter", "arg", "kwarg", "timeout",
                                  "gather_job_timeout", "full_return", "ret", "jid", "metadata", "batch",
                                  "batch_wait", "failhard", "raw", "subset", "sub"}) {
      CAPTURE(key);
      for (const std::string client : {"local", "local_batch", "local_subset"}) {
        const Read read(local_with("\"" + key + "\": " + empty, client));
        REQUIRE(read.chunks().size() == 1);
        CHECK(read.local().target.type == TargetType::glob);
        CHECK(read.local().target.delimiter == ":");
        CHECK(read.local().functions.front().args.empty());
        CHECK(!read.local().timeout);
        CHECK(!read.local().metadata);
        CHECK(read.local().batch.percent);
        CHECK(read.local().subset == 3);
      }
    }
    for (const std::string key : {"arg", "kwarg", "timeout", "full_return"}) {
      CAPTURE(key);
      const Read read(R"({"client": "runner", "fun": "a.b", ")" + key + "\": " + empty + "}");
      REQUIRE(read.chunks().size() == 1);
      CHECK(read.chunk().master().function.args.empty());
      CHECK(read.chunk().master().function.kwargs.empty());
    }
  }
}

TEST_CASE("blank text counts as absent for numbers, names and maps") {
  for (const std::string key :
       {"tgt_type", "expr_form", "kwarg", "timeout", "gather_job_timeout", "full_return", "jid", "metadata",
        "batch", "batch_wait", "failhard", "raw", "subset", "sub"}) {
    CAPTURE(key);
    for (const std::string client : {"local", "local_batch", "local_subset"}) {
      CHECK(Read(local_with("\"" + key + "\": \" \"", client), {}, kWithExprForm).chunks().size() == 1);
    }
  }
  for (const std::string text : {"{}", "[]", " {} "}) {
    CHECK(!Read(local_with("\"metadata\": \"" + text + "\", \"kwarg\": \"" + text + "\"")).local().metadata);
  }
  CHECK(Read(local_with(R"("arg": " ")")).local().functions.front().args.size() == 1);
}

TEST_CASE("ReadOptions::client overrides the client of chunks") {
  const ReadOptions async{.client = Client::local_async};
  const std::string chunks =
      R"([{"tgt": "*", "fun": "a.b"}, {"client": "nosuch", "tgt": "*", "fun": "a.b"}])";
  const Read read(chunks, {}, async);
  REQUIRE(read.chunks().size() == 2);
  CHECK(read.chunks()[0].client == Client::local_async);
  CHECK(read.chunks()[1].client == Client::local_async);
}

}  // namespace
}  // namespace rest_fcgi::lowstate

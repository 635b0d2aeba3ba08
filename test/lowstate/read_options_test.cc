// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "read.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;
using lowstate::Client;
using lowstate::TargetType;

namespace {

const lowstate::ReadOptions kWithExprForm{.has_expr_form = true};

/// Values that some clients send for an unused field.
const std::vector<std::string> kNotSet{"null", "\"\"", "[]", "{}"};

}  // namespace

TEST_CASE("expr_form is accepted for tgt_type, which wins") {
  const auto type_of = [](const std::string& keys) {
    return Read(local_with(keys), {}, kWithExprForm).local().target.type;
  };
  CHECK(type_of(R"("expr_form": "grain")") == TargetType::grain);
  CHECK(type_of(R"("expr_form": "grain", "tgt_type": "pcre")") == TargetType::pcre);
  CHECK(type_of(R"("expr_form": "grain", "tgt_type": "")") == TargetType::grain);
  CHECK(Read(local_with(R"("expr_form": "x")"), {}, kWithExprForm)
            .error()
            .message.starts_with("Lowstate chunk 0: 'expr_form' is 'x'; accepted are "));
}

TEST_CASE("an empty value counts as absent") {
  for (const std::string& empty : kNotSet) {
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

TEST_CASE("an empty target is accepted and matches no minion") {
  CHECK(Read(R"({"client": "local", "fun": "a.b", "tgt": ""})").local().target.expression.empty());
  CHECK(Read(R"({"client": "local", "fun": "a.b", "tgt": [], "tgt_type": "list"})")
            .local()
            .target.list.empty());
  CHECK(refusal(R"({"client": "local", "fun": "a.b", "tgt": null})").find("'tgt' is missing") !=
        std::string::npos);
}

TEST_CASE("ReadOptions::client overrides the client of chunks") {
  const lowstate::ReadOptions async{.client = Client::local_async};
  const std::string chunks =
      R"([{"tgt": "*", "fun": "a.b"}, {"client": "nosuch", "tgt": "*", "fun": "a.b"}])";
  const Read read(chunks, {}, async);
  REQUIRE(read.chunks().size() == 2);
  CHECK(read.chunks()[0].client == Client::local_async);
  CHECK(read.chunks()[1].client == Client::local_async);
}

// SPDX-License-Identifier: MIT
#include <chrono>

#include <doctest/doctest.h>

#include "read.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/lowstate/lowstate.h"

using rest_fcgi::format;
using rest_fcgi::test::check_refused;
using rest_fcgi::test::local_with;
using rest_fcgi::test::Read;
using rest_fcgi::test::refusal;
using namespace rest_fcgi::lowstate;
using std::chrono::milliseconds;

namespace {

std::string refused(std::string_view keys, std::string_view client = "local") {
  return refusal(local_with(keys, client));
}

}  // namespace

TEST_CASE("a local chunk has Salt's defaults, and unknown keys are ignored") {
  const Read read(R"({"client": "local", "tgt": "*", "fun": "test.ping"})");
  const LocalCall& call = read.local();
  CHECK(call.target.type == TargetType::glob);
  CHECK(call.target.expression == "*");
  CHECK(call.target.delimiter == ":");
  CHECK(call.functions.size() == 1);
  CHECK(!call.compound);
  CHECK(!call.timeout);
  CHECK(!call.full_return);
  CHECK(call.ret.empty());
  CHECK(call.jid.empty());
  CHECK(call.subset == 3);
  CHECK(call.batch.percent);
  CHECK(call.batch.amount == 10);
  CHECK(Read(local_with(R"("colour": "red", "batch": 0, "subset": -1)")).chunks().size() == 1);
}

TEST_CASE("salt-api#97: a duration is a number of seconds, or a string with one") {
  CHECK(Read(local_with(R"("timeout": 2)")).local().timeout == milliseconds(2000));
  CHECK(Read(local_with(R"("timeout": "0.25")")).local().timeout == milliseconds(250));
  CHECK(Read(local_with(R"("timeout": " 5 ")")).local().timeout == milliseconds(5000));
  CHECK(Read(local_with(R"("timeout": 0)")).local().timeout == milliseconds(0));
  CHECK(Read(local_with(R"("gather_job_timeout": 86400)")).local().gather_job_timeout ==
        milliseconds(86400000));
  check_refused({{local_with(R"("timeout": "soon")"),
                  "'timeout' must be a number of seconds from 0 to 86400, or a string with such a number; "
                  "found 'soon'."},
                 {local_with(R"("gather_job_timeout": [1])"),
                  "'gather_job_timeout' must be a number of seconds from 0 to 86400, or a string with such a "
                  "number; found list."}});
  for (const std::string bad :
       {"-1", "86401", "1e9", R"("nan")", R"("inf")", R"("1 s")", "true", R"({"a": 1})"}) {
    CHECK(refused("\"timeout\": " + bad) != "not refused");
  }
}

TEST_CASE("a flag is a boolean, a YAML word, 1 or 0") {
  for (const std::string yes :
       {"true", R"("true")", R"("True")", R"("Yes")", "1", R"("1")", "1.0", R"(" on ")"}) {
    CHECK(Read(local_with("\"full_return\": " + yes)).local().full_return);
  }
  for (const std::string no : {"false", R"("false")", R"("False")", R"("no")", "0", R"("0")"}) {
    const Read read(local_with("\"full_return\": " + no));
    REQUIRE(read.chunks().size() == 1);
    CHECK(!read.local().full_return);
  }
  check_refused({{local_with(R"("full_return": "maybe")"), "'full_return' must be true or false; found str."},
                 {local_with(R"("full_return": 2)"), "'full_return' must be true or false; found int."}});
  CHECK(refused(R"("full_return": [true])") != "not refused");
}

TEST_CASE("ids of a list target are separated by commas, and white space around them is ignored") {
  const auto ids = [](std::string_view tgt) {
    const Read read(
        format(R"({{"client": "local", "tgt": "{}", "tgt_type": "list", "fun": "test.ping"}})", tgt));
    std::string found;
    for (const std::string_view id : read.local().target.list) found.append(id).append(".");
    return found;
  };
  CHECK(ids("ms-0,ms-1") == "ms-0.ms-1.");
  CHECK(ids("ms-0, ms-1 ,\\tms-2,,") == "ms-0.ms-1.ms-2.");
  CHECK(ids(" , ") == "");
}

TEST_CASE("a target that is the text of a list is refused") {
  const auto refused_target = [](std::string_view tgt, std::string_view type) {
    const std::string chunk =
        format(R"({{"client": "local", "tgt": "{}", "tgt_type": "{}", "fun": "test.ping"}})", tgt, type);
    return refusal(chunk).find("the text of a list") != std::string::npos;
  };
  for (const char* tgt : {R"([\"a\", \"b\"])", "['a']", R"( [ \"a\" ] )"}) {
    CHECK(refused_target(tgt, "glob"));
    CHECK(refused_target(tgt, "list"));
    CHECK(refused_target(tgt, "compound"));
  }
  CHECK(refused_target("[a, b]", "list"));
  CHECK(Read(R"({"client": "local", "tgt": "[ab]", "fun": "test.ping"})").chunks().size() == 1);
}

TEST_CASE("ret is a string, and metadata is an object") {
  CHECK(Read(local_with(R"("ret": "sqlite,etcd")")).local().ret == "sqlite,etcd");
  CHECK(Read(local_with(R"("metadata": {"a": 1})")).local().metadata->size() == 1);
  check_refused({{local_with(R"("ret": ["sqlite"])"), "'ret' must be a string; found list."},
                 {local_with(R"("metadata": [1])"), "'metadata' must be an object; found list."}});
}

TEST_CASE("a caller's job id is a short word or a number, and safe in file names and tags") {
  const auto jid_of = [](const std::string& jid) {
    return std::string(Read(local_with("\"jid\": " + jid)).local().jid);
  };
  CHECK(jid_of(R"("20261120230610043746")") == "20261120230610043746");
  CHECK(jid_of("20261120230610043746") == "20261120230610043746");
  CHECK(jid_of(R"("20261120230610043746_4711")") == "20261120230610043746_4711");
  CHECK(jid_of(R"("d2b0d6e4-8f0e-4b9a-9a52-0c3a4d6d1f10")") == "d2b0d6e4-8f0e-4b9a-9a52-0c3a4d6d1f10");
  CHECK(jid_of(R"("my.job")") == "my.job");
  CHECK(jid_of('"' + std::string(64, 'j') + '"') == std::string(64, 'j'));
  CHECK(jid_of(R"("")").empty());
  CHECK(refused(R"("jid": "a/b")").starts_with("Lowstate chunk 0: 'jid' must have 1 to 64 letters "));
  CHECK(refused(R"("jid": ["20261120230610043746"])").ends_with("found list."));
  for (const std::string bad : {R"("..")", R"(".a")", R"("-a")", R"("_a")", R"("a b")", R"("a\n")",
                                R"("a\u0000")", R"("\u00e4")", R"("a*")", R"("req")", "-5", "1.5", "true"}) {
    CHECK(refused("\"jid\": " + bad) != "not refused");
  }
  CHECK(refused("\"jid\": \"" + std::string(65, 'j') + '"') != "not refused");
}

TEST_CASE("a batch is a number of minions from 1, or a percentage above 0") {
  const auto batch = [](const std::string& size) {
    return Read(local_with("\"batch\": " + size, "local_batch")).local().batch;
  };
  CHECK(batch("2").amount == 2);
  CHECK(!batch("2").percent);
  CHECK(batch(R"("3")").amount == 3);
  CHECK(batch(R"("12.5%")").amount == 12.5);
  CHECK(batch(R"("12.5%")").percent);
  CHECK(batch(R"("%50")").amount == 50);
  CHECK(batch(R"("50 %")").amount == 50);
  CHECK(refused(R"("batch": 0)", "local_batch") ==
        "Lowstate chunk 0: 'batch' must be a whole number of minions, at least 1, or a percentage above 0 "
        "such as '10%'; found '0'.");
  for (const std::string bad : {"-1", R"("0%")", R"("-5%")", R"("%")", R"("many")", "1.5", "[1]", "true"}) {
    CHECK(refused("\"batch\": " + bad, "local_batch") != "not refused");
  }
}

TEST_CASE("local_batch reads batch_wait, failhard and raw, and ignores jid") {
  const Read read(local_with(
      R"("batch_wait": 1.5, "failhard": true, "raw": true, "jid": "20261120230610043746")", "local_batch"));
  CHECK(read.local().jid.empty());
  CHECK(read.local().batch_wait == milliseconds(1500));
  CHECK(read.local().failhard);
  CHECK(read.local().raw);
}

TEST_CASE("subset and sub are a number of minions from 1") {
  CHECK(Read(local_with(R"("subset": 2)", "local_subset")).local().subset == 2);
  CHECK(Read(local_with(R"("subset": "4")", "local_subset")).local().subset == 4);
  CHECK(Read(local_with(R"("subset": 2.0)", "local_subset")).local().subset == 2);
  CHECK(Read(local_with(R"("subset": 2, "sub": 5)", "local_subset")).local().subset == 5);
  check_refused({{local_with(R"("subset": 0)", "local_subset"),
                  "'subset' must be a whole number of minions, at least 1; found '0'."},
                 {local_with(R"("sub": {"a": 1})", "local_subset"),
                  "'sub' must be a whole number of minions, at least 1; found dict."}});
}

TEST_CASE("two chunks of one request cannot have the same jid") {
  const std::string chunk = local_with(R"("jid": "20261120230610043746")");
  const std::string other = local_with(R"("jid": "20261120230610043747")");
  CHECK(refusal("[" + chunk + ", " + local_with(R"("ret": "")") + ", " + other + "]") == "not refused");
  CHECK(refusal("[" + chunk + ", " + other + ", " + chunk + "]") ==
        "Lowstate chunk 2: 'jid' must differ from that of chunk 0.");
}

namespace {

std::string with_target(const std::string& keys) {
  return R"({"client": "local", "fun": "test.ping", )" + keys + "}";
}

std::vector<std::string> list_of(const std::string& keys) {
  const Read read(with_target(keys));
  const auto& list = read.local().target.list;
  return {list.begin(), list.end()};
}

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("each target type has its name") {
  const Read read(with_target(R"("tgt": "os|Debian", "tgt_type": "grain", "delimiter": "|")"));
  CHECK(read.local().target.type == TargetType::grain);
  CHECK(read.local().target.expression == "os|Debian");
  CHECK(read.local().target.delimiter == "|");
  CHECK(name_of(TargetType::pillar_exact) == "pillar_exact");
}

TEST_CASE("a list target is a list or a string with commas, and a compound target may be a list") {
  CHECK(list_of(R"("tgt": ["a", "b"], "tgt_type": "list")") == Ids{"a", "b"});
  CHECK(list_of(R"("tgt": "a,,b,", "tgt_type": "list")") == Ids{"a", "b"});
  CHECK(list_of(R"("tgt": "", "tgt_type": "list")").empty());
  CHECK(list_of(R"("tgt": ["a*", "and", "G@os:Debian"], "tgt_type": "compound")") ==
        Ids{"a*", "and", "G@os:Debian"});
  const Read read(with_target(R"("tgt": ["a", "b"], "tgt_type": "list")"));
  CHECK(read.local().target.as_sent.json().text() == R"(["a", "b"])");
}

TEST_CASE("a missing target, one of a wrong type or of an unknown tgt_type, and expr_form are refused") {
  check_refused(
      {{with_target(R"("tgt": 5)"), "'tgt' must be a string or a list of strings; found int."},
       {with_target(R"("tgt": ["a", 5], "tgt_type": "list")"), "'tgt' must be a list of strings; found int."},
       {with_target(R"("tgt": ["a"])"),
        "'tgt' is a list, which needs 'tgt_type': 'list' or 'compound'; found 'glob'."},
       {with_target(R"("tgt": "*", "tgt_type": "globe")"),
        "'tgt_type' is 'globe'; accepted are glob, pcre, list, grain, grain_pcre, pillar, pillar_pcre, "
        "pillar_exact, nodegroup, range, compound, ipcidr."},
       {with_target(R"("tgt": "*", "tgt_type": 1)"), "'tgt_type' must be a string; found int."},
       {with_target(R"("tgt": "*", "delimiter": 1)"), "'delimiter' must be a string; found int."}});
  check_refused(
      {{with_target(R"("arg": [])"), "'tgt' is missing; a local chunk needs 'client', 'tgt' and 'fun'."},
       {R"({"client": "local_batch", "fun": "test.ping", "tgt": null})",
        "'tgt' is missing; a local_batch chunk needs 'client', 'tgt' and 'fun'."}});
  CHECK(refusal(with_target(R"("tgt": "*", "expr_form": "glob")")) ==
        "Lowstate chunk 0: 'expr_form' is not accepted; use 'tgt_type'.");
}

// SPDX-License-Identifier: MIT
#include <chrono>

#include <doctest/doctest.h>

#include "read.h"
#include "rest_fcgi/lowstate/lowstate.h"

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

TEST_CASE("a local chunk has Salt's defaults") {
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
}

TEST_CASE("unknown keys of a local chunk are ignored") {
  CHECK(Read(local_with(R"("colour": "red", "batch": 0, "subset": -1)")).chunks().size() == 1);
}

TEST_CASE("salt-api#97: a duration is a number of seconds, or a string with one") {
  CHECK(Read(local_with(R"("timeout": 2)")).local().timeout == milliseconds(2000));
  CHECK(Read(local_with(R"("timeout": "0.25")")).local().timeout == milliseconds(250));
  CHECK(Read(local_with(R"("timeout": " 5 ")")).local().timeout == milliseconds(5000));
  CHECK(Read(local_with(R"("timeout": 0)")).local().timeout == milliseconds(0));
  CHECK(Read(local_with(R"("gather_job_timeout": 86400)")).local().gather_job_timeout ==
        milliseconds(86400000));
  CHECK(refused(R"("timeout": "soon")") ==
        "Lowstate chunk 0: 'timeout' must be a number of seconds from 0 to 86400, "
        "or a string with such a number; found 'soon'.");
  CHECK(refused(R"("gather_job_timeout": [1])") ==
        "Lowstate chunk 0: 'gather_job_timeout' must be a number of seconds "
        "from 0 to 86400, or a string with such a number; found list.");
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
  CHECK(refused(R"("full_return": "maybe")") ==
        "Lowstate chunk 0: 'full_return' must be true or false; found str.");
  CHECK(refused(R"("full_return": 2)") ==
        "Lowstate chunk 0: 'full_return' must be true or false; found int.");
  CHECK(refused(R"("full_return": [true])") != "not refused");
}

TEST_CASE("ret is a string, and metadata is an object") {
  CHECK(Read(local_with(R"("ret": "sqlite,etcd")")).local().ret == "sqlite,etcd");
  CHECK(refused(R"("ret": ["sqlite"])") == "Lowstate chunk 0: 'ret' must be a string; found list.");
  CHECK(Read(local_with(R"("metadata": {"a": 1})")).local().metadata->size() == 1);
  CHECK(refused(R"("metadata": [1])") == "Lowstate chunk 0: 'metadata' must be an object; found list.");
}

TEST_CASE("a caller's job id is a short word or a number") {
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
}

TEST_CASE("a job id that is unsafe in file names and tags is refused") {
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
        "Lowstate chunk 0: 'batch' must be a whole number of minions, at least 1, or a "
        "percentage above 0 such as '10%'; found '0'.");
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
  CHECK(refused(R"("subset": 0)", "local_subset") ==
        "Lowstate chunk 0: 'subset' must be a whole number of minions, at least 1; found '0'.");
  CHECK(refused(R"("sub": {"a": 1})", "local_subset") ==
        "Lowstate chunk 0: 'sub' must be a whole number of minions, at least 1; found dict.");
}

TEST_CASE("two chunks of one request cannot have the same jid") {
  const std::string chunk = local_with(R"("jid": "20261120230610043746")");
  const std::string other = local_with(R"("jid": "20261120230610043747")");
  CHECK(refusal("[" + chunk + ", " + local_with(R"("ret": "")") + ", " + other + "]") == "not refused");
  CHECK(refusal("[" + chunk + ", " + other + ", " + chunk + "]") ==
        "Lowstate chunk 2: 'jid' must differ from that of chunk 0.");
}

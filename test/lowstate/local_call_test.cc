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

TEST_CASE("null is the same as not set") {
  const Read read(local_with(
      R"("tgt_type": null, "timeout": null, "full_return": null, "ret": null, "jid": null, "metadata": null,
         "delimiter": null, "arg": null, "kwarg": null, "expr_form": null)"));
  REQUIRE(read.chunks().size() == 1);
  CHECK(read.local().target.delimiter == ":");
  CHECK(!read.local().metadata);
}

TEST_CASE("keys that mean nothing to a local chunk are ignored") {
  CHECK(Read(local_with(R"("colour": "red", "batch": 0, "subset": -1)")).chunks().size() == 1);
}

TEST_CASE("salt-api#97: times are seconds, as numbers or in strings") {
  CHECK(Read(local_with(R"("timeout": 2)")).local().timeout == milliseconds(2000));
  CHECK(Read(local_with(R"("timeout": "0.25")")).local().timeout == milliseconds(250));
  CHECK(Read(local_with(R"("timeout": 0)")).local().timeout == milliseconds(0));
  CHECK(Read(local_with(R"("gather_job_timeout": 86400)")).local().gather_job_timeout ==
        milliseconds(86400000));
}

TEST_CASE("times that are none are refused") {
  CHECK(refused(R"("timeout": "soon")") ==
        "Lowstate chunk 0: 'timeout' must be a number of seconds from 0 to 86400, "
        "or a string with one; found 'soon'.");
  CHECK(refused(R"("gather_job_timeout": [1])") ==
        "Lowstate chunk 0: 'gather_job_timeout' must be a number of seconds "
        "from 0 to 86400, or a string with one; found list.");
  for (const std::string bad :
       {"-1", "86401", "1e9", R"("nan")", R"("inf")", R"("")", R"("1 s")", "true", "{}"}) {
    CHECK(refused("\"timeout\": " + bad) != "not refused");
  }
}

TEST_CASE("full_return is a boolean") {
  CHECK(Read(local_with(R"("full_return": true)")).local().full_return);
  CHECK(refused(R"("full_return": "yes")") ==
        "Lowstate chunk 0: 'full_return' must be true or false; found str.");
}

TEST_CASE("ret is a string") {
  CHECK(Read(local_with(R"("ret": "sqlite,etcd")")).local().ret == "sqlite,etcd");
  CHECK(refused(R"("ret": ["sqlite"])") == "Lowstate chunk 0: 'ret' must be a string; found list.");
}

TEST_CASE("a job id is 20 digits, as a string or as a number") {
  CHECK(Read(local_with(R"("jid": "20261120230610043746")")).local().jid == "20261120230610043746");
  CHECK(Read(local_with(R"("jid": 20261120230610043746)")).local().jid == "20261120230610043746");
  CHECK(Read(local_with(R"("jid": "")")).local().jid.empty());
}

TEST_CASE("any other job id is refused") {
  CHECK(refused(R"("jid": "foo")") == "Lowstate chunk 0: 'jid' must be 20 digits; found 'foo'.");
  CHECK(refused(R"("jid": "2026112023061004374x")") != "not refused");
  CHECK(refused(R"("jid": -2026112023061004374)") != "not refused");
  CHECK(refused(R"("jid": ["20261120230610043746"])") ==
        "Lowstate chunk 0: 'jid' must be 20 digits; found list.");
}

TEST_CASE("metadata is an object") {
  CHECK(Read(local_with(R"("metadata": {"a": 1})")).local().metadata->size() == 1);
  CHECK(refused(R"("metadata": [1])") == "Lowstate chunk 0: 'metadata' must be an object; found list.");
}

TEST_CASE("a batch is a number of minions or a percentage") {
  const auto batch = [](const std::string& size) {
    return Read(local_with("\"batch\": " + size, "local_batch")).local().batch;
  };
  CHECK(batch("2").amount == 2);
  CHECK(!batch("2").percent);
  CHECK(batch(R"("3")").amount == 3);
  CHECK(batch(R"("12.5%")").amount == 12.5);
  CHECK(batch(R"("12.5%")").percent);
  CHECK(batch(R"("%50")").amount == 50);
}

TEST_CASE("a batch that would never end or says nothing is refused") {
  CHECK(refused(R"("batch": 0)", "local_batch") ==
        "Lowstate chunk 0: 'batch' must be a number of minions from 1, or a "
        "percentage above 0 such as '10%'; found '0'.");
  for (const std::string bad :
       {"-1", R"("0%")", R"("-5%")", R"("%")", R"("")", R"("many")", "1.5", "[1]", "true"}) {
    CHECK(refused("\"batch\": " + bad, "local_batch") != "not refused");
  }
}

TEST_CASE("a batch may wait, stop at a failure, and give whole events") {
  const Read read(local_with(R"("batch_wait": 1.5, "failhard": true, "raw": true)", "local_batch"));
  CHECK(read.local().batch_wait == milliseconds(1500));
  CHECK(read.local().failhard);
  CHECK(read.local().raw);
}

TEST_CASE("a batch has no job id of the caller, since it is several jobs") {
  CHECK(Read(local_with(R"("jid": "20261120230610043746")", "local_batch")).local().jid.empty());
}

TEST_CASE("a subset is a number of minions, under its new or its old name") {
  CHECK(Read(local_with(R"("subset": 2)", "local_subset")).local().subset == 2);
  CHECK(Read(local_with(R"("subset": "4")", "local_subset")).local().subset == 4);
  CHECK(Read(local_with(R"("subset": 2, "sub": 5)", "local_subset")).local().subset == 5);
}

TEST_CASE("a subset of nobody is refused") {
  CHECK(refused(R"("subset": 0)", "local_subset") ==
        "Lowstate chunk 0: 'subset' must be a number of minions from 1; found '0'.");
  CHECK(refused(R"("sub": {})", "local_subset") ==
        "Lowstate chunk 0: 'sub' must be a number of minions from 1; found dict.");
}

TEST_CASE("two chunks of one request cannot have the same jid") {
  const std::string chunk = local_with(R"("jid": "20261120230610043746")");
  const std::string other = local_with(R"("jid": "20261120230610043747")");
  CHECK(refusal("[" + chunk + ", " + local_with(R"("ret": "")") + ", " + other + "]") == "not refused");
  CHECK(refusal("[" + chunk + ", " + other + ", " + chunk + "]") ==
        "Lowstate chunk 2: 'jid' must be another one than that of chunk 0.");
}

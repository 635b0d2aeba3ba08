// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "read.h"
#include "rest_fcgi/lowstate/lowstate.h"

using rest_fcgi::test::Read;
using rest_fcgi::test::refusal;
using namespace rest_fcgi::lowstate;

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
}

TEST_CASE("the target is kept as it was sent") {
  const Read read(with_target(R"("tgt": ["a", "b"], "tgt_type": "list")"));
  CHECK(read.local().target.as_sent.json().text() == R"(["a", "b"])");
}

TEST_CASE("a local chunk needs a target") {
  CHECK(refusal(with_target(R"("arg": [])")) ==
        "Lowstate chunk 0: 'tgt' is missing; a local chunk needs 'client', 'tgt' and 'fun'.");
  CHECK(refusal(R"({"client": "local_batch", "fun": "test.ping", "tgt": null})") ==
        "Lowstate chunk 0: 'tgt' is missing; a local_batch chunk needs 'client', 'tgt' and 'fun'.");
}

TEST_CASE("a target of a wrong type, or of an unknown tgt_type, is refused") {
  CHECK(refusal(with_target(R"("tgt": 5)")) ==
        "Lowstate chunk 0: 'tgt' must be a string or a list of strings; found int.");
  CHECK(refusal(with_target(R"("tgt": ["a", 5], "tgt_type": "list")")) ==
        "Lowstate chunk 0: 'tgt' must be a list of strings; found int.");
  CHECK(refusal(with_target(R"("tgt": ["a"])")) ==
        "Lowstate chunk 0: 'tgt' is a list, which needs 'tgt_type': 'list' or 'compound'; found 'glob'.");
  CHECK(refusal(with_target(R"("tgt": "*", "tgt_type": "globe")")) ==
        "Lowstate chunk 0: 'tgt_type' is 'globe'; accepted are glob, pcre, list, grain, grain_pcre, pillar, "
        "pillar_pcre, pillar_exact, nodegroup, range, compound, ipcidr.");
  CHECK(refusal(with_target(R"("tgt": "*", "tgt_type": 1)")) ==
        "Lowstate chunk 0: 'tgt_type' must be a string; found int.");
  CHECK(refusal(with_target(R"("tgt": "*", "delimiter": 1)")) ==
        "Lowstate chunk 0: 'delimiter' must be a string; found int.");
}

TEST_CASE("expr_form is refused by rest_wsgi") {
  CHECK(refusal(with_target(R"("tgt": "*", "expr_form": "glob")")) ==
        "Lowstate chunk 0: 'expr_form' is not accepted; use 'tgt_type'.");
}

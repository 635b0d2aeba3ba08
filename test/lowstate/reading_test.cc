// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "read.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;
using lowstate::Client;
using lowstate::TargetType;

namespace {

const lowstate::Reading kForms{.of_forms = true};

std::string form_refusal(const std::string& keys) {
  return Read(local_with(keys), {}, kForms).error().message;
}

}  // namespace

TEST_CASE("of a form, a yes or no may come as text") {
  CHECK(Read(local_with(R"("full_return": "true")"), {}, kForms).local().full_return);
  CHECK(Read(local_with(R"("full_return": "Yes")"), {}, kForms).local().full_return);
  CHECK(Read(local_with(R"("full_return": true)"), {}, kForms).local().full_return);
  CHECK_FALSE(Read(local_with(R"("full_return": "false")"), {}, kForms).local().full_return);
  CHECK(form_refusal(R"("full_return": "1")") ==
        "Lowstate chunk 0: 'full_return' must be true or false; found str.");
  CHECK(refusal(local_with(R"("full_return": "true")")) ==
        "Lowstate chunk 0: 'full_return' must be true or false; found str.");
}

TEST_CASE("of a form, tgt_type may have its older name, which it wins over") {
  CHECK(Read(local_with(R"("expr_form": "grain")"), {}, kForms).local().target.type == TargetType::grain);
  CHECK(Read(local_with(R"("expr_form": "grain", "tgt_type": "pcre")"), {}, kForms).local().target.type ==
        TargetType::pcre);
  CHECK(
      form_refusal(R"("expr_form": "x")").starts_with("Lowstate chunk 0: 'expr_form' is 'x'; accepted are "));
}

TEST_CASE("all chunks may be for one client, whatever they say") {
  const lowstate::Reading async{.client = Client::local_async};
  const std::string chunks =
      R"([{"tgt": "*", "fun": "a.b"}, {"client": "nosuch", "tgt": "*", "fun": "a.b"}])";
  const Read read(chunks, {}, async);
  REQUIRE(read.chunks().size() == 2);
  CHECK(read.chunks()[0].client == Client::local_async);
  CHECK(read.chunks()[1].client == Client::local_async);
}

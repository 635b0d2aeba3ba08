// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/nodegroup.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace rest_fcgi::master {

TEST_CASE("words of a nodegroup are ids unless one looks like a pattern or an operator") {
  const auto form = [](const std::vector<std::string>& words) { return form_of(words); };
  CHECK(form({"web1", "web2"}) == NodegroupForm::list);
  CHECK(form({"web1", "android"}) == NodegroupForm::list);
  CHECK(form({"web1", "a@b"}) == NodegroupForm::list);
  CHECK(form({"web1", "or", "web2"}) == NodegroupForm::compound);
  CHECK(form({"(", "web1", ")"}) == NodegroupForm::compound);
  CHECK(form({"web1", "web*"}) == NodegroupForm::compound);
  CHECK(form({"G@os:Debian"}) == NodegroupForm::compound);
  CHECK(form({"N@other"}) == NodegroupForm::compound);
  CHECK(form({"web[0-9]"}) == NodegroupForm::pcre);
  CHECK(form({"web1", "web?"}) == NodegroupForm::pcre);
  CHECK(form({"web[0-9]*"}) == NodegroupForm::compound);
}

}  // namespace rest_fcgi::master

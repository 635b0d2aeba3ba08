// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/result.h"

#include <string>
#include <utility>

#include <doctest/doctest.h>

using rest_fcgi::Error;
using rest_fcgi::ErrorKind;
using rest_fcgi::Result;

TEST_CASE("an error is copied and moved with its result") {
  Result<std::string> failed = Error{ErrorKind::timeout, "too late", "a jid"};
  Result<std::string> copy = failed;
  CHECK(std::move(failed).error().message == "too late");
  failed = std::string("a value");
  CHECK(*failed == "a value");
  REQUIRE_FALSE(copy);
  CHECK(copy.error().jid == "a jid");
  failed = copy;
  REQUIRE_FALSE(failed);
  CHECK(failed.error().kind == ErrorKind::timeout);
}

TEST_CASE("a Result<void> is a success by default") {
  Result<void> done;
  CHECK(done);
  const Result<void> failed = Error{ErrorKind::unavailable, "not now"};
  done = failed;
  REQUIRE_FALSE(done);
  CHECK(done.error().message == "not now");
  CHECK(failed.error().message == "not now");
  done = {};
  CHECK(done);
}

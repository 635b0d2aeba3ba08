// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "master/embedded/runners/runners.h"

using rest_fcgi::embedded::MadeKeys;
using Added = MadeKeys::Added;

TEST_CASE("made keys are bounded, and one is replaced where that is asked for alone") {
  MadeKeys keys;
  for (std::size_t i = 0; i < MadeKeys::kMost; ++i) {
    CHECK(keys.add(std::to_string(i), "pub", false) == Added::yes);
  }
  CHECK(keys.add("more", {}, true) == Added::full);
  CHECK(keys.add("7", "other", false) == Added::exists);
  CHECK(keys.all().at("7") == "pub");
  CHECK(keys.add("7", "other", true) == Added::yes);
  CHECK(keys.all().at("7") == "other");
  keys.remove("7");
  keys.remove("7");
  CHECK(keys.add("more", {}, false) == Added::yes);
}

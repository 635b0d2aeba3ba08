// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include <doctest/doctest.h>

#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::test {

inline std::unique_ptr<returner::Returners> make_returners(const returner::Options& options = {}) {
  auto store = store::Store::open({});
  REQUIRE(store);
  auto returners = returner::Returners::make(options, *std::move(store), system_clock());
  REQUIRE(returners);
  return *std::move(returners);
}

}  // namespace rest_fcgi::test

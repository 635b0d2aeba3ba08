// SPDX-License-Identifier: MIT
#pragma once

#include <sys/resource.h>

#include <doctest/doctest.h>

namespace rest_fcgi::test {

class Limit {
 public:
  Limit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
    REQUIRE(::getrlimit(resource_, &before_) == 0);
    const rlimit lowered{value, before_.rlim_max};
    REQUIRE(::setrlimit(resource_, &lowered) == 0);
  }
  ~Limit() { ::setrlimit(resource_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

}  // namespace rest_fcgi::test

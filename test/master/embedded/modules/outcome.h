// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include <doctest/doctest.h>

#include "rest_fcgi/master/master.h"

namespace rest_fcgi::test {

inline void check(const master::Return& outcome, std::string_view ret, int retcode) {
  CHECK(outcome.ret.text() == ret);
  CHECK(outcome.retcode == retcode);
  CHECK(outcome.success == (retcode == 0));
}

}  // namespace rest_fcgi::test

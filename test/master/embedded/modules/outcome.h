// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "rest_fcgi/master/master.h"

namespace rest_fcgi::test {

inline const std::string kException = "The minion function caused an exception: ";
inline const std::string kInvalid = "Passed invalid arguments to ";

inline void check(const master::Return& outcome, std::string_view ret, int retcode) {
  CHECK(outcome.ret.text() == ret);
  CHECK(outcome.retcode == retcode);
  CHECK(outcome.success == (retcode == 0));
}

}  // namespace rest_fcgi::test

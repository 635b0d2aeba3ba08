// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "rest_fcgi/http/application.h"

using rest_fcgi::http::http_date;

TEST_CASE("headers have dates in one form, whatever the locale") {
  CHECK(http_date(std::chrono::system_clock::from_time_t(784111777)) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(http_date(std::chrono::system_clock::from_time_t(0)) == "Thu, 01 Jan 1970 00:00:00 GMT");
}

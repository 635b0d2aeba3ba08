// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/embedded_engine.h"

namespace rest_fcgi::test {

inline const master::EventPermit kAll{auth::EventScope::all, "fred"};

inline std::vector<master::EventPtr> read(master::EventReader& reader, std::size_t count) {
  std::vector<master::EventPtr> events;
  CHECK(test::eventually([&] {
    const auto done = reader.read(events, 1 << 20, nullptr);
    if (!done) FAIL(done.error().message);
    return events.size() >= count;
  }));
  CHECK(events.size() == count);
  return events;
}

}  // namespace rest_fcgi::test

// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../calls/fixtures.h"
#include "master/salt/events/bus_log.h"

namespace rest_fcgi::test {

/// A BusLog for tests. A test fires events, and reads the events as a listener to all events.
class HeardBus {
 public:
  void fire(std::string_view tag, std::string_view json) {
    const std::string data = packed(json);
    bus_.on_event({tag, data});
  }
  void fire_bytes(std::string_view tag, std::string_view data) { bus_.on_event({tag, data}); }

  std::vector<master::EventPtr> received() {
    std::vector<master::EventPtr> events;
    REQUIRE(reader_->read(events, 100 << 20, nullptr));
    return events;
  }
  std::string shown(std::string_view tag, std::string_view json) {
    fire(tag, json);
    const auto events = received();
    REQUIRE(events.size() == 1);
    CHECK(events[0]->tag() == tag);
    return std::string(events[0]->data());
  }

 private:
  const std::shared_ptr<master::EventLog> log_ = std::make_shared<master::EventLog>(system_clock());
  salt::BusLog bus_{log_};
  const std::unique_ptr<master::EventReader> reader_ = *log_->reader({auth::EventScope::all, "fred"});
};

}  // namespace rest_fcgi::test

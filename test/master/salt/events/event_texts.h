// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../calls/reply_fixture.h"
#include "master/salt/events/bus_log.h"

namespace rest_fcgi::test {

/// A BusLog for tests. A test fires events, and reads the events as a listener with a given scope.
class HeardBus {
 public:
  explicit HeardBus(auth::EventScope scope = auth::EventScope::all, std::string user = "fred") {
    auto made = log_->reader({scope, std::move(user)});
    REQUIRE(made);
    reader_ = *std::move(made);
  }

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
  std::string tags() {
    std::string all;
    for (const auto& event : received()) all += event->tag() + " ";
    return all;
  }
  std::string shown(std::string_view tag, std::string_view json) {
    fire(tag, json);
    const auto events = received();
    REQUIRE(events.size() == 1);
    CHECK(events[0]->tag() == tag);
    return std::string(events[0]->data());
  }

  salt::BusLog& bus() { return bus_; }
  master::EventReader& reader() { return *reader_; }

 private:
  const std::shared_ptr<master::EventLog> log_ = std::make_shared<master::EventLog>(system_clock());
  salt::BusLog bus_{log_};
  std::unique_ptr<master::EventReader> reader_;
};

}  // namespace rest_fcgi::test

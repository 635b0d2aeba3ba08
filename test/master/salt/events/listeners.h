// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../calls/fixtures.h"
#include "master/salt/events/bus_log.h"
#include "master/salt/events/listener_table.h"

namespace rest_fcgi::test {

inline constexpr std::chrono::seconds kPatience{60};

/// A listener that records its events as text. Thread-safe.
class Recorder final : public salt::Listener {
 public:
  /// `on_hear` gets the data of each event before the event is recorded. A test sets `on_hear` before the
  /// first event.
  std::function<void(std::string_view data)> on_hear = [](std::string_view) {};

  [[nodiscard]] bool is_needed() const override { return wanted_; }

  void on_event(const salt::Topic& topic, std::string_view data) override {
    const Visit visit(*this);
    on_hear(data);
    write(std::string(topic.who) + "=" + std::string(data));
  }

  void on_loss(const Error& error) override {
    const Visit visit(*this);
    write("lost: " + error.message);
  }

  void want_no_more() { wanted_ = false; }

  /// Waits until `count` events are recorded, or until a time limit. Returns all recorded events.
  std::vector<std::string> received(std::size_t count) {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, kPatience, [&] { return heard_.size() >= count; });
    return heard_;
  }

  [[nodiscard]] bool crowded() const { return crowded_; }

 private:
  class Visit {
   public:
    explicit Visit(Recorder& at) : at_(at) {
      if (at_.visitors_++ > 0) at_.crowded_ = true;
    }
    ~Visit() { --at_.visitors_; }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Recorder& at_;
  };

  void write(std::string what) {
    {
      const std::lock_guard lock(mutex_);
      heard_.push_back(std::move(what));
    }
    came_.notify_all();
  }

  std::atomic<bool> wanted_ = true;
  std::atomic<int> visitors_ = 0;
  std::atomic<bool> crowded_ = false;
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::string> heard_;
};

inline const std::string kBusLost = "lost: the connection to the Salt master's event bus was lost.";

/// A BusLog whose events a test fires and reads.
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

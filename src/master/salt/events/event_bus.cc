// SPDX-License-Identifier: MIT
#include "master/salt/events/event_bus.h"

#include <utility>

#include "master/salt/events/bus_thread.h"
#include "master/salt/events/registry.h"

namespace rest_fcgi::salt {
namespace {

constexpr std::chrono::milliseconds kJoinTime{500};

}  // namespace

class EventBus::Impl {
 public:
  explicit Impl(BusOptions options) : registry_(options), thread_(std::move(options), registry_) {}
  ~Impl() {
    thread_.stop();
    registry_.close();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] Registry& registry() noexcept { return registry_; }

 private:
  Registry registry_;
  BusThread thread_;
};

class EventBus::Expectation::State {
 public:
  State(Registry& registry, Registry::Ticket ticket) : registry_(registry), ticket_(ticket) {}
  ~State() { registry_.forget(ticket_); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Result<void> listen(std::string_view jid, std::shared_ptr<Listener> listener) {
    return registry_.listen(ticket_, jid, std::move(listener));
  }

 private:
  Registry& registry_;
  const Registry::Ticket ticket_;
};

EventBus::Expectation::Expectation(std::unique_ptr<State> state) : state_(std::move(state)) {}
EventBus::Expectation::Expectation(Expectation&&) noexcept = default;
EventBus::Expectation::~Expectation() = default;

Result<void> EventBus::Expectation::listen(std::string_view jid, std::shared_ptr<Listener> listener) {
  return state_->listen(jid, std::move(listener));
}

std::unique_ptr<EventBus> EventBus::start(BusOptions options) {
  return std::unique_ptr<EventBus>(new EventBus(std::make_unique<Impl>(std::move(options))));
}

EventBus::EventBus(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EventBus::~EventBus() = default;

Result<EventBus::Expectation> EventBus::expect(SteadyTime deadline) {
  const SteadyTime until = std::min(deadline, std::chrono::steady_clock::now() + kJoinTime);
  const auto ticket = impl_->registry().expect(until);
  if (!ticket) return ticket.error();
  return Expectation(std::make_unique<Expectation::State>(impl_->registry(), *ticket));
}

}  // namespace rest_fcgi::salt

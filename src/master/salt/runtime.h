// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "master/salt/events/event_bus.h"
#include "master/salt/requests/request_pool.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/salt/salt.h"
#include "rest_fcgi/master/workers.h"

namespace rest_fcgi::salt {

/// The Runtime that `make_runtime` makes. Each of its parts synchronizes itself.
class SaltRuntime final : public Runtime {
 public:
  SaltRuntime(std::unique_ptr<RequestPool> requests, std::unique_ptr<EventBus> bus, const Clock& clock);

  [[nodiscard]] RequestPool& requests() noexcept { return *requests_; }
  [[nodiscard]] EventBus& bus() noexcept { return *bus_; }
  [[nodiscard]] master::Workers& workers() noexcept { return workers_; }
  [[nodiscard]] std::string next_jid() { return jids_.next(); }

  std::size_t shutdown(SteadyTime deadline) override;

 private:
  std::unique_ptr<RequestPool> requests_;
  std::unique_ptr<EventBus> bus_;
  master::JidSource jids_;
  master::Workers workers_;  // for calls whose end nobody waits for; the last, since they use the others
};

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "master/salt/events/event.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// Who waits for the events of one job. `hear` and `lost` are called on one thread at a time, mostly the
/// bus's own, and are quick: while they work, nobody else's events are read. They throw nothing, and hold no
/// lock of the bus, so that they may call it.
class Listener {
 public:
  virtual ~Listener() = default;

  /// False once nobody waits any more: then it is dropped. Called on any thread, also while it hears.
  [[nodiscard]] virtual bool wanted() const = 0;
  virtual void hear(const Topic& topic, std::string_view data) = 0;

  /// An event that was too large, `size` bytes, of which only the beginning was kept.
  virtual void hear_beginning(const Topic& topic, std::string_view beginning, std::uint64_t size) = 0;

  /// Events may have been missed, and it will hear no more.
  virtual void lost(const Error& error) = 0;
};

}  // namespace rest_fcgi::salt

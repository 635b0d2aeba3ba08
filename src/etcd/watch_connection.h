// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "etcd/gateway.h"
#include "etcd/object_reader.h"
#include "etcd/watch_wire.h"
#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::etcd {

/// One connection of a watch, and an eye on its member: one that is cut off from the others, or does not run
/// any more, says nothing, just as one with nothing to tell. Not synchronized.
class WatchConnection {
 public:
  /// `gateway`, which opened the stream, has to outlive it.
  WatchConnection(Gateway& gateway, Gateway::Stream stream);

  /// The replies that came since, or come first until `deadline`; none where nothing does. A failure: nothing
  /// will come any more.
  [[nodiscard]] Tried<std::vector<WatchReply>> read(Deadline deadline);

  [[nodiscard]] const Gateway::Stream& stream() const noexcept { return stream_; }

 private:
  [[nodiscard]] Tried<std::vector<WatchReply>> cut(std::string_view bytes);
  [[nodiscard]] std::optional<Failure> ask_member(Deadline deadline);

  Gateway& gateway_;
  Gateway::Stream stream_;
  ObjectReader objects_;
  SteadyTime heard_at_;                 // of it, on whichever connection
  std::chrono::milliseconds asked_{0};  // for how long its answer has been waited for since
};

}  // namespace rest_fcgi::etcd

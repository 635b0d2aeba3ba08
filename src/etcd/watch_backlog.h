// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "etcd/watch_wire.h"

namespace rest_fcgi::etcd {

/// What a watch has received and not told yet, by revision, and where it goes on after a break. Not
/// synchronized.
class WatchBacklog {
 public:
  /// `start_revision` 0: from the first reply on.
  explicit WatchBacklog(std::int64_t start_revision) : next_revision_(start_revision) {}

  /// REQUIRES: it is not canceled.
  void add(WatchReply reply);

  /// The events of the oldest revision, once all of them are here.
  [[nodiscard]] std::optional<std::vector<WatchEvent>> take();

  /// The stream broke. What comes again on the next one is forgotten.
  void broken();

  /// From which revision on to ask; 0: from now on.
  [[nodiscard]] std::int64_t next_revision() const noexcept { return next_revision_; }

 private:
  void close_last();

  std::deque<std::vector<WatchEvent>> revisions_;  // none is empty
  bool last_is_open_ = false;                      // more of its events may come
  std::int64_t next_revision_;                     // all before are complete in `revisions_`, or told
};

}  // namespace rest_fcgi::etcd

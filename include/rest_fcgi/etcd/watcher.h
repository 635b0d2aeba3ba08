// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/kv.h"

namespace rest_fcgi::etcd {

struct WatchRequest {
  std::string key;
  std::string range_end{};          ///< empty: that key alone
  std::int64_t start_revision = 0;  ///< 0: from now on
  bool prev_kv = false;
};

struct WatchEvent {
  enum class Type { put, deleted };
  Type type = Type::put;
  KeyValue kv;
  std::optional<KeyValue> prev_kv;
};

/// A stream of changes. A break is mended from the last revision that was seen, at whichever member answers,
/// so that no event is lost or told twice. Used by one thread at a time; `client` has to outlive it.
class Watcher {
 public:
  /// Opens nothing so far.
  Watcher(Client& client, WatchRequest request);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// The next events: all of one revision, in order; none where the deadline came first. Errors: invocation,
  /// for ever, where what was to come next is gone: compacted away (the message says up to where), or the
  /// cluster was made anew. Read anew then, and watch from behind that read's revision on. Else as of
  /// every call of `Client`, but not for what a retry mends; the next call tries again.
  [[nodiscard]] Result<std::vector<WatchEvent>> next(Deadline deadline);

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace rest_fcgi::etcd

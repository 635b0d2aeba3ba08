// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/failure.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::etcd {

/// Splits a stream into lines, because etcd's gateway ends each message with a newline. A LineReader is not
/// thread-safe.
class LineReader {
 public:
  explicit LineReader(std::size_t most) : most_(most) {}

  void append(std::string_view bytes);

  /// Returns the next line that is not empty, or std::nullopt if no complete line has arrived. Errors:
  /// internal, if the line is longer than `most` bytes.
  [[nodiscard]] Result<std::optional<std::string>> next();

  /// Returns the bytes after the last newline, which may be an error message at the end of a stream.
  [[nodiscard]] std::string rest();

 private:
  const std::size_t most_;
  std::string buffer_;
  std::size_t begin_ = 0;    // The start of the next line.
  std::size_t scanned_ = 0;  // The end of the bytes in which no newline was found.
};

/// Returns the request that creates a watch. With `fragment`, etcd sends large replies in parts. etcd before
/// 3.4 refuses `fragment`.
[[nodiscard]] std::string watch_body(const WatchRequest& request, std::int64_t start_revision, bool fragment);

struct WatchReply {
  Header header;
  bool created = false;
  bool canceled = false;
  bool fragment = false;  ///< Whether the last revision of this reply continues in the next reply.
  /// The oldest revision that etcd still has. 0 if compaction is not the reason of the cancellation.
  std::int64_t compact_revision = 0;
  std::string cancel_reason;
  std::vector<WatchEvent> events;
};

/// Reads a message of a stream. Returns a failure if the message is an error of etcd or is malformed.
[[nodiscard]] Tried<WatchReply> read_watch_reply(std::string_view message, std::string_view url);

/// Returns the reason why etcd canceled a watch. REQUIRES: reply.canceled
[[nodiscard]] Failure cancel_failure(const WatchReply& reply, std::string_view url);

/// The received events of a watch, grouped by revision. A WatchBacklog is not thread-safe.
class WatchBacklog {
 public:
  explicit WatchBacklog(std::int64_t start_revision) : next_revision_(start_revision) {}

  /// REQUIRES: `reply.canceled` is false.
  void add(WatchReply reply);

  /// Returns the events of the oldest complete revision, or std::nullopt if no revision is complete.
  [[nodiscard]] std::optional<std::vector<WatchEvent>> take();

  /// Forgets the events of an incomplete revision, because etcd sends them again on the next connection.
  void note_break();

  [[nodiscard]] std::int64_t next_revision() const noexcept { return next_revision_; }

 private:
  void close_last();

  std::deque<std::vector<WatchEvent>> revisions_;  // The received revisions, each with at least one event.
  bool is_last_open_ = false;                      // Whether more events of the last revision may arrive.
  std::int64_t next_revision_;                     // All revisions before this revision are complete.
};

}  // namespace rest_fcgi::etcd

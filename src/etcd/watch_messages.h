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
  /// internal, if the line has more bytes than the constructor's limit.
  Result<std::optional<std::string>> next();

  /// Returns the bytes after the last newline, which may be an error message at the end of a stream.
  [[nodiscard]] std::string rest();

 private:
  const std::size_t most_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t scanned_ = 0;  // The bytes from `begin_` to `scanned_` contain no newline.
};

/// Returns the body of the request that creates a watch. If `fragment` is true, etcd may split a large reply
/// into several. etcd before 3.4 refuses such a request.
[[nodiscard]] std::string watch_body(const WatchRequest& request, std::int64_t start_revision, bool fragment);

struct WatchReply {
  Header header;
  bool created = false;
  bool canceled = false;
  bool fragment = false;  ///< `fragment` says that the next reply continues this reply's last revision.
  /// `compact_revision` is the oldest revision that etcd still has, if etcd canceled the watch because of a
  /// compaction. Otherwise it is 0.
  std::int64_t compact_revision = 0;
  std::string cancel_reason;
  std::vector<WatchEvent> events;
};

/// Reads one message of a watch stream. Returns a failure if the message is malformed or is an error of etcd.
/// `url` is the member's URL for the error message.
[[nodiscard]] Tried<WatchReply> read_watch_reply(std::string_view message, std::string_view url);

/// Returns the failure for a reply with which etcd canceled a watch. REQUIRES: `reply.canceled` is true.
[[nodiscard]] Failure cancel_failure(const WatchReply& reply, std::string_view url);

/// The received events of a watch, grouped by revision. A WatchBacklog is not thread-safe.
class WatchBacklog {
 public:
  explicit WatchBacklog(std::int64_t start_revision) : next_revision_(start_revision) {}

  /// REQUIRES: `reply.canceled` is false.
  void add(WatchReply reply);

  /// Removes and returns the events of the oldest complete revision. Returns std::nullopt if no revision is
  /// complete.
  [[nodiscard]] std::optional<std::vector<WatchEvent>> take();

  /// Handles the end of a connection. Forgets the events of an incomplete revision, because etcd sends these
  /// events again on the next connection.
  void note_break();

  [[nodiscard]] std::int64_t next_revision() const noexcept { return next_revision_; }

 private:
  void close_last();

  std::deque<std::vector<WatchEvent>> revisions_;
  bool is_last_open_ = false;  // Whether more events of the last revision may arrive.
  std::int64_t next_revision_;
};

}  // namespace rest_fcgi::etcd

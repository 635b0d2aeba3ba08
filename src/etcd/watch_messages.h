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

/// Messages of the Watch service, and the events of a watch that were received and not returned.
namespace rest_fcgi::etcd {

/// Splits a stream into lines: the gateway ends each message with a newline. Not synchronized.
class LineReader {
 public:
  explicit LineReader(std::size_t most) : most_(most) {}

  void append(std::string_view bytes);

  /// Returns the next line that is not empty; absent if it has not come. Errors: internal, if it is longer
  /// than `most` bytes.
  [[nodiscard]] Result<std::optional<std::string>> next();

  /// Returns what follows the last newline: an error at the end of a stream has no newline.
  [[nodiscard]] std::string rest();

 private:
  const std::size_t most_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of the line
  std::size_t scanned_ = 0;  // the end of what has no newline
};

/// `fragment` asks for large replies in parts; etcd before 3.4 refuses the word.
[[nodiscard]] std::string watch_body(const WatchRequest& request, std::int64_t start_revision, bool fragment);

struct WatchReply {
  Header header;
  bool created = false;
  bool canceled = false;
  bool fragment = false;              ///< the next reply continues the last revision of this one
  std::int64_t compact_revision = 0;  ///< not 0: canceled, since earlier revisions are compacted
  std::string cancel_reason;
  std::vector<WatchEvent> events;
};

/// Reads one message of a stream. `url` is the member's, for messages. Failures: an error in the stream, or a
/// malformed message.
[[nodiscard]] Tried<WatchReply> read_watch_reply(std::string_view message, std::string_view url);

/// Returns why a watch was canceled. REQUIRES: reply.canceled
[[nodiscard]] Failure cancel_failure(const WatchReply& reply, std::string_view url);

/// Received events, by revision. Not synchronized.
class WatchBacklog {
 public:
  explicit WatchBacklog(std::int64_t start_revision) : next_revision_(start_revision) {}

  /// REQUIRES: the reply is not canceled.
  void add(WatchReply reply);

  /// Returns the events of the oldest revision that is complete.
  [[nodiscard]] std::optional<std::vector<WatchEvent>> take();

  /// Forgets an incomplete revision, which comes again on the next connection.
  void note_break();

  /// Returns the revision at which the next connection starts.
  [[nodiscard]] std::int64_t next_revision() const noexcept { return next_revision_; }

 private:
  void close_last();

  std::deque<std::vector<WatchEvent>> revisions_;  // each has events
  bool is_last_open_ = false;                      // more events of the last revision may come
  std::int64_t next_revision_;                     // all revisions before it are complete
};

}  // namespace rest_fcgi::etcd

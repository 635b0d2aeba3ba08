// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/gateway_error.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/watcher.h"

/// Requests and replies of the Watch service as the gateway's JSON, and what came of a watch and is not told
/// yet.
namespace rest_fcgi::etcd {

/// Cuts a stream into the JSON objects that it is made of, with or without white space between them. Looks at
/// each byte once, however many pieces it comes in. Not synchronized.
class ObjectReader {
 public:
  explicit ObjectReader(std::size_t most) : most_(most) {}

  /// What came next.
  void append(std::string_view bytes);

  /// The next object's text: from its first bracket to the one that closes it, and not checked in between.
  /// Absent where more has to come. Errors: internal, where something else stands in front of an object, or
  /// where it is larger than `most` bytes; the stream is then of no use any more.
  [[nodiscard]] Result<std::optional<std::string>> next();

 private:
  /// Counts brackets up to the end of the object; false where that has not come yet.
  bool find_end();

  const std::size_t most_;
  std::string buffer_;
  std::size_t begin_ = 0;  // where the object that is being read stands
  std::size_t at_ = 0;     // what was looked at ends here
  std::size_t depth_ = 0;  // of brackets that are open
  bool in_string_ = false;
  bool escaped_ = false;
};

/// The body that starts `request`, at `start_revision` (0: from now on). `fragment` asks for large replies in
/// pieces; etcd before 3.4 does not know the word.
[[nodiscard]] std::string watch_body(const WatchRequest& request, std::int64_t start_revision, bool fragment);

struct WatchReply {
  Header header;
  bool created = false;
  bool canceled = false;
  bool fragment = false;              ///< events of its last revision go on in the next reply
  std::int64_t compact_revision = 0;  ///< not 0: canceled, since all before it is compacted away
  std::string cancel_reason;
  std::vector<WatchEvent> events;
};

/// One object of the stream. `url` is the member's, for messages. Failures: what the stream says instead of a
/// reply, or an object that is none.
[[nodiscard]] Tried<WatchReply> read_watch_reply(std::string_view object, std::string_view url);

/// Why a reply is `canceled`.
[[nodiscard]] Failure cancel_failure(const WatchReply& reply, std::string_view url);

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

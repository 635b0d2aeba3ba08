// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/gateway_error.h"
#include "rest_fcgi/etcd/watcher.h"

/// Requests and replies of the Watch service as the gateway's JSON.
namespace rest_fcgi::etcd {

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

}  // namespace rest_fcgi::etcd

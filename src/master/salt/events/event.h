// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "master/salt/lines.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// One event of the master's bus. Borrows.
struct Event {
  std::string_view tag;
  std::string_view data;  ///< one msgpack map, which whoever reads it checks: a minion may choose any tag
};

/// What a tag is about, where that is something that somebody here may wait for. Source: the master's event
/// tags, the same on all living lines. Borrows from the tag.
struct Topic {
  enum class Kind {
    job_return,     ///< `salt/job/<jid>/ret/<minion>`
    runner_new,     ///< `salt/run/<jid>/new`: it begins now
    runner_return,  ///< `salt/run/<jid>/ret`
    syndic,         ///< `syndic/<syndic>/<jid>`: a syndic passed the job on to its own minions
  };
  Kind kind;
  std::string_view jid;
  std::string_view who;  ///< the minion or syndic; its id may hold dots and slashes
};

/// Absent for all other tags, which are most.
[[nodiscard]] std::optional<Topic> topic_of(std::string_view tag) noexcept;

/// A tag that is about one job: `salt/job/J/...`, `salt/run/J/...`, `salt/wheel/J/...`, and the bare `J` of
/// 3006 and 3007. Borrows from the tag.
struct JobTag {
  enum class Of : std::uint8_t { job, runner, wheel };
  Of of;
  std::string_view jid;
  std::string_view rest;  ///< behind the id and its slash
};

/// Absent for all other tags.
[[nodiscard]] std::optional<JobTag> job_tag(std::string_view tag) noexcept;

/// Where the master's event bus is, and what this engine spends on it.
struct BusOptions {
  std::string path;                              ///< of `master_event_pub.ipc`; empty: TCP
  std::string host = "127.0.0.1";                ///< `ipc_mode: tcp`
  unsigned port = 4512;                          ///< Salt's `tcp_master_pub_port`
  std::string port_key = "tcp_master_pub_port";  ///< for messages
  std::size_t max_frame_bytes = 64 << 20;        ///< masters trim events to 1 MiB: a longer one is none
  std::size_t max_early_bytes = 32 << 20;        ///< of events kept for jobs whose id is not known yet
  std::size_t max_jobs = 65536;                  ///< that can be listened to at once
  std::chrono::milliseconds rejoin_pause{100};   ///< between two tries to join; grows to 10 times that
};

/// Takes the byte stream of a master's event bus apart. Does no input or output. Not synchronized.
///
///     with_length:  | length, 4 bytes | {"head": {}, "body": bin} | length | ...
///     bare:                           | {"head": {}, "body": bin} | {"head": ...
///                                                             |
///                                     body:  tag, "\n\n", one msgpack map
///
/// Source: the frames of all living lines. The first byte tells the framing. `body` may be a `str` as well,
/// and other entries of the map are ignored.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_frame_bytes) : max_frame_bytes_(max_frame_bytes) {}

  /// Takes what came, which may end anywhere. To be followed by calls of `next` until one gives nothing: what
  /// it holds grows with what came, never with a length that was announced.
  void feed(std::string_view bytes);

  /// The next whole event, absent until more was fed. It borrows from this until the next call. Errors:
  /// internal, for what is no such stream, or a frame that is too large; then it gives no more events, but
  /// the same error again.
  [[nodiscard]] Result<std::optional<Event>> next();

 private:
  /// The next whole frame, taken out of the buffer.
  [[nodiscard]] Result<std::optional<std::string_view>> take_frame();
  [[nodiscard]] Result<std::optional<std::string_view>> take_bare_frame();
  [[nodiscard]] Result<std::optional<std::string_view>> take_frame_with_length();
  void let_go();

  const std::size_t max_frame_bytes_;
  std::string buffer_;
  std::size_t start_ = 0;  // of the frame that comes, in buffer_
  std::optional<Framing> framing_;
  std::uint64_t frames_ = 0;
  std::optional<Error> broken_;
};

}  // namespace rest_fcgi::salt

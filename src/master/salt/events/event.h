// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "master/salt/release_series.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// An event of the master's bus. Borrows its texts.
struct Event {
  std::string_view tag;
  /// The data, one msgpack map. The data is not trusted, because a minion may fire an event with any tag and
  /// data.
  std::string_view data;
};

/// The meaning of an event's tag, if the engine uses the event. Borrows its texts.
struct Topic {
  enum class Kind {
    job_return,     ///< `job_return` is `salt/job/<jid>/ret/<minion>`.
    runner_new,     ///< `runner_new` is `salt/run/<jid>/new`: the runner starts.
    runner_return,  ///< `runner_return` is `salt/run/<jid>/ret`.
    syndic,         ///< `syndic` is `syndic/<syndic>/<jid>`: a syndic passed the job to its minions.
  };
  Kind kind;
  std::string_view jid;
  std::string_view who;  ///< The id of the minion or syndic. The id may contain dots and slashes.
};

[[nodiscard]] std::optional<Topic> topic_of(std::string_view tag) noexcept;

/// A tag about one job: `salt/job/J/...`, `salt/run/J/...` or `salt/wheel/J/...`. In Salt 3006 and 3007 the
/// tag may be `J` alone. Borrows its texts.
struct JobTag {
  enum class Of : std::uint8_t { job, runner, wheel };
  Of of;
  std::string_view jid;
  std::string_view rest;  ///< The part of the tag after the job id and its slash.
};

[[nodiscard]] std::optional<JobTag> job_tag(std::string_view tag) noexcept;

struct BusOptions {
  std::string path;                              ///< `path` leads to `master_event_pub.ipc`; empty for TCP.
  std::string host = "127.0.0.1";                ///< `host` is used with `ipc_mode: tcp`.
  unsigned port = 4512;                          ///< `port` is Salt's `tcp_master_pub_port`.
  std::string port_key = "tcp_master_pub_port";  ///< `port_key` names the port's setting in messages.
  std::size_t max_frame_bytes = 64 << 20;  ///< `max_frame_bytes` limits frames. Masters send at most 1 MiB.
  /// `max_early_bytes` limits the size of the events that are kept for jobs whose id is not known yet.
  std::size_t max_early_bytes = 32 << 20;
  std::size_t max_jobs = 65536;  ///< `max_jobs` is the largest number of jobs with a listener.
  /// `rejoin_pause` is the first delay between attempts to join. The delay grows to ten times this value.
  std::chrono::milliseconds rejoin_pause{100};
};

/// Splits the byte stream of the event bus into events. Not synchronized. A frame is a map `{"head": {},
/// "body": bin}`. With `Framing::with_length`, the frame's length in 4 bytes precedes the frame. `body` is
/// the tag, two line feeds, and one msgpack map.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_frame_bytes) : max_frame_bytes_(max_frame_bytes) {}

  /// Adds received bytes. The bytes may end in the middle of a frame. The memory grows with the received
  /// bytes, and not with the length that a frame announces. REQUIRES: the last call of `next` returned no
  /// event.
  void feed(std::string_view bytes);

  /// Returns the next complete event. The event borrows from the reader until the next call of `next`.
  /// Returns std::nullopt if more bytes are needed. Fails with `internal` for a malformed stream or a too
  /// large frame. After an error, each later call fails, too.
  Result<std::optional<Event>> next();

 private:
  Result<std::optional<std::string_view>> take_frame();
  Result<std::optional<std::string_view>> take_bare_frame();
  Result<std::optional<std::string_view>> take_frame_with_length();
  void let_go();

  const std::size_t max_frame_bytes_;
  std::string buffer_;
  std::size_t start_ = 0;
  std::optional<Framing> framing_;
  std::uint64_t frames_ = 0;
  std::optional<Error> broken_;
};

}  // namespace rest_fcgi::salt

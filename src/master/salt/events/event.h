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

/// One event of the master's bus. Borrows.
struct Event {
  std::string_view tag;
  std::string_view data;  ///< One msgpack map. It is not trusted, since minions may choose tags.
};

/// The meaning of a tag for which this engine waits. Borrows.
struct Topic {
  enum class Kind {
    job_return,     ///< `salt/job/<jid>/ret/<minion>`
    runner_new,     ///< `salt/run/<jid>/new`: the runner starts
    runner_return,  ///< `salt/run/<jid>/ret`
    syndic,         ///< `syndic/<syndic>/<jid>`: a syndic passed the job to its minions
  };
  Kind kind;
  std::string_view jid;
  std::string_view who;  ///< The id of the minion or syndic, which may have dots and slashes.
};

/// Returns the topic of a tag. Absent if the engine does not wait for such tags.
[[nodiscard]] std::optional<Topic> topic_of(std::string_view tag) noexcept;

/// A tag about one job: `salt/job/J/...`, `salt/run/J/...`, `salt/wheel/J/...`, or `J` alone (3006 and 3007).
/// Borrows.
struct JobTag {
  enum class Of : std::uint8_t { job, runner, wheel };
  Of of;
  std::string_view jid;
  std::string_view rest;  ///< The part of the tag after the job id and its slash.
};

/// Returns the parts of a tag about a job. Absent for any other tag.
[[nodiscard]] std::optional<JobTag> job_tag(std::string_view tag) noexcept;

/// The address of the master's event bus, and limits.
struct BusOptions {
  std::string path;                              ///< The path of `master_event_pub.ipc`; empty for TCP.
  std::string host = "127.0.0.1";                ///< The host, used with `ipc_mode: tcp`.
  unsigned port = 4512;                          ///< Salt's `tcp_master_pub_port`
  std::string port_key = "tcp_master_pub_port";  ///< The name of the port's setting in messages.
  std::size_t max_frame_bytes = 64 << 20;        ///< The largest frame. Masters limit events to 1 MiB.
  /// The largest size of kept events for jobs whose id is not known yet.
  std::size_t max_early_bytes = 32 << 20;
  std::size_t max_jobs = 65536;  ///< The largest number of jobs with a listener.
  /// The first delay between attempts to join. It grows tenfold.
  std::chrono::milliseconds rejoin_pause{100};
};

/// Splits the byte stream of the event bus into events. Does no input or output. Not synchronized.
///
/// A frame is a map `{"head": {}, "body": bin}`. With `Framing::with_length`, 4 bytes with its length precede
/// it. `body` is the tag, two line feeds, and one msgpack map. `body` may also be a `str`. Other members are
/// ignored.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_frame_bytes) : max_frame_bytes_(max_frame_bytes) {}

  /// Adds received bytes, which may end at any place. After each call, `next` has to be called until it
  /// returns no event. The memory grows with the received bytes, not with a length that a frame announces.
  void feed(std::string_view bytes);

  /// Returns the next complete event. The event borrows from this object until the next call. Absent if more
  /// bytes are needed. Errors: internal, for a malformed stream or a frame that is too large. After an error,
  /// all later calls return the same error.
  [[nodiscard]] Result<std::optional<Event>> next();

 private:
  /// Removes the next complete frame from the buffer.
  [[nodiscard]] Result<std::optional<std::string_view>> take_frame();
  [[nodiscard]] Result<std::optional<std::string_view>> take_bare_frame();
  [[nodiscard]] Result<std::optional<std::string_view>> take_frame_with_length();
  void let_go();

  const std::size_t max_frame_bytes_;
  std::string buffer_;
  std::size_t start_ = 0;  // The start of the next frame in `buffer_`.
  std::optional<Framing> framing_;
  std::uint64_t frames_ = 0;
  std::optional<Error> broken_;
};

}  // namespace rest_fcgi::salt

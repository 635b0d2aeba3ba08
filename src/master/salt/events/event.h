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
  std::string_view data;  ///< one msgpack map; not trusted, since minions choose tags
};

/// The meaning of a tag that this engine waits for. Borrows.
struct Topic {
  enum class Kind {
    job_return,     ///< `salt/job/<jid>/ret/<minion>`
    runner_new,     ///< `salt/run/<jid>/new`: the runner starts
    runner_return,  ///< `salt/run/<jid>/ret`
    syndic,         ///< `syndic/<syndic>/<jid>`: a syndic passed the job to its minions
  };
  Kind kind;
  std::string_view jid;
  std::string_view who;  ///< the minion or syndic; the id may have dots and slashes
};

/// Returns the topic of a tag; absent for other tags.
[[nodiscard]] std::optional<Topic> topic_of(std::string_view tag) noexcept;

/// A tag about one job: `salt/job/J/...`, `salt/run/J/...`, `salt/wheel/J/...`, or `J` alone (3006 and 3007).
/// Borrows.
struct JobTag {
  enum class Of : std::uint8_t { job, runner, wheel };
  Of of;
  std::string_view jid;
  std::string_view rest;  ///< after the id and its slash
};

/// Returns the parts of a tag; absent for other tags.
[[nodiscard]] std::optional<JobTag> job_tag(std::string_view tag) noexcept;

/// The address of the master's event bus, and limits.
struct BusOptions {
  std::string path;                              ///< path of `master_event_pub.ipc`; empty: TCP
  std::string host = "127.0.0.1";                ///< `ipc_mode: tcp`
  unsigned port = 4512;                          ///< Salt's `tcp_master_pub_port`
  std::string port_key = "tcp_master_pub_port";  ///< for messages
  std::size_t max_frame_bytes = 64 << 20;        ///< masters limit events to 1 MiB
  std::size_t max_early_bytes = 32 << 20;        ///< bytes of events for jobs whose id is not known yet
  std::size_t max_jobs = 65536;                  ///< jobs with a listener
  std::chrono::milliseconds rejoin_pause{100};   ///< delay between attempts to join; grows tenfold
};

/// Splits the byte stream of the event bus into events. Does no input or output. Not synchronized.
///
/// A frame is a map `{"head": {}, "body": bin}`. With `Framing::with_length` it follows its length in 4
/// bytes. `body` is the tag, two line feeds, and one msgpack map. It may also be a `str`, and other members
/// are ignored.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_frame_bytes) : max_frame_bytes_(max_frame_bytes) {}

  /// Adds received bytes, which may end anywhere. Then `next` has to be called until it returns no event.
  /// Memory grows with the received bytes, never with an announced length.
  void feed(std::string_view bytes);

  /// Returns the next complete event, which borrows from this object until the next call; absent if more
  /// bytes are needed. Errors: internal, for a malformed stream or a frame that is too large; all later calls
  /// return the same error.
  [[nodiscard]] Result<std::optional<Event>> next();

 private:
  /// Removes the next complete frame from the buffer.
  [[nodiscard]] Result<std::optional<std::string_view>> take_frame();
  [[nodiscard]] Result<std::optional<std::string_view>> take_bare_frame();
  [[nodiscard]] Result<std::optional<std::string_view>> take_frame_with_length();
  void let_go();

  const std::size_t max_frame_bytes_;
  std::string buffer_;
  std::size_t start_ = 0;  // start of the next frame in buffer_
  std::optional<Framing> framing_;
  std::uint64_t frames_ = 0;
  std::optional<Error> broken_;
};

}  // namespace rest_fcgi::salt

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
  std::string_view data;  ///< one msgpack map; not trusted, because minions may choose tags
};

/// The meaning of a tag for which the engine waits. Borrows its texts.
struct Topic {
  enum class Kind {
    job_return,     ///< `salt/job/<jid>/ret/<minion>`
    runner_new,     ///< `salt/run/<jid>/new`: the runner starts
    runner_return,  ///< `salt/run/<jid>/ret`
    syndic,         ///< `syndic/<syndic>/<jid>`: a syndic passed the job to its minions
  };
  Kind kind;
  std::string_view jid;
  std::string_view who;  ///< the id of the minion or syndic, which may have dots and slashes
};

[[nodiscard]] std::optional<Topic> topic_of(std::string_view tag) noexcept;

/// A tag about one job: `salt/job/J/...`, `salt/run/J/...`, `salt/wheel/J/...`, or `J` alone (3006 and 3007).
/// Borrows its texts.
struct JobTag {
  enum class Of : std::uint8_t { job, runner, wheel };
  Of of;
  std::string_view jid;
  std::string_view rest;  ///< the part of the tag after the job id and its slash
};

[[nodiscard]] std::optional<JobTag> job_tag(std::string_view tag) noexcept;

struct BusOptions {
  std::string path;                              ///< the path of `master_event_pub.ipc`; empty for TCP
  std::string host = "127.0.0.1";                ///< the host, used with `ipc_mode: tcp`
  unsigned port = 4512;                          ///< Salt's `tcp_master_pub_port`
  std::string port_key = "tcp_master_pub_port";  ///< the name of the port's setting in messages
  std::size_t max_frame_bytes = 64 << 20;        ///< the largest frame; masters limit events to 1 MiB
  /// The largest size of kept events for jobs whose id is not known yet.
  std::size_t max_early_bytes = 32 << 20;
  std::size_t max_jobs = 65536;  ///< the largest number of jobs with a listener
  /// The first delay between attempts to join. The delay grows tenfold.
  std::chrono::milliseconds rejoin_pause{100};
};

/// Splits the byte stream of the event bus into events. Not synchronized.
/// A frame is a map `{"head": {}, "body": bin}`. `Framing::with_length` adds its length in 4 bytes. `body` is
/// the tag, two line feeds, and one msgpack map.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_frame_bytes) : max_frame_bytes_(max_frame_bytes) {}

  /// Adds received bytes, which may end at any place. Memory grows with the received bytes only. REQUIRES:
  /// `next` has returned no event since the last call.
  void feed(std::string_view bytes);

  /// Returns the next complete event, which borrows from the reader until the next call. Returns absent if
  /// more bytes are needed. Fails with `internal` for a malformed stream or a too large frame, and in all
  /// later calls.
  [[nodiscard]] Result<std::optional<Event>> next();

 private:
  [[nodiscard]] Result<std::optional<std::string_view>> take_frame();
  [[nodiscard]] Result<std::optional<std::string_view>> take_bare_frame();
  [[nodiscard]] Result<std::optional<std::string_view>> take_frame_with_length();
  void let_go();

  const std::size_t max_frame_bytes_;
  std::string buffer_;
  std::size_t start_ = 0;  // the start of the next frame in `buffer_`
  std::optional<Framing> framing_;
  std::uint64_t frames_ = 0;
  std::optional<Error> broken_;
};

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

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

/// Who waits for the events of one job. `hear` and `lost` are called on one thread at a time, mostly the
/// bus's own, and are quick: while they work, nobody else's events are read. They throw nothing, and hold no
/// lock of the bus, so that they may call it.
class Listener {
 public:
  virtual ~Listener() = default;

  /// False once nobody waits any more: then it is dropped. Called on any thread, also while it hears, and
  /// with the bus's lock held: it only looks.
  [[nodiscard]] virtual bool wanted() const = 0;
  virtual void hear(const Topic& topic, std::string_view data) = 0;

  /// Events may have been missed. It hears what comes after that, as long as it is wanted.
  virtual void lost(const Error& error) = 0;
};

/// Where the master's event bus is, and what this engine spends on it.
struct BusOptions {
  std::string path;                             ///< of `master_event_pub.ipc`; empty: TCP
  std::string host = "127.0.0.1";               ///< `ipc_mode: tcp`
  unsigned port = 4512;                         ///< Salt's `tcp_master_pub_port`
  std::size_t max_frame_bytes = 64 << 20;       ///< masters trim events to 1 MiB: a longer one is none
  std::size_t max_early_bytes = 32 << 20;       ///< of events kept for jobs whose id is not known yet
  std::size_t max_jobs = 65536;                 ///< that can be listened to at once
  std::chrono::milliseconds rejoin_pause{100};  ///< between two tries to join; grows to 10 times that
};

}  // namespace rest_fcgi::salt

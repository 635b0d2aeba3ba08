// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rest_fcgi::salt {

/// One event of the master's bus. Borrows.
struct Event {
  std::string_view tag;
  std::string_view data;  ///< one msgpack map, which whoever reads it checks: a minion may choose any tag
  std::uint64_t too_large = 0;  ///< its frame's bytes, where those are too many: `data` is only how it begins
};

/// What a tag is about, where that is something that somebody here may wait for. Source: the master's event
/// tags, the same on all living lines. Borrows from the tag.
struct Topic {
  enum class Kind {
    job_return,     ///< `salt/job/<jid>/ret/<minion>`
    runner_return,  ///< `salt/run/<jid>/ret`
    syndic,         ///< `syndic/<syndic>/<jid>`: a syndic passed the job on to its own minions
  };
  Kind kind;
  std::string_view jid;
  std::string_view who;  ///< the minion or syndic; its id may hold dots and slashes
};

/// Absent for all other tags, which are most.
[[nodiscard]] std::optional<Topic> topic_of(std::string_view tag) noexcept;

}  // namespace rest_fcgi::salt

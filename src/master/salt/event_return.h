// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "master/salt/events/event.h"
#include "rest_fcgi/master/master.h"

/// Events of the bus into what they say. Any minion may fire an event under any tag, and so none is believed
/// for its tag alone: `cmd`, `id` and `jid`, which the master writes, have to say the same.
namespace rest_fcgi::salt {

/// What was published, as the events of its returns repeat it.
struct Published {
  std::vector<std::string> functions;
  std::string user;
};

struct ReturnForm {
  bool whole = false;         ///< with the event as it came
  bool below_syndic = false;  ///< it may have come through a syndic: the master then writes no `cmd`
  /// Null: whatever was published. A caller may choose a job's id, and so that of a job of somebody else's
  /// that runs now. A return repeats `fun` and `user` on all living lines, below a syndic `fun` at most: one
  /// that names others is not this job's.
  const Published* published = nullptr;
};

/// What a minion returned; absent where the event is no return of that minion for that job. A value that
/// cannot be shown becomes a failed return that says so.
[[nodiscard]] std::optional<master::Return> read_return(const Topic& topic, std::string_view data,
                                                        ReturnForm form);

/// A failed return that says so, for one whose event had `size` bytes, too many: this is how it begins.
/// Absent where that does not show that it is a return of that minion.
[[nodiscard]] std::optional<master::Return> read_large_return(const Topic& topic, std::string_view beginning,
                                                              std::uint64_t size, ReturnForm form);

/// What a runner returned; absent where the event is none of the master's own. `whole`: with the event.
[[nodiscard]] std::optional<master::RunnerReturn> read_runner_return(const Topic& topic,
                                                                     std::string_view data, bool whole);

/// As `read_large_return`, for a runner.
[[nodiscard]] std::optional<master::RunnerReturn> read_large_runner_return(const Topic& topic,
                                                                           std::string_view beginning,
                                                                           std::uint64_t size);

/// The minions that a syndic passed a job on to; empty where the event is none of a syndic.
[[nodiscard]] std::vector<std::string> read_syndic(std::string_view data);

}  // namespace rest_fcgi::salt

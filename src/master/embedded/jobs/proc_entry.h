// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "master/embedded/jobs/process_id.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::embedded {

/// What a file of the proc directory tells about a job that runs: Salt's load of it, and whose it is.
struct ProcEntry {
  ProcessId process;
  returner::Load load;
  std::string ret;  ///< the returners that the caller named
};

[[nodiscard]] Json to_json(const ProcEntry& entry);

/// Absent where the text is no whole entry.
[[nodiscard]] std::optional<ProcEntry> proc_entry_from(std::string_view text);

}  // namespace rest_fcgi::embedded

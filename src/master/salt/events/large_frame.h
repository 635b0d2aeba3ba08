// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// How a frame of the event bus begins of which the rest is not kept. Borrows.
struct LargeFrame {
  /// As much of a frame is looked at: its tag is in it, and what the master writes before a return.
  static constexpr std::size_t kBeginning = 16 << 10;

  std::uint64_t size;     ///< of the whole frame
  std::string_view tag;   ///< of its event
  std::string_view data;  ///< as far as it was looked at

  /// `came` is the frame as far as it came; absent until that is enough. Errors: internal, for what is no
  /// event, and for one whose end is not that of its `body`: then nobody knows where the next one begins.
  [[nodiscard]] static Result<std::optional<LargeFrame>> read(std::string_view came);
};

}  // namespace rest_fcgi::salt

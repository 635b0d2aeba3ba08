// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::master {

struct UnmapNumber {
  void operator()(std::atomic<std::int64_t>* number) const noexcept;
};

/// A number that processes share: the first eight bytes of a file. In a new file it is 0.
using SharedNumber = std::unique_ptr<std::atomic<std::int64_t>, UnmapNumber>;
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "a lock would not work across processes");

/// Maps the number of an open file, which may be empty. Null, with `errno` set, where that cannot be done
/// (`file` is none, too: its `errno` stays) or the file is another user's.
[[nodiscard]] SharedNumber map_number(const UniqueFd& file) noexcept;

}  // namespace rest_fcgi::master

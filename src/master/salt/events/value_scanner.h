// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// What the first bytes of a msgpack value say. Source: the msgpack specification, "Formats".
struct ValueHeader {
  enum class Kind {
    scalar,  ///< nil, a boolean, a number or an extension
    text,    ///< `str` or `bin`: who packs for an event bus may use either
    array,
    map,
    unknown,  ///< 0xc1, which starts no value
  };
  Kind kind = Kind::unknown;
  std::size_t size = 1;       ///< of the header itself
  std::uint64_t payload = 0;  ///< bytes that follow and hold no values
  std::uint64_t values = 0;   ///< values that follow: of a map the keys as well
};

/// The header at the front of `bytes`; absent where it is cut short.
[[nodiscard]] std::optional<ValueHeader> header_of(std::string_view bytes) noexcept;

/// A number as msgpack and the streams of Salt write it. REQUIRES: at most 8 bytes.
[[nodiscard]] std::uint64_t big_endian(std::string_view bytes) noexcept;

/// Finds the end of one msgpack value while its bytes still come: looks at each header once and jumps over
/// texts. Allocates nothing, whatever lengths are announced. Not synchronized.
class ValueScanner {
 public:
  static constexpr std::size_t kMaxDepth = 32;

  explicit ValueScanner(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// `bytes` is the value as far as it came, from its first byte on; more may follow it. True once it is
  /// whole: it is `size()` bytes long. Errors: internal, for what is no msgpack, too long or nested too deep.
  [[nodiscard]] Result<bool> scan(std::string_view bytes);

  [[nodiscard]] std::size_t size() const noexcept { return position_; }

 private:
  [[nodiscard]] Result<void> enter(const ValueHeader& header);

  std::size_t max_bytes_;
  std::size_t position_ = 0;  // of the next header; may lie beyond what came
  std::size_t depth_ = 1;
  std::array<std::uint64_t, kMaxDepth> left_ = {
      1};  // values to come, of each that is open; the first: the value itself
};

}  // namespace rest_fcgi::salt

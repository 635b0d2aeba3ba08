// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// A look at one msgpack value: what it is, and where. Nothing is copied, since it may be large or a secret:
/// borrows the bytes that it was read from. Value type.
struct PackedValue {
  enum class Kind : std::uint8_t { nil, boolean, integer, real, text, array, map, extension };

  Kind kind = Kind::nil;
  bool boolean = false;
  std::int64_t integer = 0;  ///< the largest of 64 bits where it is unsigned and larger
  double real = 0;
  std::string_view text{};           ///< of `str` and `bin`, as it came: it may be no UTF-8
  std::string_view packed = "\xC0";  ///< all its bytes

  /// Errors: internal, for all that is not exactly one value within the limits.
  [[nodiscard]] static Result<PackedValue> read(std::string_view bytes);

  /// Its JSON text, as `to_json` makes it, and its errors.
  [[nodiscard]] Result<Json> json() const;
};

/// As in `a str`, for messages.
[[nodiscard]] std::string_view type_name(PackedValue::Kind kind) noexcept;

/// Shows the elements of an array in order, in one pass. Errors: internal, for all that is not exactly one
/// array; what came before was shown by then.
Result<void> each_element(std::string_view array_bytes,
                          const std::function<void(const PackedValue& element)>& show);

/// The same for the members of a map.
Result<void> each_member(std::string_view map_bytes,
                         const std::function<void(const PackedValue& key, const PackedValue& value)>& show);

/// An array of text, such as minion ids. Borrows. Errors: internal, for all else.
[[nodiscard]] Result<std::vector<std::string_view>> read_texts(std::string_view array_bytes);

}  // namespace rest_fcgi::salt

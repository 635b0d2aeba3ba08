// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"

/// Reads msgpack: single values, members of maps, and conversion to JSON.
namespace rest_fcgi::salt {

/// The largest nesting of arrays, maps and extensions with values. Salt's packer stops at 511 levels.
/// `JsonLimits::none` of `core` has the same limit as this one.
inline constexpr std::size_t kMaxDepth = 600;

/// The kind and content of one msgpack value. Borrows the bytes, which may be large or secret. Value type.
struct PackedValue {
  enum class Kind : std::uint8_t { nil, boolean, integer, real, text, array, map, extension };

  Kind kind = Kind::nil;
  bool boolean = false;
  std::int64_t integer = 0;  ///< An unsigned value that does not fit becomes the largest value.
  double real = 0;
  std::string_view text{};           ///< The content of a `str` or `bin`, which may not be UTF-8.
  std::string_view packed = "\xC0";  ///< All bytes of the value.

  /// Reads the outermost value. Errors: internal, unless the bytes are exactly one value within the limits.
  [[nodiscard]] static Result<PackedValue> read(std::string_view bytes);
};

/// Returns the size of the value at the start of `bytes`. Absent if the value is incomplete. Allocates no
/// memory. Errors: internal, for malformed or too deeply nested msgpack.
[[nodiscard]] Result<std::optional<std::size_t>> whole_value(std::string_view bytes);

/// Returns the name of a type for messages, such as `a str`.
[[nodiscard]] std::string_view type_name(PackedValue::Kind kind) noexcept;

/// Calls `show` with each element of an array, in one pass. Errors: internal, unless the bytes are exactly
/// one array. `show` was then called with the elements before the error.
Result<void> each_element(std::string_view array_bytes,
                          const std::function<void(const PackedValue& element)>& show);

/// Calls `show` with each member of a map, in one pass. Errors: internal, unless the bytes are exactly one
/// map. `show` was then called with the members before the error.
Result<void> each_member(std::string_view map_bytes,
                         const std::function<void(const PackedValue& key, const PackedValue& value)>& show);

/// Returns the elements of an array of texts, such as minion ids. Borrows. Errors: internal, for any other
/// value.
[[nodiscard]] Result<std::vector<std::string_view>> read_texts(std::string_view array_bytes);

/// Selected members of one msgpack map. Members are converted to JSON only when needed, and nested maps are
/// read with their own `Fields`. Borrows the bytes. Immutable; thread-safe.
class Fields {
 public:
  using Field = PackedValue;

  /// Reads the members whose names are in `wanted`. Of equal names the last one counts, as in Python. A name
  /// that is a `bin` does not count. Errors: internal, unless the bytes are exactly one map.
  [[nodiscard]] static Result<Fields> read(std::string_view map_bytes,
                                           std::span<const std::string_view> wanted);
  [[nodiscard]] static Result<Fields> read(std::string_view map_bytes,
                                           std::initializer_list<std::string_view> wanted) {
    return read(map_bytes, std::span(wanted.begin(), wanted.size()));
  }

  /// Returns the member with this name; null if there is none. The pointer is valid as long as this object.
  [[nodiscard]] const Field* find(std::string_view name) const noexcept;

  /// Returns the text of the member with this name. Empty if the map has no such member, or the member is not
  /// a text.
  [[nodiscard]] std::string_view text(std::string_view name) const noexcept;

 private:
  std::vector<std::pair<std::string_view, Field>> fields_;
};

/// Decides which parts of a value are hidden in the JSON of the value.
class Redactor {
 public:
  enum class Verdict : std::uint8_t {
    look_inside,     ///< Shows the value. Members and texts inside are decided one by one.
    show,            ///< Shows the whole value.
    hide,            ///< Replaces the value by `master::kHidden`, unless it is nil or a boolean.
    hide_but_count,  ///< Hides the value, unless it is a number or a text of few digits (`master::is_count`).
  };
  virtual ~Redactor() = default;

  /// Decides about the value of a member. `depth` is the number of maps and arrays around the value, at least
  /// 1.
  [[nodiscard]] virtual Verdict of_member(std::string_view key, std::size_t depth) const = 0;

  /// Returns the replacement for a text. Absent if the text is not changed.
  [[nodiscard]] virtual std::optional<std::string> shown(std::string_view text) const = 0;
};

/// Appends one msgpack value as the JSON that Salt would write (`salt.utils.json.dumps`). Works in one pass
/// without a tree. Where Salt fails or writes invalid JSON, these rules apply. NaN and infinities become
/// null. `bin` becomes text, in base64 if it is not UTF-8. Bytes of `str` that are not UTF-8 become U+FFFD. A
/// key that is not a text becomes a text (`1`, `1.5`, `null`, `true`, or the JSON of an array or map). Salt's
/// extension 78 becomes an ISO 8601 date with microseconds. Extension 79 becomes the value of a named
/// constant. The payload of any other extension becomes text. Equal keys are all written, as by Salt.
///
/// `redactor` is null to show everything. Errors: internal, with the problem and its byte offset, unless the
/// bytes are exactly one value; for more levels than `max_depth`; for an array or map as a key inside such a
/// key. After an error `out` is unchanged.
Result<void> append_json(std::string_view bytes, std::string& out, const Redactor* redactor = nullptr,
                         std::size_t max_depth = kMaxDepth);

/// Returns a msgpack value as JSON. Errors: those of `append_json`.
[[nodiscard]] Result<Json> to_json(std::string_view bytes);

}  // namespace rest_fcgi::salt

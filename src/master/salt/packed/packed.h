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

/// Reading msgpack: values, members of maps, and conversion to JSON.
namespace rest_fcgi::salt {

/// Maximum nesting of arrays, maps and extensions with values. Salt's packer stops at 511, and core's
/// `JsonDocument` has the same limit.
inline constexpr std::size_t kMaxDepth = 600;

/// The kind and content of one msgpack value. Borrows the bytes, which may be large or secret. Value type.
struct PackedValue {
  enum class Kind : std::uint8_t { nil, boolean, integer, real, text, array, map, extension };

  Kind kind = Kind::nil;
  bool boolean = false;
  std::int64_t integer = 0;  ///< unsigned values beyond 64 bits signed become the maximum
  double real = 0;
  std::string_view text{};           ///< of `str` and `bin`; may not be UTF-8
  std::string_view packed = "\xC0";  ///< all bytes of the value

  /// Errors: internal, for anything but exactly one value within the limits.
  [[nodiscard]] static Result<PackedValue> read(std::string_view bytes);
};

/// Returns the size of the value at the start of `bytes`; absent if it is incomplete. Allocates nothing.
/// Errors: internal, for malformed or too deeply nested msgpack.
[[nodiscard]] Result<std::optional<std::size_t>> whole_value(std::string_view bytes);

/// Returns a type name for messages, such as `a str`.
[[nodiscard]] std::string_view type_name(PackedValue::Kind kind) noexcept;

/// Calls `show` with each element of an array, in one pass. Errors: internal, for anything but exactly one
/// array; earlier elements were shown.
Result<void> each_element(std::string_view array_bytes,
                          const std::function<void(const PackedValue& element)>& show);

/// Calls `show` with each member of a map, in the same way.
Result<void> each_member(std::string_view map_bytes,
                         const std::function<void(const PackedValue& key, const PackedValue& value)>& show);

/// Returns an array of texts, such as minion ids. Borrows. Errors: internal, for anything else.
[[nodiscard]] Result<std::vector<std::string_view>> read_texts(std::string_view array_bytes);

/// Selected members of one msgpack map. Members are converted to JSON only when needed, and nested maps are
/// read with their own `Fields`. Borrows the bytes. Immutable; thread-safe.
class Fields {
 public:
  using Field = PackedValue;

  /// Of equal names the last one counts, as in Python. Names are `str`, not `bin`. Errors: internal, for
  /// anything but exactly one map.
  [[nodiscard]] static Result<Fields> read(std::string_view map_bytes,
                                           std::span<const std::string_view> wanted);
  [[nodiscard]] static Result<Fields> read(std::string_view map_bytes,
                                           std::initializer_list<std::string_view> wanted) {
    return read(map_bytes, std::span(wanted.begin(), wanted.size()));
  }

  /// Returns the member; null if there is none. Valid as long as this object.
  [[nodiscard]] const Field* find(std::string_view name) const noexcept;

  /// Returns the text of the member; empty if there is none or it is not a text.
  [[nodiscard]] std::string_view text(std::string_view name) const noexcept;

 private:
  std::vector<std::pair<std::string_view, Field>> fields_;
};

/// Decides which parts of a value are hidden in its JSON.
class Redactor {
 public:
  enum class Verdict : std::uint8_t {
    look_inside,     ///< show it, and decide about members and texts inside
    show,            ///< show all of it
    hide,            ///< replace it by `master::kHidden`, except nil and booleans
    hide_but_count,  ///< the same, except numbers and texts of few digits (`master::is_count`)
  };
  virtual ~Redactor() = default;

  /// Decides about the value of a member. `depth`: number of maps and arrays around it, from 1.
  [[nodiscard]] virtual Verdict of_member(std::string_view key, std::size_t depth) const = 0;

  /// Returns the replacement for a text that is not a key; absent: unchanged.
  [[nodiscard]] virtual std::optional<std::string> shown(std::string_view text) const = 0;
};

/// Appends one msgpack value as the JSON that Salt would write (`salt.utils.json.dumps`), in one pass without
/// a tree. Where Salt fails or writes invalid JSON: NaN and infinities are null; `bin` is text, in base64 if
/// it is not UTF-8; bytes of `str` that are not UTF-8 become U+FFFD; a key that is not a text becomes one
/// (`1`, `1.5`, `null`, `true`, or the JSON of an array or map); Salt's extension 78 is an ISO 8601 date with
/// microseconds; extension 79 is the value of a named constant; other extensions are their payload as text.
/// Equal keys are all written, as by Salt.
///
/// `redactor`: null to show everything. Errors: internal, with the problem and its byte offset, for anything
/// but exactly one value, for more levels than `max_depth`, and for an array or map as key inside of such a
/// key. `out` is then unchanged.
Result<void> append_json(std::string_view bytes, std::string& out, const Redactor* redactor = nullptr,
                         std::size_t max_depth = kMaxDepth);

/// Returns the value as JSON.
[[nodiscard]] Result<Json> to_json(std::string_view bytes);

}  // namespace rest_fcgi::salt

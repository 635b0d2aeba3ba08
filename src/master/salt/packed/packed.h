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

namespace rest_fcgi::salt {

/// The largest nesting of arrays, maps and extensions. Salt's packer stops at 511 levels.
inline constexpr std::size_t kMaxDepth = 600;

/// The kind and content of one msgpack value. Borrows the bytes, which may be large or secret.
struct PackedValue {
  enum class Kind : std::uint8_t { nil, boolean, integer, real, text, array, map, extension };

  Kind kind = Kind::nil;
  bool boolean = false;
  /// The value of an integer. For an integer above the largest `int64_t`, this is the largest `int64_t`.
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text{};           ///< `text` is the content of a `str` or `bin`. It may be invalid UTF-8.
  std::string_view packed = "\xC0";  ///< `packed` has all bytes of the value.

  /// Reads the outermost value. Fails with `internal` unless the bytes are exactly one value.
  static Result<PackedValue> read(std::string_view bytes);
};

/// Returns the size of the value at the start of `bytes`, or std::nullopt for an incomplete value. Allocates
/// no memory. Fails with `internal` for malformed or too deeply nested msgpack.
Result<std::optional<std::size_t>> whole_value(std::string_view bytes);

/// Returns a type's name with its article for messages, such as `a str`.
[[nodiscard]] std::string_view type_name(PackedValue::Kind kind) noexcept;

/// Calls `show` with each element of an array, until an element is malformed. Fails with `internal` unless
/// the bytes are exactly one array.
Result<void> each_element(std::string_view array_bytes,
                          const std::function<void(const PackedValue& element)>& show);

/// Calls `show` with each member of a map, until a member is malformed. Fails with `internal` unless the
/// bytes are exactly one map.
Result<void> each_member(std::string_view map_bytes,
                         const std::function<void(const PackedValue& key, const PackedValue& value)>& show);

/// Returns the borrowed elements of an array of texts, such as minion ids. Fails with `internal` for any
/// other value.
Result<std::vector<std::string_view>> read_texts(std::string_view array_bytes);

/// Selected members of one msgpack map. Borrows the bytes. Immutable; thread-safe.
class Fields {
 public:
  using Field = PackedValue;

  /// Reads the members whose names are in `wanted`. If a name is repeated, the last member is used, as in
  /// Python. A key of the type `bin` does not count as a name. Fails with `internal` unless the bytes are
  /// exactly one map.
  static Result<Fields> read(std::string_view map_bytes, std::span<const std::string_view> wanted);
  static Result<Fields> read(std::string_view map_bytes, std::initializer_list<std::string_view> wanted) {
    return read(map_bytes, std::span(wanted.begin(), wanted.size()));
  }

  /// Returns the member, or null if it is missing. The Fields own the member.
  [[nodiscard]] const Field* find(std::string_view name) const noexcept;

  /// Returns the text of the member. Returns an empty text if the member is missing or not a text.
  [[nodiscard]] std::string_view text(std::string_view name) const noexcept;

 private:
  std::vector<std::pair<std::string_view, Field>> fields_;
};

/// Decides which texts and values are hidden when a msgpack value is written as JSON.
class Redactor {
 public:
  enum class Verdict : std::uint8_t {
    look_inside,     ///< `look_inside` means that the Redactor decides about each member and text inside.
    show,            ///< `show` shows the whole value.
    hide,            ///< `hide` replaces the value by `master::kHidden`, unless it is nil or a boolean.
    hide_but_count,  ///< `hide_but_count` hides the value, unless it is a number or a short text of digits.
  };
  virtual ~Redactor() = default;

  /// Returns how to show the value of a member. `depth` is the number of maps and arrays around the value, at
  /// least 1.
  [[nodiscard]] virtual Verdict of_member(std::string_view key, std::size_t depth) const = 0;

  /// Returns the replacement for a text. Returns std::nullopt if the text is shown unchanged.
  [[nodiscard]] virtual std::optional<std::string> shown(std::string_view text) const = 0;
};

/// Appends one msgpack value as the JSON of `salt.utils.json.dumps`, in one pass. The following rules apply
/// where Salt fails or writes invalid JSON. NaN and infinities become null. `bin` becomes text, or base64
/// text if it is not UTF-8. Malformed bytes of `str` become U+FFFD. Keys become texts. Extension 78 becomes
/// an ISO 8601 date, and extension 79 the value of a named constant. The payload of another extension becomes
/// text. A null `redactor` shows everything. Fails with `internal` unless the bytes are one value of at most
/// `max_depth` levels. The error names the problem and its byte offset. After an error `out` is unchanged.
Result<void> append_json(std::string_view bytes, std::string& out, const Redactor* redactor = nullptr,
                         std::size_t max_depth = kMaxDepth);

/// Returns a msgpack value as JSON. Fails with the errors of `append_json`.
Result<Json> to_json(std::string_view bytes);

}  // namespace rest_fcgi::salt

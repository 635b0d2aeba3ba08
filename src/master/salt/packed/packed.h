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

/// Reading msgpack: values, chosen members of a map, and all of it as JSON text.
namespace rest_fcgi::salt {

/// Arrays and maps inside each other, and extensions that hold values. Salt's own packer stops at 511, so
/// what is deeper was not packed by a master; and core's `JsonDocument` reads as many levels.
inline constexpr std::size_t kMaxDepth = 600;

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
};

/// How many bytes the value has that `bytes` begin with; absent where it is not whole yet. Allocates nothing,
/// whatever lengths are announced. Errors: internal, for what is no msgpack or nested too deep.
[[nodiscard]] Result<std::optional<std::size_t>> whole_value(std::string_view bytes);

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

/// Chosen members of one msgpack map, found in one pass that writes nothing: a field is turned into JSON when
/// it is asked for it, and a map inside of the map is read with its own `Fields` from the field's `packed`.
/// Borrows the map's bytes. Immutable; thread-safe.
class Fields {
 public:
  using Field = PackedValue;

  /// Of members with the same name the last one counts, as in Python; a name is a `str`, not a `bin`. Errors:
  /// internal, for all that is not exactly one map.
  [[nodiscard]] static Result<Fields> read(std::string_view map_bytes,
                                           std::span<const std::string_view> wanted);
  [[nodiscard]] static Result<Fields> read(std::string_view map_bytes,
                                           std::initializer_list<std::string_view> wanted) {
    return read(map_bytes, std::span(wanted.begin(), wanted.size()));
  }

  /// Null where the map has none of that name. Valid as long as this object.
  [[nodiscard]] const Field* find(std::string_view name) const noexcept;

  /// Empty where there is none of that name, or where it is no text.
  [[nodiscard]] std::string_view text(std::string_view name) const noexcept;

 private:
  std::vector<std::pair<std::string_view, Field>> fields_;
};

/// Decides what of a value is left out of its JSON text.
class Discretion {
 public:
  enum class Verdict : std::uint8_t {
    look_inside,     ///< it is shown, and asked for are the members and texts inside of it
    show,            ///< all of it
    hide,            ///< `master::kHidden` stands for it, but for nil and bools, which tell no secret
    hide_but_count,  ///< the same, but for numbers and texts of a few digits (`master::is_count`)
  };
  virtual ~Discretion() = default;

  /// About the value of a member. `depth`: maps and arrays around that value; 1 in the outermost map.
  [[nodiscard]] virtual Verdict of_member(std::string_view key, std::size_t depth) const = 0;

  /// Returns what is shown in place of a text, which is no key; absent: the text itself.
  [[nodiscard]] virtual std::optional<std::string> shown(std::string_view text) const = 0;
};

/// Appends one msgpack value, in one pass and without a tree, as the JSON text that Salt would write
/// (`salt.utils.json.dumps` of an event's data), or as valid JSON where Salt writes none, or fails:
/// - NaN and infinities are null;
/// - `bin` is text, in base64 where it is no UTF-8; `str` that is none has U+FFFD for what is none;
/// - a key that is no text is one: `1`, `1.5`, `null`, `true`; of an array or map its JSON text;
/// - Salt's extension for dates (78) is the date as ISO 8601 has it, always with its microseconds; that
///   for named constants (79) is the constant's value; any other is its payload as text.
///
/// Members keep their order, and one that stands twice stands twice, as it does with Salt: parsers take the
/// later.
///
/// `discretion`: null where all is shown. Errors: internal, with what is wrong and at which byte, for all
/// that is not exactly one value, is nested deeper than `max_depth`, or has an array or map as key inside of
/// one that is a key. `out` is then as it was.
Result<void> append_json(std::string_view bytes, std::string& out, const Discretion* discretion = nullptr,
                         std::size_t max_depth = kMaxDepth);

/// The same as a text of its own.
[[nodiscard]] Result<Json> to_json(std::string_view bytes);

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi {

class JsonDocument;

/// Limits on JSON text from outside.
struct JsonLimits {
  std::size_t max_depth = 100;           ///< nested arrays and objects; Salt's packer fails at about 500
  std::size_t max_key_length = 1024;     ///< bytes of one object key
  std::size_t max_number_length = 4300;  ///< characters of one number; Python's limit for integers
  std::size_t max_values = 100000;       ///< values and keys in the text; each takes about 50 bytes

  /// Returns limits for text that was read within limits before. Only the depth is limited, since reading
  /// uses stack for each level.
  [[nodiscard]] static JsonLimits none() {
    constexpr std::size_t unlimited = static_cast<std::size_t>(-1);
    return {600, unlimited, unlimited, unlimited};
  }
};

/// A view of one value in a `JsonDocument`, cheap to copy. Valid until the document is parsed again, cleared
/// or destroyed. A default-constructed one is `null`. Thread-safe while the document does not change.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object };

  JsonValue() = default;

  [[nodiscard]] Kind kind() const noexcept;
  [[nodiscard]] bool is(Kind kind_asked) const noexcept { return kind() == kind_asked; }

  /// Returns Python's name of the type, for messages: `NoneType`, `bool`, `int`, `float`, `str`, `list`,
  /// `dict`.
  [[nodiscard]] std::string_view type_name() const noexcept;

  /// Returns the text of a string, or the digits of a number; empty for other kinds.
  [[nodiscard]] std::string_view text() const noexcept;

  /// REQUIRES: is(Kind::boolean).
  [[nodiscard]] bool boolean() const noexcept;

  /// Returns the value of an integer; absent for other kinds and beyond 64 bits.
  [[nodiscard]] std::optional<std::int64_t> integer() const noexcept;

  /// Returns the value of a number as floating point; absent for other kinds.
  [[nodiscard]] std::optional<double> number() const noexcept;

  /// Returns the number of elements or members; 0 for other kinds. Of members with the same key only the last
  /// counts, as in Python.
  [[nodiscard]] std::size_t size() const noexcept;

  /// Returns the member with that key; absent if there is none or this is not an object.
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const noexcept;

  class ElementIterator;
  class MemberIterator;
  /// A range for loops, with the lifetime of the value.
  template <class Iterator>
  struct Range {
    Iterator first;
    Iterator last;
    [[nodiscard]] Iterator begin() const { return first; }
    [[nodiscard]] Iterator end() const { return last; }
  };
  [[nodiscard]] Range<ElementIterator> elements() const noexcept;  ///< in order; empty for other kinds
  [[nodiscard]] Range<MemberIterator> members() const noexcept;    ///< in order; empty for other kinds

  /// Appends the value as Python's `json.dumps` writes it.
  void write(JsonWriter& writer) const;
  [[nodiscard]] Json json() const;

  /// Returns Python's `str()` of the value.
  [[nodiscard]] std::string python_str() const;
  /// Returns Python's `repr()` of the value.
  [[nodiscard]] std::string python_repr() const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, std::uint32_t index) : document_(document), index_(index) {}

  const JsonDocument* document_ = nullptr;
  std::uint32_t index_ = 0;
};

struct JsonMember {
  std::string_view key;
  JsonValue value;
};

class JsonValue::ElementIterator {
 public:
  ElementIterator() = default;
  JsonValue operator*() const { return {document_, index_}; }
  ElementIterator& operator++();
  bool operator==(const ElementIterator& other) const { return index_ == other.index_; }

 private:
  friend class JsonValue;
  ElementIterator(const JsonDocument* document, std::uint32_t index) : document_(document), index_(index) {}
  const JsonDocument* document_ = nullptr;
  std::uint32_t index_ = 0;
};

class JsonValue::MemberIterator {
 public:
  MemberIterator() = default;
  JsonMember operator*() const;
  MemberIterator& operator++();
  bool operator==(const MemberIterator& other) const { return index_ == other.index_; }

 private:
  friend class JsonValue;
  MemberIterator(const JsonDocument* document, std::uint32_t index, std::uint32_t end);
  void skip_shadowed();
  const JsonDocument* document_ = nullptr;
  std::uint32_t index_ = 0;
  std::uint32_t end_ = 0;
};

/// A parsed JSON text with its own copy of the text. It can be used for many texts: buffers are kept, and
/// their content is wiped, since requests contain passwords. Not synchronized; a document that does not
/// change may be read by many threads.
///
/// It accepts RFC 8259. Python's `NaN` and `Infinity` are refused, and lone surrogates, which Salt's packer
/// cannot send. Integers keep all digits.
class JsonDocument {
 public:
  JsonDocument();
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  /// Parses `text`. Errors: malformed, with the problem and the offset of the byte; the document is then
  /// empty. Throws std::bad_alloc.
  Result<void> parse(std::string_view text, const JsonLimits& limits = {});

  /// Parses `json`, and frees it before the values are allocated.
  Result<void> parse(Json&& json, const JsonLimits& limits = {});

  /// Returns the value; null before the first successful `parse`.
  [[nodiscard]] JsonValue root() const noexcept;

  /// Wipes the content and frees large buffers.
  void clear() noexcept;

 private:
  friend class JsonValue;
  friend class JsonValue::ElementIterator;
  friend class JsonValue::MemberIterator;
  struct Node;
  class Builder;

  Result<void> load(std::string_view text);
  Result<void> build(const JsonLimits& limits);

  /// Values in the order of the text. A member is two nodes: key and value.
  std::vector<Node> nodes_;
  WipedBytes text_;     ///< the JSON text, padded for simdjson; numbers point into it
  WipedBytes strings_;  ///< strings without escapes
};

/// Parses JSON of this process; null if it is nested too deeply.
[[nodiscard]] JsonDocument own_document(const Json& json);

}  // namespace rest_fcgi

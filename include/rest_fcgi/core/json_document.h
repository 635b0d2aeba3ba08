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

/// Limits on the form of a JSON text that comes from outside.
struct JsonLimits {
  std::size_t max_depth = 100;  ///< arrays and objects inside each other; Salt's packer fails at about 500
  std::size_t max_key_length = 1024;     ///< bytes of one object key
  std::size_t max_number_length = 4300;  ///< characters of one number, Python's own limit for integers
  std::size_t max_values = 100000;       ///< values and keys in the whole text; each takes some 50 bytes

  /// For text that was read from outside before, within limits. Its depth has one all the same, above all
  /// that can be set: reading takes some of the stack for each level.
  [[nodiscard]] static JsonLimits none() {
    constexpr std::size_t unlimited = static_cast<std::size_t>(-1);
    return {600, unlimited, unlimited, unlimited};
  }
};

/// A look at one value inside a `JsonDocument`; copies are cheap. Valid until that document is parsed anew,
/// cleared or destroyed. A default-constructed one is `null`. Thread-safe as long as nobody changes the
/// document.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object };

  JsonValue() = default;

  [[nodiscard]] Kind kind() const noexcept;
  [[nodiscard]] bool is(Kind kind_asked) const noexcept { return kind() == kind_asked; }

  /// What Python would call the type: `NoneType`, `bool`, `int`, `float`, `str`, `list`, `dict`. For
  /// messages.
  [[nodiscard]] std::string_view type_name() const noexcept;

  /// A string's text without escapes, or a number's digits; empty for all else.
  [[nodiscard]] std::string_view text() const noexcept;

  /// REQUIRES: is(Kind::boolean).
  [[nodiscard]] bool boolean() const noexcept;

  /// An integer's value; absent where it is none, or none of 64 bits.
  [[nodiscard]] std::optional<std::int64_t> integer() const noexcept;

  /// An integer's or real's value as floating point; absent where it is no number.
  [[nodiscard]] std::optional<double> number() const noexcept;

  /// Number of elements or members; 0 for all else. Of members with the same key the last one counts, as in
  /// Python.
  [[nodiscard]] std::size_t size() const noexcept;

  /// The member of that name; absent where there is none, or where this is no object.
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const noexcept;

  class ElementIterator;
  class MemberIterator;
  /// What a loop walks over. Same lifetime as the value.
  template <class Iterator>
  struct Range {
    Iterator first;
    Iterator last;
    [[nodiscard]] Iterator begin() const { return first; }
    [[nodiscard]] Iterator end() const { return last; }
  };
  [[nodiscard]] Range<ElementIterator> elements() const noexcept;  ///< in order; empty where this is no array
  [[nodiscard]] Range<MemberIterator> members() const noexcept;  ///< in order; empty where this is no object

  /// Appends it as Python's `json.dumps` would write what `json.loads` read.
  void write(JsonWriter& writer) const;
  [[nodiscard]] Json json() const;

  /// As Python's `str()`: a string as it is, `True`, `None`, numbers by their digits, all else as `repr()`.
  [[nodiscard]] std::string python_str() const;
  /// As Python's `repr()`: a string in quotes, `['a', 1]`, `{'a': None}`.
  [[nodiscard]] std::string python_repr() const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, std::uint32_t index) : document_(document), index_(index) {}

  const JsonDocument* document_ = nullptr;
  std::uint32_t index_ = 0;
};

/// One member of an object.
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

/// A parsed JSON text together with its own copy of it. Made to be used again and again by one thread:
/// buffers are kept from one text to the next, and what they held is wiped, since a request's body holds
/// passwords. Not synchronized; a document that is no longer changed may be read by many threads.
///
/// Accepts what RFC 8259 does, no more: Python's `NaN` and `Infinity` are refused, and so are lone
/// surrogates, which Salt's packer cannot send. Integers keep all their digits.
class JsonDocument {
 public:
  JsonDocument();
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  /// Reads `text`, and forgets what was read before. Errors: malformed, with what is wrong and at which byte,
  /// counted from 0; the document is then empty. Throws std::bad_alloc where memory is short.
  Result<void> parse(std::string_view text, const JsonLimits& limits = {});

  /// Does the same, and frees `json` before it needs memory for the values.
  Result<void> parse(Json&& json, const JsonLimits& limits = {});

  /// The value that was read; null before the first successful `parse`.
  [[nodiscard]] JsonValue root() const noexcept;

  /// Forgets and wipes what was read, and gives large buffers back.
  void clear() noexcept;

 private:
  friend class JsonValue;
  friend class JsonValue::ElementIterator;
  friend class JsonValue::MemberIterator;
  struct Node;
  class Builder;

  Result<void> load(std::string_view text);
  Result<void> build(const JsonLimits& limits);

  /// Values in the order of the text. An object's members are two nodes each: the key, then the value.
  std::vector<Node> nodes_;
  WipedBytes text_;     ///< the JSON text, padded as simdjson wants it; numbers point into it
  WipedBytes strings_;  ///< strings without their escapes
};

/// What was written in this process, as a document; null where it has more levels than can be read.
[[nodiscard]] JsonDocument own_document(const Json& json);

}  // namespace rest_fcgi

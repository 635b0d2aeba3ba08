// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi {

class JsonDocument;

/// Limits on JSON text from clients.
struct JsonLimits {
  /// The deepest nesting of arrays and objects. Salt's msgpack packer fails at a depth of about 500.
  std::size_t max_depth = 100;
  std::size_t max_key_length = 1024;  ///< `max_key_length` limits the keys of objects, in bytes.
  /// `max_number_length` limits the characters of a number. Python has this limit for the digits of an
  /// integer.
  std::size_t max_number_length = 4300;
  /// The largest number of values and keys. Each value or key takes about 50 bytes of memory.
  std::size_t max_values = 100000;

  /// Returns limits for text that was already checked. Only the depth is limited, because each level takes
  /// stack memory.
  [[nodiscard]] static JsonLimits none() {
    constexpr std::size_t unlimited = static_cast<std::size_t>(-1);
    return {600, unlimited, unlimited, unlimited};
  }
};

/// A view of one value in a `JsonDocument`. The view is valid until the document changes or is destroyed. A
/// default-constructed JsonValue is `null`. Threads may share a JsonValue while the document does not change.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object };

  JsonValue() = default;

  [[nodiscard]] Kind kind() const noexcept;
  [[nodiscard]] bool is(Kind kind_asked) const noexcept { return kind() == kind_asked; }

  /// Returns Python's name of the value's type, such as `NoneType` or `str`.
  [[nodiscard]] std::string_view type_name() const noexcept;

  /// Returns the text of a string or the digits of a number. Returns an empty text for other kinds.
  [[nodiscard]] std::string_view text() const noexcept;

  [[nodiscard]] bool boolean() const noexcept;

  /// Returns the value of an integer. Returns std::nullopt for other kinds and for an integer of more than 64
  /// bits.
  [[nodiscard]] std::optional<std::int64_t> integer() const noexcept;

  /// Returns the value of a number, or std::nullopt for other kinds.
  [[nodiscard]] std::optional<double> number() const noexcept;

  /// Returns the number of elements or members, or 0 for other kinds. Equal keys count once, as in Python.
  [[nodiscard]] std::size_t size() const noexcept;

  /// Returns the value of the member `key`. Returns std::nullopt if the member is missing or this value is
  /// not an object.
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const noexcept;

  class ElementIterator;
  class MemberIterator;
  template <class Iterator>
  struct Range {
    Iterator first;
    Iterator last;
    [[nodiscard]] Iterator begin() const { return first; }
    [[nodiscard]] Iterator end() const { return last; }
  };
  /// Returns the elements of an array. Returns no elements for other kinds.
  [[nodiscard]] Range<ElementIterator> elements() const noexcept;
  /// Returns the members of an object in their order. Returns no members for other kinds.
  [[nodiscard]] Range<MemberIterator> members() const noexcept;

  void write(JsonWriter& writer) const;
  [[nodiscard]] Json json() const;

  [[nodiscard]] std::string python_str() const;
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

/// A parsed JSON text (RFC 8259), which owns a copy of the text. Refuses lone surrogates, because Salt's
/// packer cannot send them. Integers keep all digits. Threads may share a document that does not change.
class JsonDocument {
 public:
  JsonDocument();
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  /// Parses `text`. Errors: malformed, with the problem and its offset in bytes. A failure leaves the
  /// document empty.
  Result<void> parse(std::string_view text, const JsonLimits& limits = {});

  /// Parses `json` and frees its text early, so that parsing needs less memory.
  Result<void> parse(Json&& json, const JsonLimits& limits = {});

  /// Returns the value of the whole text, or null before the first successful `parse`.
  [[nodiscard]] JsonValue root() const noexcept;

  /// Removes the content and frees large buffers.
  void clear() noexcept;

 private:
  friend class JsonValue;
  friend class JsonValue::ElementIterator;
  friend class JsonValue::MemberIterator;
  struct Node;
  class Builder;

  Result<void> load(std::string_view text);
  Result<void> build(const JsonLimits& limits);

  /// The values in the order of the text. The node of a member's key precedes the node of its value.
  std::vector<Node> nodes_;
  std::string text_;                 ///< `text_` is the JSON text, padded for simdjson.
  std::unique_ptr<char[]> strings_;  ///< `strings_` has the values of the strings, with escapes resolved.
};

/// Parses JSON that this process made. If the nesting is too deep, the document's value is null.
[[nodiscard]] JsonDocument own_document(const Json& json);

}  // namespace rest_fcgi

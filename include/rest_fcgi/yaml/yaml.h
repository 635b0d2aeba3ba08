// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

/// Reads and writes YAML 1.1 with the rules of PyYAML's safe loader and salt.utils.yamlloader. Equal keys in
/// a map are an error. Dates stay text. A leading zero does not make a number octal.
namespace rest_fcgi::yaml {

/// A position in a text.
struct Place {
  std::shared_ptr<const std::string> file;  ///< The path of the file. Null if the text is not from a file.
  std::size_t line = 0;                     ///< The number of the line, from 1.
  std::size_t column = 0;                   ///< The number of the column, from 1. 0 if unknown.
};

/// The type of a value by PyYAML's rules.
enum class Kind { null, boolean, integer, real, string, list, map };

struct Entry;

/// A value of a document with its position.
struct Node {
  Kind kind = Kind::null;
  Place place;
  std::string text;            ///< The text of a scalar, without quotes and with escapes resolved.
  std::vector<Node> items;     ///< The items of a list.
  std::vector<Entry> entries;  ///< The entries of a map in the order of the text. All keys differ.

  [[nodiscard]] bool is(Kind asked) const noexcept { return kind == asked; }

  /// Returns the entry with the key `key`. Returns null if this map has no such key. The pointer is valid
  /// until this node changes.
  [[nodiscard]] const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
};

struct Entry {
  std::string key;  ///< The text of the key, without quotes and with escapes resolved.
  /// Whether the key has no quotes. Only a key without quotes can be `<<` or a number.
  bool plain_key = true;
  Place place;  ///< The position of the key.
  Node value;
};

struct Limits {
  std::size_t max_depth = 100;  ///< The deepest nesting of lists and maps.
  /// The largest number of keys and values, including the copies for aliases.
  std::size_t max_values = 1000000;
};

/// Reads one document of a trusted file. `file` is used only in messages. Errors: those of `mistake_at`.
[[nodiscard]] Result<Node> read(const std::string& file, std::string_view text, const Limits& limits = {});

/// A YAML text from the network as JSON.
struct Transcript {
  Json json;
  Kind kind = Kind::null;  ///< The type of the document's value.
};

/// Reads one document from the network as JSON with the values that Salt would send. Dates and bytes become
/// text, and sets and `!!omap` become lists. Error messages never show the text, because it may contain
/// passwords.
///
/// Errors: malformed, if Salt's loader refuses the text or the nesting is too deep; invocation, if the text
/// has aliases, `<<`, numbers that JSON does not have, bytes that are not text, or more values than `limits`
/// allow.
[[nodiscard]] Result<Transcript> transcribe(std::string_view text, const Limits& limits = {});

/// Returns an error at a position. A text from a file gives `FILE:LINE: TEXT` with the kind configuration.
/// Other texts give `line L, column C: TEXT` with the kind malformed.
[[nodiscard]] Error mistake_at(const Place& place, std::string_view text);

/// Returns the value as Salt would send it in JSON. Dates become text. A number that JSON does not have, such
/// as `.inf`, becomes text. For each such number, calls `unfit` with the number's node.
[[nodiscard]] Json to_json(const Node& node, const std::function<void(const Node&)>& unfit = {});

/// Returns the value as YAML in block style, as PyYAML's safe_dump writes the value. The result ends with a
/// line feed.
[[nodiscard]] std::string write(const JsonValue& value);

/// Returns the text that a key has in JSON. The key `0x1` gives `1`, and `yes` gives `true`.
[[nodiscard]] std::string name_of(const Entry& entry);

/// Returns whether the values are equal in Python, as `1` and `1.0` are.
[[nodiscard]] bool equal(const Node& a, const Node& b);

/// Returns a short description of a value for a message, such as `12`, `"12"` or `a list`.
[[nodiscard]] std::string describe(const Node& node);

/// Returns `text` in double quotes for a message. Cuts a long text and escapes control characters.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Returns the type that YAML gives to a scalar without quotes.
[[nodiscard]] Kind kind_of_plain(std::string_view text);

/// Returns the value of a boolean such as `yes`. REQUIRES: kind_of_plain(text) == Kind::boolean.
[[nodiscard]] bool to_boolean(std::string_view text);

/// Returns the decimal digits of an integer such as `0x1F`. Salt reads `010` as 10 and `-010` as -8. Returns
/// std::nullopt for numbers that Python refuses and for hexadecimal, binary, octal and sexagesimal numbers of
/// more than 64 bits. REQUIRES: kind_of_plain(text) == Kind::integer.
[[nodiscard]] std::optional<std::string> to_decimal(std::string_view text);

/// Returns the value of an integer. Returns std::nullopt if the integer needs more than 64 bits.
[[nodiscard]] std::optional<std::int64_t> to_integer(std::string_view text);

/// Returns the value of a number, including `.inf` and `.nan`. REQUIRES: kind_of_plain(text) is Kind::integer
/// or Kind::real.
[[nodiscard]] double to_real(std::string_view text);

}  // namespace rest_fcgi::yaml

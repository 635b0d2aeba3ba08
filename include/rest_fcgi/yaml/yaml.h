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

/// Reads and writes YAML 1.1 like PyYAML's safe loader with the changes of salt.utils.yamlloader. Two equal
/// keys in a map are an error. Dates stay text. A number with a leading zero is decimal.
namespace rest_fcgi::yaml {

/// A position in a text.
struct Place {
  std::shared_ptr<const std::string> file;  ///< `file` is null for a text without a file.
  std::size_t line = 0;                     ///< `line` is the line, from 1.
  std::size_t column = 0;                   ///< `column` is the column, from 1. 0 if unknown.
};

/// The type that PyYAML gives to a value.
enum class Kind { null, boolean, integer, real, string, list, map };

struct Entry;

/// A value of a YAML document, with its position.
struct Node {
  Kind kind = Kind::null;
  Place place;
  std::string text;  ///< A scalar's text, without quotes and with escapes resolved.
  std::vector<Node> items;
  std::vector<Entry> entries;  ///< A map's entries in the order of the text. All keys differ.

  [[nodiscard]] bool is(Kind asked) const noexcept { return kind == asked; }

  /// Returns the entry of this map with the key `key`, or null if there is none. The pointer is valid until
  /// this node changes.
  [[nodiscard]] const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
};

struct Entry {
  std::string key;  ///< `key` is the key's text, without quotes and with escapes resolved.
  /// `plain_key` says whether the key has no quotes. Only such a key can be `<<` or a number.
  bool plain_key = true;
  Place place;
  Node value;
};

struct Limits {
  std::size_t max_depth = 100;  ///< `max_depth` is the deepest nesting of lists and maps.
  /// `max_values` is the largest number of keys and values. A value counts again for each of its aliases.
  std::size_t max_values = 1000000;
};

/// Reads the YAML document of a trusted file. `text` is the content of the file. `file` is the path for error
/// messages. Errors: those of `mistake_at`.
Result<Node> read(const std::string& file, std::string_view text, const Limits& limits = {});

/// A YAML text from the network, as JSON.
struct Transcript {
  Json json;
  Kind kind = Kind::null;  ///< The type of the document's value.
};

/// Turns a YAML document from the network into JSON with the values that Salt would send. Dates and bytes
/// become text. Sets and `!!omap` become lists. Error messages never show parts of the document, because it
/// may contain passwords.
///
/// Errors: malformed, if Salt's loader refuses the text or the nesting is too deep; invocation, if the text
/// has aliases, `<<`, numbers that JSON does not have, bytes that are not text, or more values than `limits`
/// allow.
Result<Transcript> transcribe(std::string_view text, const Limits& limits = {});

/// Makes an error for a position. If the position is in a file, the error is configuration and its message is
/// `FILE:LINE: TEXT`. Otherwise the error is malformed and its message is `line L, column C: TEXT`.
[[nodiscard]] Error mistake_at(const Place& place, std::string_view text);

/// Returns a value as Salt would send it in JSON. Dates become text. A number that JSON cannot express, such
/// as `.inf`, becomes text. For each such number, calls `unfit` with its node.
[[nodiscard]] Json to_json(const Node& node, const std::function<void(const Node&)>& unfit = {});

/// Returns a JSON value as YAML in block style. The text is equal to that of PyYAML's CSafeDumper and ends
/// with a line feed.
[[nodiscard]] std::string write(const JsonValue& value);

/// Returns the text that the key of an entry has in JSON. For example, the key `0x1` becomes `1`, and the key
/// `yes` becomes `true`.
[[nodiscard]] std::string name_of(const Entry& entry);

/// Returns whether two values are equal in Python. For example, `1` and `1.0` are equal.
[[nodiscard]] bool equal(const Node& a, const Node& b);

/// Returns a short description of a value for a message, such as `12`, `"12"` or `a list`.
[[nodiscard]] std::string describe(const Node& node);

/// Returns `text` in double quotes for a message. Cuts a long text and escapes control characters.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Returns the type that PyYAML gives to a scalar without quotes.
[[nodiscard]] Kind kind_of_plain(std::string_view text);

/// Returns the value of a boolean such as `yes`. REQUIRES: kind_of_plain(text) == Kind::boolean.
[[nodiscard]] bool to_boolean(std::string_view text);

/// Returns an integer such as `0x1F` in decimal digits. As in Salt, `010` is 10 but `-010` is -8. Returns
/// std::nullopt for a number that Python refuses, and for a hexadecimal, octal, binary or sexagesimal number
/// of more than 64 bits. REQUIRES: kind_of_plain(text) == Kind::integer.
[[nodiscard]] std::optional<std::string> to_decimal(std::string_view text);

/// Returns the value of an integer. Returns std::nullopt if the integer needs more than 64 bits.
[[nodiscard]] std::optional<std::int64_t> to_integer(std::string_view text);

/// Returns the value of a number, including `.inf` and `.nan`. REQUIRES: kind_of_plain(text) is Kind::integer
/// or Kind::real.
[[nodiscard]] double to_real(std::string_view text);

}  // namespace rest_fcgi::yaml

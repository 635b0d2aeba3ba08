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

/// YAML 1.1 as Salt reads it: PyYAML's safe loader with the changes of salt.utils.yamlloader. Equal keys in a
/// map are an error, dates stay text, and a leading zero does not make a number octal.
namespace rest_fcgi::yaml {

/// A position in a text. Value type; all positions of a text share its file name.
struct Place {
  std::shared_ptr<const std::string> file;  ///< empty: text that came from no file
  std::size_t line = 0;                     ///< from 1, as columns are
  std::size_t column = 0;                   ///< 0: unknown
};

/// The type of a value by PyYAML's rules.
enum class Kind { null, boolean, integer, real, string, list, map };

struct Entry;

/// One value of a document with its position. Value type.
struct Node {
  Kind kind = Kind::null;
  Place place;
  std::string text;            ///< of a scalar, without quotes and escapes
  std::vector<Node> items;     ///< of a list
  std::vector<Entry> entries;  ///< of a map, in the order of the text; no equal keys

  [[nodiscard]] bool is(Kind asked) const noexcept { return kind == asked; }

  /// Returns the entry with that key; null if there is none or this is not a map. Valid until this node
  /// changes.
  [[nodiscard]] const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
};

struct Entry {
  std::string key;        ///< without quotes and escapes
  bool plain_key = true;  ///< written without quotes: only then is `<<` a merge key and `1` a number
  Place place;            ///< of the key
  Node value;
};

/// Limits on a text.
struct Limits {
  std::size_t max_depth = 100;  ///< nested lists and maps
  /// Keys, values, and copies of values for anchors and aliases.
  std::size_t max_values = 1000000;
};

/// Reads one document of a trusted file. Anchors, aliases and `<<` are supported. `file` is for messages; an
/// empty text is null. Errors: as of `mistake_at`.
[[nodiscard]] Result<Node> read(const std::string& file, std::string_view text, const Limits& limits = {});

/// The JSON of a text from the network.
struct Transcript {
  Json json;
  Kind kind = Kind::null;  ///< of the document
};

/// Reads one document from the network, in memory of a few times its size. Values become what Salt would
/// send: dates and bytes (`!!binary`) are text, sets and pairs of `!!omap` are lists, keys are text as by
/// Python's json.dumps. Errors have line and column but nothing else of the text, which may contain
/// passwords: malformed, if Salt's loader fails, too, or nesting is too deep; invocation, for what Salt would
/// accept: aliases and `<<`, which could expand to much more than was sent, numbers that JSON does not have
/// such as `.nan`, bytes that are not text, and more values than `limits` allow.
[[nodiscard]] Result<Transcript> transcribe(std::string_view text, const Limits& limits = {});

/// Returns the error `FILE:LINE: TEXT` of the kind configuration, or, for text from no file, `line L, column
/// C: TEXT` of the kind malformed. Control characters are escaped.
[[nodiscard]] Error mistake_at(const Place& place, std::string_view text);

/// Returns the value as Salt would send it: dates are text, keys are text as by Python's json.dumps. A number
/// that JSON does not have, such as `.inf`, becomes text and is passed to `unfit`.
[[nodiscard]] Json to_json(const Node& node, const std::function<void(const Node&)>& unfit = {});

/// Returns the value in blocks like PyYAML's safe_dump: keys sorted, text quoted if it would be read as
/// another type, a line feed at the end.
[[nodiscard]] std::string write(const JsonValue& value);

/// Returns a key as JSON has it: `1` for `0x1`, `true` for `yes`.
[[nodiscard]] std::string name_of(const Entry& entry);

/// Returns whether the values are equal in Python, where `1`, `1.0` and `yes` are.
[[nodiscard]] bool equal(const Node& a, const Node& b);

/// Returns a value for a message: `12`, `"12"`, `a list`. Long text is cut, control characters are escaped.
[[nodiscard]] std::string describe(const Node& node);

/// Returns `text` in double quotes, cut and escaped in the same way.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Returns the type of a text without quotes: null, boolean, integer, real or string.
[[nodiscard]] Kind kind_of_plain(std::string_view text);

/// REQUIRES: kind_of_plain(text) == Kind::boolean.
[[nodiscard]] bool to_boolean(std::string_view text);

/// Returns the decimal digits of an integer such as `0x1F`, `0b11` or the sexagesimal `1:30`. `010` is 10 by
/// Salt's rule, which ignores signs: `-010` is -8. Absent if Python would fail (`0x_`), and beyond 64 bits
/// for all but decimals. REQUIRES: kind_of_plain(text) == Kind::integer.
[[nodiscard]] std::optional<std::string> to_decimal(std::string_view text);

/// Returns the value of an integer; absent beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> to_integer(std::string_view text);

/// Returns the value of an integer or real, including `.inf` and `.nan`. REQUIRES: kind_of_plain(text) is one
/// of these.
[[nodiscard]] double to_real(std::string_view text);

}  // namespace rest_fcgi::yaml

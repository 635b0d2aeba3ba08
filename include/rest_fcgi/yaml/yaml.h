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

/// Reads and writes YAML 1.1 as Salt does: with the rules of PyYAML's safe loader and the changes of
/// salt.utils.yamlloader. Equal keys in a map are an error. Dates stay text. A leading zero does not make a
/// number octal.
namespace rest_fcgi::yaml {

/// A position in a text. All positions in the same text share one copy of the file's name. Value type.
struct Place {
  std::shared_ptr<const std::string> file;  ///< path of the file; null if the text is not from a file
  std::size_t line = 0;                     ///< number of the line, from 1
  std::size_t column = 0;                   ///< number of the column, from 1; 0 if unknown
};

/// The type of a value, as PyYAML's rules determine it.
enum class Kind { null, boolean, integer, real, string, list, map };

struct Entry;

/// One value of a document with its position. Value type.
struct Node {
  Kind kind = Kind::null;
  Place place;
  std::string text;            ///< text of a scalar, without quotes and with escapes resolved
  std::vector<Node> items;     ///< items of a list
  std::vector<Entry> entries;  ///< entries of a map, in the order of the text; all keys differ

  [[nodiscard]] bool is(Kind asked) const noexcept { return kind == asked; }

  /// Returns the entry with that key. Returns null if there is no such entry or this node is not a map. The
  /// pointer is valid until this node changes.
  [[nodiscard]] const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
};

struct Entry {
  std::string key;  ///< text of the key, without quotes and with escapes resolved
  /// Whether the key has no quotes; only such a key can be the merge key `<<` or a number.
  bool plain_key = true;
  Place place;  ///< position of the key
  Node value;
};

/// Limits on the content of a text.
struct Limits {
  std::size_t max_depth = 100;  ///< deepest nesting of lists and maps
  /// The largest number of keys and values. Copies of values for anchors and aliases count, too.
  std::size_t max_values = 1000000;
};

/// Reads one document of a trusted file. Supports anchors, aliases and `<<`. An empty text has the value
/// null. `file` is used only in messages. Errors: those that `mistake_at` makes.
[[nodiscard]] Result<Node> read(const std::string& file, std::string_view text, const Limits& limits = {});

/// The result of `transcribe`: a YAML text from the network as JSON.
struct Transcript {
  Json json;
  Kind kind = Kind::null;  ///< type of the document's value
};

/// Reads one document from the network as JSON. The memory is at most a few times the size of the text.
/// Values become what Salt would send. Dates and bytes (`!!binary`) become text. Sets, and the pairs of
/// `!!omap`, become lists. Keys become text as in Python's json.dumps. Error messages have the line and
/// column, but no part of the text, because it may contain passwords. Errors: malformed, if Salt's loader
/// fails on this text, too, or if nesting is too deep. invocation, for texts that Salt would accept: with
/// aliases and `<<`, because a short text could expand to very much data; with numbers that JSON does not
/// have, such as `.nan`; with bytes that are not text; with more values than `limits` allow.
[[nodiscard]] Result<Transcript> transcribe(std::string_view text, const Limits& limits = {});

/// Returns an error at a position. For a text from a file, this is `FILE:LINE: TEXT` with the kind
/// configuration. For other texts, this is `line L, column C: TEXT` with the kind malformed. Control
/// characters are escaped.
[[nodiscard]] Error mistake_at(const Place& place, std::string_view text);

/// Returns the value as Salt would send it in JSON. Dates become text. Keys become text as in Python's
/// json.dumps. A number that JSON does not have, such as `.inf`, becomes text, and `unfit` is called with its
/// node.
[[nodiscard]] Json to_json(const Node& node, const std::function<void(const Node&)>& unfit = {});

/// Returns the value as YAML in block style, as PyYAML's safe_dump does. Keys are sorted. Text that a reader
/// would take for another type is quoted. The result ends with a line feed.
[[nodiscard]] std::string write(const JsonValue& value);

/// Returns the text of a key in JSON, such as `1` for `0x1`, and `true` for `yes`.
[[nodiscard]] std::string name_of(const Entry& entry);

/// Returns whether the values are equal in Python. There `1`, `1.0` and `yes` are equal.
[[nodiscard]] bool equal(const Node& a, const Node& b);

/// Returns a description of a value for a message, such as `12`, `"12"` or `a list`. Long text is cut, and
/// control characters are escaped.
[[nodiscard]] std::string describe(const Node& node);

/// Returns `text` for a message, in double quotes. Long text is cut, and control characters are escaped.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Returns the type that YAML gives to a text without quotes: null, boolean, integer, real or string.
[[nodiscard]] Kind kind_of_plain(std::string_view text);

/// Returns the value of a boolean, such as `yes` or `off`. REQUIRES: kind_of_plain(text) == Kind::boolean.
[[nodiscard]] bool to_boolean(std::string_view text);

/// Returns the decimal digits of an integer such as `0x1F`, `0b11` or the sexagesimal `1:30`. `010` is 10 by
/// Salt's rule. This rule does not apply to numbers with a sign, so `-010` is octal and gives -8. Returns
/// absent if Python would fail, as for `0x_`, and for a number of more than 64 bits that is not decimal.
/// REQUIRES: kind_of_plain(text) == Kind::integer.
[[nodiscard]] std::optional<std::string> to_decimal(std::string_view text);

/// Returns the value of an integer; absent if it needs more than 64 bits.
[[nodiscard]] std::optional<std::int64_t> to_integer(std::string_view text);

/// Returns the value of an integer or real number, including `.inf` and `.nan`. REQUIRES: kind_of_plain(text)
/// is Kind::integer or Kind::real.
[[nodiscard]] double to_real(std::string_view text);

}  // namespace rest_fcgi::yaml

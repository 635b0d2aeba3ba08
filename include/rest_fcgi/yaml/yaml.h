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

/// YAML 1.1 as Salt reads it: PyYAML's safe loader with the changes of salt.utils.yamlloader. A key that
/// stands twice in one map is a mistake, dates stay text, and a leading zero makes no octal number.
namespace rest_fcgi::yaml {

/// Where something stands. Value type; all places of one text share the name of its file.
struct Place {
  std::shared_ptr<const std::string> file;  ///< empty: text that came from no file
  std::size_t line = 0;                     ///< counted from 1, as columns are
  std::size_t column = 0;                   ///< 0: not known
};

/// What a value is by PyYAML's rules.
enum class Kind { null, boolean, integer, real, string, list, map };

struct Entry;

/// One value of a document, and where it stands. Value type.
struct Node {
  Kind kind = Kind::null;
  Place place;
  std::string text;            ///< of a scalar: as written, without quotes and escapes
  std::vector<Node> items;     ///< of a list
  std::vector<Entry> entries;  ///< of a map, in the order of the text; no key twice

  [[nodiscard]] bool is(Kind asked) const noexcept { return kind == asked; }

  /// The entry of that key; null where there is none, or where this is no map. Valid as long as this is
  /// unchanged.
  [[nodiscard]] const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
};

/// One entry of a map.
struct Entry {
  std::string key;        ///< as written, without quotes and escapes
  bool plain_key = true;  ///< written without quotes: only then `<<` merges, and `1` is a number
  Place place;            ///< the key's
  Node value;
};

/// Limits on a text.
struct Limits {
  std::size_t max_depth = 100;  ///< lists and maps inside each other
  /// Keys and values, and copies of them: each anchor and each alias stands for what it names once more.
  std::size_t max_values = 1000000;
};

/// Reads one document of a file that is trusted; anchors, aliases and `<<` work. `file` is for messages;
/// empty text is null. Errors: what `mistake_at` makes of a place and what is wrong there.
[[nodiscard]] Result<Node> read(const std::string& file, std::string_view text, const Limits& limits = {});

/// A text from the network as JSON.
struct Transcript {
  Json json;
  Kind kind = Kind::null;  ///< the document's
};

/// Reads one document from the network, in memory of a few times its size. What Salt would send becomes what
/// JSON has for it: dates and bytes (`!!binary`) are text, sets and the pairs of `!!omap` are lists, keys are
/// text as Python's json.dumps writes them. Errors, with line and column, and nothing else of the text, which
/// may hold passwords: malformed, where Salt's loader fails, too, or lists and maps are nested too deep;
/// invocation for what Salt would read: an alias and `<<`, which could stand for much more than was sent, a
/// number that JSON cannot hold such as `.nan`, bytes that are no text, and more values than `limits` allow.
[[nodiscard]] Result<Transcript> transcribe(std::string_view text, const Limits& limits = {});

/// The error `FILE:LINE: text` of the kind configuration; for text from no file `line 1, column 2: text` of
/// the kind malformed. On one line, whatever is in it.
[[nodiscard]] Error mistake_at(const Place& place, std::string_view text);

/// The value as Salt would send it: dates are text, keys are text as Python's json.dumps writes them. A
/// number that JSON cannot hold, such as `.inf`, becomes the text that was written; `unfit` hears of it.
[[nodiscard]] Json to_json(const Node& node, const std::function<void(const Node&)>& unfit = {});

/// The value in blocks, as PyYAML's safe_dump writes it: keys sorted, text in quotes where it would be read
/// as something else, a line feed at the end; no anchors.
[[nodiscard]] std::string write(const JsonValue& value);

/// A key as JSON has it: `1` for `0x1`, `true` for `yes`.
[[nodiscard]] std::string name_of(const Entry& entry);

/// Are both the same value for Python's `==`? There `1`, `1.0` and `yes` are.
[[nodiscard]] bool equal(const Node& a, const Node& b);

/// A value as a message shows it: `12`, `"12"`, `a list`. Long texts are cut, control characters are escaped.
[[nodiscard]] std::string describe(const Node& node);

/// `text` in quotes, cut and escaped in the same way.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// What `text`, written without quotes, stands for: null, boolean, integer, real or string.
[[nodiscard]] Kind kind_of_plain(std::string_view text);

/// REQUIRES: kind_of_plain(text) == Kind::boolean.
[[nodiscard]] bool to_boolean(std::string_view text);

/// An integer's decimal digits, as JSON has them: of `0x1F`, `0b11`, sexagesimal `1:30`; `010` is 10, Salt's
/// own rule, which overlooks a sign: `-010` is -8. Absent where Python would fail (`0x_`), and beyond 64 bits
/// in any form but plain decimals. REQUIRES: kind_of_plain(text) == Kind::integer.
[[nodiscard]] std::optional<std::string> to_decimal(std::string_view text);

/// The same as a number; absent where it does not fit 64 bits.
[[nodiscard]] std::optional<std::int64_t> to_integer(std::string_view text);

/// The value of an integer or real, `.inf` and `.nan` included. REQUIRES: kind_of_plain(text) is one of
/// these.
[[nodiscard]] double to_real(std::string_view text);

}  // namespace rest_fcgi::yaml

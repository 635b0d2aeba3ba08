// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi::config {

/// Where something stands in the configuration. Value type; all places of one file share its name.
struct Place {
  std::shared_ptr<const std::string> file;
  std::size_t line = 0;  ///< counted from 1
};

/// What a value is by PyYAML's rules (YAML 1.1), with which Salt reads its files.
enum class Kind { null, boolean, integer, real, string, list, map };

struct Entry;

/// One value of a configuration file, and where it stands. Value type.
struct Node {
  Kind kind = Kind::null;
  Place place;
  std::string text;            ///< of a scalar: as written, without quotes and escapes
  std::vector<Node> items;     ///< of a list
  std::vector<Entry> entries;  ///< of a map, in the order of the file; no key twice

  [[nodiscard]] bool is(Kind asked) const noexcept { return kind == asked; }

  /// The entry of that key; null where there is none, or where this is no map. Valid as long as this is
  /// unchanged.
  [[nodiscard]] const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
};

/// One entry of a map.
struct Entry {
  std::string key;
  bool plain_key = true;  ///< written without quotes: only then `<<` merges
  Place place;            ///< the key's
  Node value;
};

/// Are both the same value for Python's `==`? There `1`, `1.0` and `yes` are.
[[nodiscard]] bool equal(const Node& a, const Node& b);

/// The error `FILE:LINE: text`, on one line whatever is in it.
[[nodiscard]] Error mistake_at(const Place& place, std::string_view text);

/// A value as a message shows it: `12`, `"12"`, `a list`. Long texts are cut, control characters are escaped.
[[nodiscard]] std::string describe(const Node& node);

/// `text` in quotes, cut and escaped in the same way.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace rest_fcgi::config

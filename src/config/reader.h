// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/mistakes.h"
#include "config/tree.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::config {

/// Which numbers are accepted, ends included.
struct Range {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// Reads one map's entries into options, each by its type. What is absent keeps the default that the option
/// has; what is wrong goes to `mistakes`. Borrows both the map and `mistakes`. Not synchronized.
class Reader {
 public:
  /// `path` holds the keys that lead to `map`; empty at the top. A null `map` has no entries.
  Reader(const Node* map, std::string path, Mistakes& mistakes)
      : map_(map), path_(std::move(path)), mistakes_(mistakes) {}

  void text(std::string_view key, std::string& value);
  void absolute_path(std::string_view key, std::string& value);
  void flag(std::string_view key, bool& value);
  void count(std::string_view key, std::size_t& value, Range range);

  /// A count of bytes, also as text such as `64K`, `1M` or `1G`.
  void bytes(std::string_view key, std::size_t& value, Range range);

  /// Seconds, with a fraction or without; `least` is in milliseconds, `most` in seconds.
  void seconds(std::string_view key, std::chrono::milliseconds& value, std::chrono::milliseconds least,
               std::chrono::seconds most);
  void whole_seconds(std::string_view key, std::chrono::seconds& value, Range range);
  void log_level(std::string_view key, log::Level& value);

  /// One of some names; absent where the key is, or where it has another value.
  std::optional<std::string> choice(std::string_view key, std::initializer_list<std::string_view> names);

  /// Never shown in a message, whatever it is.
  void secret(std::string_view key, Secret& value);

  /// The map or list of that key; null where there is none. One without entries may be written as nothing.
  const Node* map(std::string_view key) { return container(key, Kind::map, "a map"); }
  const Node* list(std::string_view key) { return container(key, Kind::list, "a list"); }
  Reader section(std::string_view key) { return {map(key), path_to(key), mistakes_}; }

  /// The value of that key, which is hereby known; null where there is none.
  const Node* value(std::string_view key);

  /// A mistake for each entry whose key nobody asked for.
  void refuse_unknown_keys();

  void unexpected(const Node& found, std::string_view key, std::string_view expected) {
    mistakes_.unexpected(found, path_to(key), expected);
  }
  [[nodiscard]] std::string path_to(std::string_view key) const;
  [[nodiscard]] Mistakes& mistakes() noexcept { return mistakes_; }

 private:
  const Node* scalar(std::string_view key, Kind kind, std::string_view expected);
  const Node* container(std::string_view key, Kind kind, std::string_view expected);

  const Node* map_;
  std::string path_;
  Mistakes& mistakes_;
  std::vector<std::string> known_;
};

}  // namespace rest_fcgi::config

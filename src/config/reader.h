// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::config {

using yaml::describe;
using yaml::Entry;
using yaml::in_quotes;
using yaml::Kind;
using yaml::mistake_at;
using yaml::Node;
using yaml::Place;

/// How values are read. `strict` is for keys of `rest_fcgi:`, and `lenient` is for Salt's keys. With
/// `lenient`, an empty value counts as absent, and texts may stand for booleans and numbers.
enum class Style { strict, lenient };

/// The results of reading a configuration: the first mistake, the warnings, and the values of keys that take
/// effect only at start. Used by one thread.
class Findings {
 public:
  /// Reports the mistake `FILE:LINE: key: text`. `key` is a full name such as `rest_fcgi: max_threads`.
  void add(const Place& place, std::string_view key, std::string_view text) {
    add(mistake_at(place, format("{}: {}", key, text)));
  }
  void add(Error mistake) {
    if (!first_) first_ = std::move(mistake);
  }

  /// Reports the mistake `found X, expected Y`. X describes the node `found`, and Y is the text `expected`.
  void unexpected(const Node& found, std::string_view key, std::string_view expected) {
    add(found.place, key, format("found {}, expected {}", describe(found), expected));
  }

  void warn(std::string text);
  void warn(const Place& place, std::string_view text) { warn(mistake_at(place, text).message); }

  void add_start_key(std::string key, std::string value) {
    start_keys_.emplace_back(std::move(key), std::move(value));
  }

  /// Records a key that a Reader looked up, by its full name. A test checks that the documentation has all
  /// these keys.
  void add_key(std::string path) { read_keys_.push_back(std::move(path)); }
  [[nodiscard]] const std::vector<std::string>& read_keys() const noexcept { return read_keys_; }

  [[nodiscard]] const std::optional<Error>& mistake() const noexcept { return first_; }
  [[nodiscard]] std::vector<std::string> take_warnings() { return std::move(warnings_); }
  [[nodiscard]] auto take_start_keys() { return std::move(start_keys_); }

 private:
  std::optional<Error> first_;
  std::vector<std::string> warnings_;
  std::vector<std::pair<std::string, std::string>> start_keys_;
  std::vector<std::string> read_keys_;
};

inline constexpr std::chrono::milliseconds kTenthOfASecond{100};
inline constexpr std::chrono::seconds kHour{3600};
inline constexpr std::chrono::seconds kDay{86400};
inline constexpr std::int64_t kGiB = 1024 * 1024 * 1024;

/// The smallest and the largest accepted number.
struct Range {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

inline constexpr Range kThreads{1, 16384};
inline constexpr Range kPorts{1, 65535};

[[nodiscard]] inline bool is_empty(const Node& node) {
  return node.is(Kind::null) || (node.text.empty() && node.items.empty() && node.entries.empty());
}

[[nodiscard]] inline bool is_false(const Node& node) {
  return node.is(Kind::boolean) && !yaml::to_boolean(node.text);
}

/// Returns the items of a list. For another value, returns the value as the only item. Borrows `node`.
[[nodiscard]] inline std::span<const Node> items_of(const Node& node) {
  return node.is(Kind::list) ? std::span(node.items) : std::span(&node, 1);
}

/// Reads the entries of one map into options. An absent key leaves the default of the option. Borrows the map
/// and `findings`. Used by one thread.
class Reader {
 public:
  /// `path` is the full name of `map`. A null `map` has no entries.
  Reader(const Node* map, std::string path, Findings& findings, Style style = Style::strict)
      : map_(map), path_(std::move(path)), findings_(findings), style_(style) {}

  /// Marks the key that is read next as a key that takes effect only at start.
  Reader& at_start() {
    at_start_ = true;
    return *this;
  }

  template <class Value>
  void note_start_key(std::string_view key, const Value& value) {
    findings_.add_start_key(path_to(key), format("{}", value));
  }
  template <class Rep, class Period>
  void note_start_key(std::string_view key, const std::chrono::duration<Rep, Period>& value) {
    note_start_key(key, value.count());
  }

  /// Reads an option. If `parse` returns std::nullopt, reports a mistake with the text `expected`.
  template <class Value, class Parse>
  void read(std::string_view key, Value& value, std::string_view expected, const Parse& parse) {
    if (const Node* node = this->value(key)) {
      if (std::optional<Value> found = parse(*node)) {
        value = *std::move(found);
      } else {
        unexpected(*node, key, expected);
      }
    }
    if (std::exchange(at_start_, false)) note_start_key(key, value);
  }

  void text(std::string_view key, std::string& value);
  void absolute_path(std::string_view key, std::string& value);

  /// Reads the path of a helper program, or `unix:PATH` with the path of the helper's socket.
  void program_or_socket(std::string_view key, std::string& value);

  void flag(std::string_view key, bool& value);
  void count(std::string_view key, std::size_t& value, Range range);

  /// Reads a number of bytes, such as `65536` or `64K`.
  void bytes(std::string_view key, std::size_t& value, Range range);

  /// Reads seconds with a fraction. The parameter `least` is in milliseconds, and `most` is in seconds.
  void seconds(std::string_view key, std::chrono::milliseconds& value, std::chrono::milliseconds least,
               std::chrono::seconds most);
  void whole_seconds(std::string_view key, std::chrono::seconds& value, Range range);
  void log_level(std::string_view key, log::Level& value);

  /// Returns the value if it is one of `names`. Otherwise reports a mistake.
  std::optional<std::string> choice(std::string_view key, std::initializer_list<std::string_view> names);

  /// Reads a list of texts. One text counts as a list. Leaves out empty items and `false`.
  void texts(std::string_view key, std::vector<std::string>& values, std::string_view expected);

  /// Reads a secret. Messages do not show its value.
  void secret(std::string_view key, Secret& value);

  /// Returns the map of `key`, or null if `key` is absent. In the lenient style, an empty map gives null.
  const Node* map(std::string_view key) { return container(key, Kind::map, "a map"); }
  const Node* list(std::string_view key) { return container(key, Kind::list, "a list"); }
  Reader section(std::string_view key) { return {map(key), path_to(key), findings_, style_}; }

  /// Returns a strict Reader for a section. The section may be empty.
  Reader own_section(std::string_view key);

  /// Returns the value of `key` and marks `key` as known. Returns null if `key` is absent. In the lenient
  /// style, an empty value gives null, too.
  const Node* value(std::string_view key);

  /// Returns the value of `key`, even if the value is empty. Marks `key` as known.
  const Node* value_or_empty(std::string_view key);

  /// Lets the warning of an unknown key that is one of `others` suggest `key`.
  void suggest(std::string_view key, std::initializer_list<std::string_view> others);

  /// Reports a mistake for each key that was not read.
  void refuse_unknown_keys() { report_unknown_keys(true, {}); }
  /// Warns of each unread key. If the key begins with the text `refused`, reports a mistake instead.
  void warn_of_unknown_keys(std::string_view refused = {}) { report_unknown_keys(false, refused); }

  /// Warns of unread keys that resemble a known key. Does not warn of the keys in `others`.
  void warn_of_near_keys(std::initializer_list<std::string_view> others);

  void unexpected(const Node& found, std::string_view key, std::string_view expected) {
    findings_.unexpected(found, path_to(key), expected);
  }
  /// Reports the mistake `FILE:LINE: key: text` at the place of `node`.
  void mistake(const Node& node, std::string_view key, std::string_view text) {
    findings_.add(node.place, path_to(key), text);
  }
  [[nodiscard]] std::string path_to(std::string_view key) const;
  [[nodiscard]] Findings& findings() noexcept { return findings_; }

 private:
  const Node* container(std::string_view key, Kind kind, std::string_view expected);
  [[nodiscard]] bool is_lenient() const noexcept { return style_ == Style::lenient; }
  [[nodiscard]] bool is_known(std::string_view key) const;
  [[nodiscard]] Node as_number(const Node& node) const;
  void report_unknown_keys(bool refuses_all, std::string_view refused);

  const Node* map_;
  std::string path_;
  Findings& findings_;
  Style style_;
  std::vector<std::string> known_;
  std::vector<std::pair<std::string, std::string>> suggestions_;
  bool at_start_ = false;
};

/// Returns up to three of `names` that resemble `word`, the most similar first. The parameter `most` is the
/// largest number of different letters.
[[nodiscard]] std::vector<std::string> near_names(std::string_view word,
                                                  const std::vector<std::string>& names,
                                                  std::size_t most = static_cast<std::size_t>(-1));

template <class Things>
[[nodiscard]] std::vector<std::string_view> names_of(const Things& things) {
  std::vector<std::string_view> names;
  names.reserve(std::size(things));
  for (const auto thing : things) names.push_back(name_of(thing));
  return names;
}

/// Returns the log level with Salt's name `name`, in upper or lower case.
[[nodiscard]] std::optional<log::Level> level_of(std::string_view name);
inline constexpr std::string_view kLogLevels =
    "all, garbage, trace, debug, profile, info, warning, error, critical or quiet";

inline constexpr std::string_view kHostExpected = "an IP address such as 192.0.2.7 or ::1, or a host name";

[[nodiscard]] bool is_listen_address(std::string_view address);
inline constexpr std::string_view kListenAddresses = "unix:PATH, tcp:HOST:PORT or fd:0";

}  // namespace rest_fcgi::config

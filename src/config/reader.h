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

/// How strictly values are read. Salt's own keys are `lenient`: an empty value counts as an absent key, and a
/// text stands for the boolean or number that it names. Our own keys are `strict`.
enum class Style { strict, lenient };

/// What a key holds.
enum class Form { other, flag, integer, bytes, seconds };

/// A key that was asked for, so that tests can try each of them.
struct ReadKey {
  std::string path;  ///< with all keys above it, such as `rest_cherrypy: port`
  Style style;
  Form form;
  std::string sample;  ///< of numbers: the least that is accepted
};

/// What is found out while options are read, besides the options: the first mistake, so that readers go on
/// without asking after each step; what looks like an oversight; and the keys that take effect at start only,
/// with what they have. Not synchronized.
class Findings {
 public:
  using StartKeys = std::vector<std::pair<std::string, std::string>>;

  /// A mistake; `key` with all keys above it, such as `rest_fcgi: max_threads`.
  void add(const Place& place, std::string_view key, std::string_view text) {
    keep(mistake_at(place, format("{}: {}", key, text)));
  }

  /// A mistake that was found elsewhere.
  void keep(Error mistake) {
    if (!first_) first_ = std::move(mistake);
  }

  void unexpected(const Node& found, std::string_view key, std::string_view expected) {
    add(found.place, key, format("found {}, expected {}", describe(found), expected));
  }

  void warn(std::string text) { warnings_.push_back(std::move(text)); }
  void warn(const Place& place, std::string_view text) { warn(mistake_at(place, text).message); }

  void add_start_key(std::string key, std::string value) {
    start_keys_.emplace_back(std::move(key), std::move(value));
  }

  /// Records a key that a Reader asked for.
  void add_key(ReadKey key) { read_keys_.push_back(std::move(key)); }
  [[nodiscard]] const std::vector<ReadKey>& read_keys() const noexcept { return read_keys_; }

  [[nodiscard]] const std::optional<Error>& mistake() const noexcept { return first_; }
  [[nodiscard]] std::vector<std::string> take_warnings() { return std::move(warnings_); }
  [[nodiscard]] StartKeys take_start_keys() { return std::move(start_keys_); }

 private:
  std::optional<Error> first_;
  std::vector<std::string> warnings_;
  StartKeys start_keys_;
  std::vector<ReadKey> read_keys_;
};

inline constexpr std::chrono::milliseconds kTenthOfASecond{100};
inline constexpr std::chrono::seconds kHour{3600};
inline constexpr std::chrono::seconds kDay{86400};
inline constexpr std::int64_t kGiB = 1024 * 1024 * 1024;

/// Which numbers are accepted, ends included.
struct Range {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

inline constexpr Range kThreads{1, 16384};
inline constexpr Range kPorts{1, 65535};

/// Returns whether `node` holds nothing: null, `''`, `[]` or `{}`.
[[nodiscard]] inline bool is_empty(const Node& node) {
  return node.is(Kind::null) || (node.text.empty() && node.items.empty() && node.entries.empty());
}

/// What stands in a list, or by itself. Borrows.
[[nodiscard]] inline std::span<const Node> items_of(const Node& node) {
  return node.is(Kind::list) ? std::span(node.items) : std::span(&node, 1);
}

/// Reads one map's entries into options, each by its type. What is absent keeps the default that the option
/// has; what is wrong goes to `findings`. Borrows both the map and `findings`. Not synchronized.
class Reader {
 public:
  /// `path` holds the keys that lead to `map`; empty at the top. A null `map` has no entries.
  Reader(const Node* map, std::string path, Findings& findings, Style style = Style::strict)
      : map_(map), path_(std::move(path)), findings_(findings), style_(style) {}

  /// What the next call reads takes effect at start only: a reload says so when it is another value.
  Reader& at_start() {
    at_start_ = true;
    return *this;
  }

  /// The same for a value that was read by other means.
  template <class Value>
  void note_start_key(std::string_view key, const Value& value) {
    findings_.add_start_key(path_to(key), format("{}", value));
  }
  template <class Rep, class Period>
  void note_start_key(std::string_view key, const std::chrono::duration<Rep, Period>& value) {
    note_start_key(key, value.count());
  }

  /// Reads an option of a form of its own: `parse` makes a value of what was found, or none where that is not
  /// what is `expected`.
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

  /// Where a helper answers: the path of its program, or `unix:PATH`. `expected` says so.
  void program_or_socket(std::string_view key, std::string& value, std::string_view expected);

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

  /// Returns the map or list of that key; null where there is no such key, or an empty value in the lenient
  /// style. A map without entries may be written without a value.
  const Node* map(std::string_view key) { return container(key, Kind::map, "a map"); }
  const Node* list(std::string_view key) { return container(key, Kind::list, "a list"); }
  Reader section(std::string_view key) { return {map(key), path_to(key), findings_, style_}; }
  /// Returns the section of that key as one of our own. It may be written without a value.
  Reader own_section(std::string_view key);

  /// The value of that key, which is hereby known; null where there is none, or an empty one in the lenient
  /// style.
  const Node* value(std::string_view key);

  /// Warns where the file has a key that earlier releases read. `instead` says what replaces it.
  void warn_of_removed(std::string_view key, std::string_view instead);

  /// Returns `value`, also where it is empty.
  const Node* value_or_empty(std::string_view key);

  /// Adds a mistake or a warning for each key that no option has; a mistake if it begins with `refused`.
  void refuse_unknown_keys() { tell_of_unknown_keys(true, {}); }
  void warn_of_unknown_keys(std::string_view refused = {}) { tell_of_unknown_keys(false, refused); }

  /// Adds a warning for each unread key that is near a key that is read, unless it is among `others`.
  void warn_of_near_keys(std::initializer_list<std::string_view> others);

  void unexpected(const Node& found, std::string_view key, std::string_view expected) {
    findings_.unexpected(found, path_to(key), expected);
  }
  [[nodiscard]] std::string path_to(std::string_view key) const;
  [[nodiscard]] Findings& findings() noexcept { return findings_; }

 private:
  const Node* container(std::string_view key, Kind kind, std::string_view expected);
  [[nodiscard]] bool is_lenient() const noexcept { return style_ == Style::lenient; }
  [[nodiscard]] Node as_number(const Node& node) const;
  void note_form(std::string_view key, Form form, std::string sample);
  void tell_of_unknown_keys(bool refuses_all, std::string_view refused);

  const Node* map_;
  std::string path_;
  Findings& findings_;
  Style style_;
  std::vector<std::string> known_;
  bool at_start_ = false;
};

/// Returns up to three of `names` that are close to `word`, the closest first. At most `most` letters differ.
[[nodiscard]] std::vector<std::string> near_names(std::string_view word,
                                                  const std::vector<std::string>& names,
                                                  std::size_t most = static_cast<std::size_t>(-1));

/// What `name_of` says of each.
template <class Things>
[[nodiscard]] std::vector<std::string_view> names_of(const Things& things) {
  std::vector<std::string_view> names;
  names.reserve(std::size(things));
  for (const auto thing : things) names.push_back(name_of(thing));
  return names;
}

/// A log level by Salt's name, in upper or lower case.
[[nodiscard]] std::optional<log::Level> level_of(std::string_view name);
inline constexpr std::string_view kLogLevels =
    "all, garbage, trace, debug, profile, info, warning, error, critical or quiet";

/// Returns ADDRESS for `[ADDRESS]`, and any other text as it is.
[[nodiscard]] std::string_view without_brackets(std::string_view host);

/// Returns whether `host` has the form of a name or an address, one of IPv6 without brackets.
[[nodiscard]] bool is_host(std::string_view host);

/// Does `address` have the form of an address to listen on? Whether it can be had shows when it is opened.
[[nodiscard]] bool is_listen_address(std::string_view address);
inline constexpr std::string_view kListenAddresses = "unix:PATH, tcp:HOST:PORT or fd:0";

}  // namespace rest_fcgi::config

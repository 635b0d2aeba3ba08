// SPDX-License-Identifier: MIT
#include "config/reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "config/names.h"
#include "config/scalar.h"

namespace rest_fcgi::config {
namespace {

/// The factor of `K`, `M` or `G`; 0 for all else.
std::int64_t unit_of(char suffix) {
  switch (suffix) {
    case 'k':
    case 'K':
      return 1024;
    case 'm':
    case 'M':
      return 1024 * 1024;
    case 'g':
    case 'G':
      return 1024 * 1024 * 1024;
    default:
      return 0;
  }
}

std::optional<std::int64_t> bytes_in(const Node& node) {
  if (node.is(Kind::integer)) return to_integer(node.text);
  if (!node.is(Kind::string) || node.text.size() < 2) return std::nullopt;
  const std::string number = node.text.substr(0, node.text.size() - 1);
  const std::int64_t unit = unit_of(node.text.back());
  std::int64_t bytes = 0;
  if (unit == 0 || kind_of_plain(number) != Kind::integer) return std::nullopt;
  const auto count = to_integer(number);
  if (!count || __builtin_mul_overflow(*count, unit, &bytes)) return std::nullopt;
  return bytes;
}

/// As many digits as needed: `0.1`, `86400`.
std::string in_seconds(std::chrono::milliseconds time) {
  return format("{}", static_cast<double>(time.count()) / 1000);
}

bool within(std::int64_t value, Range range) {
  return value >= range.least && value <= range.most;
}

std::optional<std::int64_t> integer_within(const Node& node, Range range) {
  if (!node.is(Kind::integer)) return std::nullopt;
  const auto found = to_integer(node.text);
  return found && within(*found, range) ? found : std::nullopt;
}

}  // namespace

std::string Reader::path_to(std::string_view key) const {
  return path_.empty() ? std::string(key) : format("{}: {}", path_, key);
}

const Node* Reader::value(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  const Entry* entry = map_ == nullptr ? nullptr : map_->find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

const Node* Reader::scalar(std::string_view key, Kind kind, std::string_view expected) {
  const Node* node = value(key);
  if (node == nullptr || node->is(kind)) return node;
  unexpected(*node, key, expected);
  return nullptr;
}

const Node* Reader::container(std::string_view key, Kind kind, std::string_view expected) {
  const Node* node = value(key);
  if (node == nullptr || node->is(Kind::null)) return nullptr;
  if (node->is(kind)) return node;
  unexpected(*node, key, expected);
  return nullptr;
}

void Reader::text(std::string_view key, std::string& value) {
  const Node* node = scalar(key, Kind::string, "text");
  if (node == nullptr) return;
  if (node->text.starts_with("sdb://")) {
    unexpected(*node, key, "the value itself: sdb:// is not looked up here");
    return;
  }
  value = node->text;
}

void Reader::absolute_path(std::string_view key, std::string& value) {
  static constexpr std::string_view kExpected = "a path that begins with a slash";
  const Node* node = scalar(key, Kind::string, kExpected);
  if (node == nullptr) return;
  if (!node->text.starts_with('/')) return unexpected(*node, key, kExpected);
  value = node->text;
}

void Reader::flag(std::string_view key, bool& value) {
  const Node* node = scalar(key, Kind::boolean, "true or false");
  if (node != nullptr) value = to_boolean(node->text);
}

void Reader::count(std::string_view key, std::size_t& value, Range range) {
  const Node* node = this->value(key);
  if (node == nullptr) return;
  const auto found = integer_within(*node, range);
  if (!found) return unexpected(*node, key, format("an integer from {} to {}", range.least, range.most));
  value = static_cast<std::size_t>(*found);
}

void Reader::bytes(std::string_view key, std::size_t& value, Range range) {
  const Node* node = this->value(key);
  if (node == nullptr) return;
  const auto found = bytes_in(*node);
  if (!found || !within(*found, range)) {
    return unexpected(*node, key,
                      format("bytes from {} to {}, such as 65536, 64K or 1M", range.least, range.most));
  }
  value = static_cast<std::size_t>(*found);
}

void Reader::seconds(std::string_view key, std::chrono::milliseconds& value, std::chrono::milliseconds least,
                     std::chrono::seconds most) {
  const Node* node = this->value(key);
  if (node == nullptr) return;
  const bool is_number = node->is(Kind::integer) || node->is(Kind::real);
  const double found = is_number ? to_real(node->text) * 1000 : std::numeric_limits<double>::quiet_NaN();
  const std::chrono::milliseconds upper = most;
  if (!(found >= static_cast<double>(least.count()) && found <= static_cast<double>(upper.count()))) {
    return unexpected(*node, key, format("seconds from {} to {}", in_seconds(least), in_seconds(upper)));
  }
  value = std::chrono::milliseconds(std::llround(found));
}

void Reader::whole_seconds(std::string_view key, std::chrono::seconds& value, Range range) {
  const Node* node = this->value(key);
  if (node == nullptr) return;
  const auto found = integer_within(*node, range);
  if (!found) return unexpected(*node, key, format("whole seconds from {} to {}", range.least, range.most));
  value = std::chrono::seconds(*found);
}

void Reader::log_level(std::string_view key, log::Level& value) {
  const Node* node = this->value(key);
  if (node == nullptr) return;
  const auto level = node->is(Kind::string) ? level_of(node->text) : std::nullopt;
  if (!level) return unexpected(*node, key, kLogLevels);
  value = *level;
}

std::optional<std::string> Reader::choice(std::string_view key,
                                          std::initializer_list<std::string_view> names) {
  const Node* node = value(key);
  if (node == nullptr) return std::nullopt;
  if (node->is(Kind::string) && std::find(names.begin(), names.end(), node->text) != names.end())
    return node->text;
  unexpected(*node, key, joined({names.begin(), names.end()}, " or "));
  return std::nullopt;
}

void Reader::secret(std::string_view key, Secret& value) {
  const Node* node = this->value(key);
  if (node == nullptr) return;
  if (!node->is(Kind::string)) {
    mistakes_.add(node->place, path_to(key),
                  "found a value that is no text (it is not shown), expected text: put it into quotes");
  } else if (node->text.starts_with("sdb://")) {
    mistakes_.add(node->place, path_to(key),
                  "found a sdb:// reference, which is not looked up here, expected the "
                  "secret itself");
  } else {
    value = Secret(node->text);
  }
}

void Reader::refuse_unknown_keys() {
  if (map_ == nullptr) return;
  for (const Entry& entry : map_->entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    const std::vector<std::string> near = near_names(entry.key, known_);
    mistakes_.add(entry.place, path_to(in_quotes(entry.key)),
                  near.empty() ? format("there is no such key, expected one of {}", joined(known_, ", "))
                               : format("there is no such key, did you mean {}?", joined(near, " or ")));
  }
}

}  // namespace rest_fcgi::config

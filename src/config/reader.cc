// SPDX-License-Identifier: MIT
#include "config/reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rest_fcgi/core/address.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::config {
namespace {

std::optional<std::int64_t> bytes_in(const Node& node) {
  if (node.is(Kind::integer)) return yaml::to_integer(node.text);
  if (!node.is(Kind::string) || node.text.size() < 2) return std::nullopt;
  const std::string number = node.text.substr(0, node.text.size() - 1);
  constexpr std::string_view kUnits = "kmg";
  const std::size_t at = kUnits.find(lower(node.text.back()));
  const std::int64_t unit = at == std::string_view::npos ? 0 : std::int64_t{1} << (10 * (at + 1));
  std::int64_t bytes = 0;
  if (unit == 0 || yaml::kind_of_plain(number) != Kind::integer) return std::nullopt;
  const auto count = yaml::to_integer(number);
  if (!count || __builtin_mul_overflow(*count, unit, &bytes)) return std::nullopt;
  return bytes;
}

std::string in_seconds(std::chrono::milliseconds time) {
  return format("{}", static_cast<double>(time.count()) / 1000);
}

std::optional<std::int64_t> integer_in(const Node& node) {
  return node.is(Kind::integer) ? yaml::to_integer(node.text) : std::nullopt;
}

std::optional<bool> named_boolean(const Node& node) {
  if (!node.is(Kind::string) && !node.is(Kind::integer)) return std::nullopt;
  const std::string name = lower(trimmed(node.text));
  if (name == "true" || name == "yes" || name == "on" || name == "1") return true;
  if (name == "false" || name == "no" || name == "off" || name == "0") return false;
  return std::nullopt;
}

template <class Value>
std::optional<Value> within(std::optional<std::int64_t> found, Range range) {
  if (!found || *found < range.least || *found > range.most) return std::nullopt;
  return static_cast<Value>(*found);
}

std::optional<std::string> text_with(const Node& node, std::initializer_list<std::string_view> beginnings) {
  const bool fits = std::any_of(beginnings.begin(), beginnings.end(), [&node](std::string_view beginning) {
    return node.text.starts_with(beginning);
  });
  return node.is(Kind::string) && fits ? std::optional(node.text) : std::nullopt;
}

constexpr std::size_t kMostNearNames = 3;

/// Returns the optimal string alignment distance between two words.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, above, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({above[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, above[j + 1] + 1});
      const bool is_swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (is_swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

/// Leaves out a warning that is there already, because a profile for reading and writing is read twice.
void Findings::warn(std::string text) {
  if (std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end())
    warnings_.push_back(std::move(text));
}

std::string Reader::path_to(std::string_view key) const {
  return path_.empty() ? std::string(key) : format("{}: {}", path_, key);
}

bool Reader::is_known(std::string_view key) const {
  return std::find(known_.begin(), known_.end(), key) != known_.end();
}

const Node* Reader::value_or_empty(std::string_view key) {
  if (!is_known(key)) {
    known_.emplace_back(key);
    findings_.add_key(path_to(key));
  }
  const Entry* entry = map_ == nullptr ? nullptr : map_->find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

const Node* Reader::value(std::string_view key) {
  const Node* node = value_or_empty(key);
  return node != nullptr && is_lenient() && is_empty(*node) ? nullptr : node;
}

Node Reader::as_number(const Node& node) const {
  Node number = node;
  if (!is_lenient()) return number;
  if (node.is(Kind::string)) {
    const std::string text(trimmed(node.text));
    if (only_of(text, "+-.0123456789")) number.kind = yaml::kind_of_plain(text);
    number.text = text;
  }
  if (number.is(Kind::real)) {
    const std::string whole = number.text.substr(0, number.text.find('.'));
    const bool is_whole = number.text.find_first_not_of("0.", whole.size()) == std::string::npos;
    if (is_whole && yaml::kind_of_plain(whole) == Kind::integer)
      number = {Kind::integer, node.place, whole, {}, {}};
  }
  return number;
}

const Node* Reader::container(std::string_view key, Kind kind, std::string_view expected) {
  const Node* node = value(key);
  if (node == nullptr || node->is(kind)) return node;
  if (node->is(Kind::null) && kind == Kind::map) return nullptr;
  unexpected(*node, key, expected);
  return nullptr;
}

Reader Reader::own_section(std::string_view key) {
  const Node* node = value_or_empty(key);
  if (node != nullptr && node->is(Kind::null)) node = nullptr;
  if (node != nullptr && !node->is(Kind::map)) unexpected(*std::exchange(node, nullptr), key, "a map");
  return {node, path_to(key), findings_, Style::strict};
}

void Reader::text(std::string_view key, std::string& value) {
  const Node* node = this->value(key);
  const bool is_reference = node != nullptr && node->text.starts_with("sdb://");
  const bool is_void = node != nullptr && node->is(Kind::string) && node->text.empty();
  const std::string_view expected = is_reference
                                        ? "the value itself: rest_fcgi does not resolve sdb:// references"
                                    : is_void ? "text that is not empty"
                                              : "text";
  read(key, value, expected, [&](const Node& found) {
    const bool fits = found.is(Kind::string) && !is_void && !is_reference;
    return fits ? std::optional(found.text) : std::nullopt;
  });
}

void Reader::texts(std::string_view key, std::vector<std::string>& values, std::string_view expected) {
  const Node* node = value(key);
  if (node == nullptr) return;
  for (const Node& item : items_of(*node)) {
    if (is_empty(item) || is_false(item)) continue;
    if (!item.is(Kind::string)) return unexpected(item, key, expected);
    values.push_back(item.text);
  }
}

void Reader::absolute_path(std::string_view key, std::string& value) {
  read(key, value, "a path that begins with a slash", [this](const Node& node) {
    return is_lenient() && is_false(node) ? std::optional(std::string()) : text_with(node, {"/"});
  });
}

void Reader::program_or_socket(std::string_view key, std::string& value) {
  read(key, value, "a path that begins with a slash, or unix:PATH", [](const Node& node) {
    return text_with(node, {"/", "unix:/"});
  });
}

void Reader::flag(std::string_view key, bool& value) {
  read(key, value, "true or false", [this](const Node& node) {
    if (node.is(Kind::boolean)) return std::optional(yaml::to_boolean(node.text));
    return is_lenient() ? named_boolean(node) : std::nullopt;
  });
}

void Reader::count(std::string_view key, std::size_t& value, Range range) {
  read(key, value, format("an integer from {} to {}", range.least, range.most),
       [&](const Node& node) { return within<std::size_t>(integer_in(as_number(node)), range); });
}

void Reader::bytes(std::string_view key, std::size_t& value, Range range) {
  read(key, value, format("bytes from {} to {}, such as 65536, 64K or 1M", range.least, range.most),
       [&](const Node& node) { return within<std::size_t>(bytes_in(as_number(node)), range); });
}

void Reader::seconds(std::string_view key, std::chrono::milliseconds& value, std::chrono::milliseconds least,
                     std::chrono::seconds most) {
  read(key, value, format("seconds from {} to {}", in_seconds(least), in_seconds(most)),
       [this, least, most = std::chrono::milliseconds(most)](const Node& given) {
         const Node node = as_number(given);
         const bool is_number = node.is(Kind::integer) || node.is(Kind::real);
         const double found = is_number ? yaml::to_real(node.text) * 1000 : -1;
         const bool fits =
             found >= static_cast<double>(least.count()) && found <= static_cast<double>(most.count());
         return fits ? std::optional(std::chrono::milliseconds(std::llround(found))) : std::nullopt;
       });
}

void Reader::whole_seconds(std::string_view key, std::chrono::seconds& value, Range range) {
  read(key, value, format("whole seconds from {} to {}", range.least, range.most),
       [&](const Node& node) { return within<std::chrono::seconds>(integer_in(as_number(node)), range); });
}

void Reader::log_level(std::string_view key, log::Level& value) {
  const Node* node = this->value(key);
  if (node == nullptr) return;
  const auto level = node->is(Kind::string) ? level_of(node->text) : std::nullopt;
  if (level) {
    value = *level;
  } else {
    // Refuses `off`, because Salt logs everything for the boolean `off`, but only errors for a text `"off"`.
    const bool is_off = is_false(*node) || named_boolean(*node) == false;
    unexpected(*node, key, format("{}{}", is_off ? "quiet for no log, or another of " : "", kLogLevels));
  }
}

std::optional<std::string> Reader::choice(std::string_view key,
                                          std::initializer_list<std::string_view> names) {
  const Node* node = value(key);
  if (node == nullptr) return std::nullopt;
  if (node->is(Kind::string) && std::find(names.begin(), names.end(), node->text) != names.end())
    return node->text;
  unexpected(*node, key, joined(names, " or "));
  return std::nullopt;
}

void Reader::secret(std::string_view key, Secret& value) {
  const Node* node = this->value(key);
  if (node == nullptr) return;
  if (!node->is(Kind::string)) {
    return mistake(*node, key, "found a value that is not text (it is not shown), expected text in quotes");
  }
  if (node->text.starts_with("sdb://")) {
    return mistake(*node, key,
                   "found an sdb:// reference, expected the secret itself: rest_fcgi does not resolve sdb:// "
                   "references");
  }
  value = Secret(node->text);
  struct stat status = {};
  const bool is_open =
      node->place.file && ::stat(node->place.file->c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0;
  if (!is_open) return;
  findings_.warn(
      node->place,
      format("{}: found mode {:04o}, with which every user may read this file; expected a mode such as 0640",
             path_to(key), status.st_mode & 07777U));
}

void Reader::suggest(std::string_view key, std::initializer_list<std::string_view> others) {
  for (const std::string_view other : others) suggestions_.emplace_back(other, key);
}

void Reader::report_unknown_keys(bool refuses_all, std::string_view refused) {
  if (map_ == nullptr) return;
  for (const Entry& entry : map_->entries) {
    if (is_known(entry.key)) continue;
    // Recognizes a missing blank: YAML reads `{port:8000}` as a key `port:8000` without a value.
    const std::string before_colon = entry.key.substr(0, entry.key.find(':'));
    const bool lacks_space =
        before_colon.size() < entry.key.size() && is_empty(entry.value) && is_known(before_colon);
    if (!refuses_all && is_lenient() && is_empty(entry.value) && !lacks_space) continue;
    std::vector<std::string> near = near_names(entry.key, known_);
    for (const auto& [other, key] : suggestions_) {
      if (other == entry.key) near = {key};
    }
    std::string text =
        near.empty() ? "unknown key" : format("unknown key, did you mean {}?", joined(near, " or "));
    if (lacks_space) text = format("found no space behind the colon, expected {}: VALUE", before_colon);
    const std::string key = path_to(in_quotes(lacks_space ? before_colon + ":" : entry.key));
    const bool is_refused = refuses_all || (!refused.empty() && entry.key.starts_with(refused));
    is_refused ? findings_.add(entry.place, key, text)
               : findings_.warn(entry.place, format("{}: {}", key, text));
  }
}

void Reader::warn_of_near_keys(std::initializer_list<std::string_view> others) {
  constexpr std::size_t kFewestLetters = 6;
  for (const Entry& entry : map_->entries) {
    const bool is_other = std::find(others.begin(), others.end(), entry.key) != others.end();
    if (is_other || is_known(entry.key) || is_empty(entry.value) || entry.key.size() < kFewestLetters)
      continue;
    const std::vector<std::string> near = near_names(entry.key, known_, 2);
    if (near.empty() || near.front().size() < kFewestLetters) continue;
    findings_.warn(entry.place,
                   format("{}: unknown key, did you mean {}?", in_quotes(entry.key), near.front()));
  }
}

std::vector<std::string> near_names(std::string_view word, const std::vector<std::string>& names,
                                    std::size_t most) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& name : names) {
    const std::size_t letters = distance(word, name);
    if (letters <= std::min(most, std::max<std::size_t>(1, name.size() / 4)))
      near.emplace_back(letters, name);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> found;
  for (auto& [letters, name] : near) {
    if (found.size() < kMostNearNames) found.push_back(std::move(name));
  }
  return found;
}

std::optional<log::Level> level_of(std::string_view name) {
  return log::level_named(lower(trimmed(name)));
}

bool is_listen_address(std::string_view address) {
  if (address == "fd:0") return true;
  if (address.starts_with("unix:")) return address.size() > 5;
  return address.starts_with("tcp:") && parse_host_port(address.substr(4));
}

}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#include "config/names.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <utility>

namespace rest_fcgi::config {
namespace {

constexpr std::size_t kMostNearNames = 3;

/// How many letters have to be inserted, removed or replaced (Levenshtein's distance).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0;
}

}  // namespace

std::vector<std::string> near_names(std::string_view word, const std::vector<std::string>& names) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& name : names) {
    const std::size_t letters = distance(word, name);
    if (letters <= std::max<std::size_t>(1, name.size() / 4)) near.emplace_back(letters, name);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> found;
  for (auto& [letters, name] : near) {
    if (found.size() < kMostNearNames) found.push_back(std::move(name));
  }
  return found;
}

std::string joined(const std::vector<std::string>& names, std::string_view separator) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += separator;
    text += name;
  }
  return text;
}

std::optional<log::Level> level_of(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return log::level_named(lower);
}

bool is_listen_address(std::string_view address) {
  if (address == "fd:0") return true;
  if (address.starts_with("unix:")) return address.size() > 5;
  if (!address.starts_with("tcp:")) return false;
  const std::size_t colon = address.rfind(':');
  return colon > 4 && is_port(address.substr(colon + 1));
}

}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#include <sstream>

#include "config/sections.h"

namespace rest_fcgi::config {
namespace {

constexpr std::string_view kForms =
    "a compound target such as 'web* and G@os:Debian', or a list of its words";

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

/// Salt takes any scalar for its text there.
bool is_word(const Node& node) {
  return !node.is(Kind::list) && !node.is(Kind::map) && !node.is(Kind::null);
}

std::vector<std::string> read_words(const Node& node, const std::string& path, Mistakes& mistakes) {
  if (node.is(Kind::string)) return words_in(node.text);
  std::vector<std::string> words;
  if (!node.is(Kind::list)) mistakes.unexpected(node, path, kForms);
  for (const Node& item : node.items) {
    if (is_word(item)) {
      words.push_back(item.text);
    } else {
      mistakes.unexpected(item, path, kForms);
    }
  }
  return words;
}

}  // namespace

std::vector<master::NodegroupOptions> read_nodegroups(const Node* nodegroups, Mistakes& mistakes) {
  std::vector<master::NodegroupOptions> groups;
  if (nodegroups == nullptr) return groups;
  for (const Entry& entry : nodegroups->entries) {
    groups.push_back({entry.key, read_words(entry.value, format("nodegroups: {}", entry.key), mistakes)});
  }
  return groups;
}

}  // namespace rest_fcgi::config

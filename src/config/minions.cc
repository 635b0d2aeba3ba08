// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "config/node_json.h"
#include "config/sections.h"

namespace rest_fcgi::config {
namespace {

constexpr std::string_view kForms = "ids, or maps such as web1: {grains: {role: web}, pillar: {}}";
constexpr std::size_t kLongestId = 255;

/// Ids become parts of paths in what Salt's users build on top, and words in targets and logs.
bool is_minion_id(std::string_view id) {
  if (id.empty() || id.size() > kLongestId || id == "." || id == "..") return false;
  return std::none_of(id.begin(), id.end(), [](char c) {
    return c == '/' || c == '\\' || static_cast<unsigned char>(c) <= 0x20 || c == 0x7F;
  });
}

/// Collects the minions of one configuration.
class MinionReader {
 public:
  MinionReader(std::string path, Mistakes& mistakes) : path_(std::move(path)), mistakes_(mistakes) {}

  void read_list(const Node& list) {
    for (const Node& item : list.items) {
      if (item.is(Kind::map) && item.entries.size() == 1) {
        add(item.entries.front());
      } else if (item.is(Kind::map) || item.is(Kind::list) || item.is(Kind::null)) {
        mistakes_.unexpected(item, path_, kForms);
      } else {
        add_id(item.place, item.text);
      }
    }
  }

  void add(const Entry& entry) {
    embedded::MinionOptions& minion = add_id(entry.place, entry.key);
    const Node& value = entry.value;
    if (value.is(Kind::null)) return;
    const std::string path = format("{}: {}", path_, entry.key);
    if (!value.is(Kind::map)) return mistakes_.unexpected(value, path, "a map with grains and pillar");
    Reader reader(&value, path, mistakes_);
    if (const Node* grains = reader.map("grains")) {
      minion.grains = to_json(*grains, reader.path_to("grains"), mistakes_);
    }
    if (const Node* pillar = reader.map("pillar")) {
      minion.pillar = to_json(*pillar, reader.path_to("pillar"), mistakes_);
    }
    reader.refuse_unknown_keys();
  }

  [[nodiscard]] std::vector<embedded::MinionOptions> take() { return std::move(minions_); }

 private:
  embedded::MinionOptions& add_id(const Place& place, const std::string& id) {
    if (!is_minion_id(id)) {
      mistakes_.add(place, path_,
                    format("found the id {}, expected up to {} characters without slashes and spaces",
                           in_quotes(id), kLongestId));
    }
    if (std::any_of(minions_.begin(), minions_.end(), [&id](const auto& other) { return other.id == id; })) {
      mistakes_.add(place, path_, format("found the id {} for the second time", in_quotes(id)));
    }
    minions_.emplace_back().id = id;
    return minions_.back();
  }

  std::string path_;
  Mistakes& mistakes_;
  std::vector<embedded::MinionOptions> minions_;
};

}  // namespace

std::vector<embedded::MinionOptions> read_minions(const Node& minions, const std::string& path,
                                                  Mistakes& mistakes) {
  MinionReader reader(path, mistakes);
  if (minions.is(Kind::list)) {
    reader.read_list(minions);
  } else if (minions.is(Kind::map)) {
    for (const Entry& entry : minions.entries) reader.add(entry);
  } else if (!minions.is(Kind::null)) {
    mistakes.unexpected(minions, path, format("a list of {}", kForms));
  }
  return reader.take();
}

}  // namespace rest_fcgi::config

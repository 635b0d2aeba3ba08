// SPDX-License-Identifier: MIT
#include "config/tree_builder.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <yaml-cpp/exceptions.h>

#include "config/scalar.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::config {
namespace {

// A file of some lines whose aliases name each other may stand for more values than memory holds.
constexpr std::size_t kMostCopied = 100000;

[[noreturn]] void fail(const YAML::Mark& mark, const std::string& text) {
  throw YAML::ParserException(mark, text);
}

[[noreturn]] void fail(const Place& place, const std::string& text) {
  YAML::Mark mark;
  mark.line = static_cast<int>(place.line) - 1;
  fail(mark, text);
}

/// The part of a tag after `tag:yaml.org,2002:`; all of it where it is another one.
std::string_view short_tag(std::string_view tag) {
  static constexpr std::string_view kPrefix = "tag:yaml.org,2002:";
  return tag.starts_with(kPrefix) ? tag.substr(kPrefix.size()) : tag;
}

[[noreturn]] void refuse_tag(const YAML::Mark& mark, std::string_view tag) {
  fail(mark, format("found the tag {}, expected a plain value", in_quotes(tag)));
}

Kind kind_of_scalar(const YAML::Mark& mark, std::string_view tag, const std::string& text) {
  const std::string_view name = short_tag(tag);
  if (name == "?" || name == "int" || name == "float" || name == "bool" || name == "null") {
    return kind_of_plain(text);
  }
  // "!" is how the parser marks quotes. Salt keeps dates as text.
  if (name == "!" || name == "str" || name == "timestamp" || name == "binary") return Kind::string;
  refuse_tag(mark, tag);
}

std::size_t count_nodes(const Node& node) {
  std::size_t count = 1;
  for (const Node& item : node.items) count += count_nodes(item);
  for (const Entry& entry : node.entries) count += count_nodes(entry.value);
  return count;
}

/// The maps that a `<<` names, in the order in which they are searched.
std::vector<const Node*> merged_maps(const Entry& merge) {
  std::vector<const Node*> maps;
  if (merge.value.is(Kind::list)) {
    for (const Node& item : merge.value.items) maps.push_back(&item);
  } else {
    maps.push_back(&merge.value);
  }
  for (const Node* map : maps) {
    if (!map->is(Kind::map)) {
      fail(merge.place, format("<<: found {}, expected a map or a list of maps", describe(*map)));
    }
  }
  return maps;
}

/// Replaces each `<<` by the entries of the maps that it names; an entry of the map itself wins over those.
void resolve_merges(Node& map) {
  const auto is_merge = [](const Entry& entry) { return entry.plain_key && entry.key == "<<"; };
  const auto first = std::stable_partition(map.entries.begin(), map.entries.end(),
                                           [&](const Entry& entry) { return !is_merge(entry); });
  const std::vector<Entry> merges(std::make_move_iterator(first), std::make_move_iterator(map.entries.end()));
  map.entries.erase(first, map.entries.end());
  const std::size_t own = map.entries.size();
  for (const Entry& merge : merges) {
    for (const Node* merged : merged_maps(merge)) {
      for (const Entry& entry : merged->entries) {
        const auto end = map.entries.begin() + static_cast<std::ptrdiff_t>(own);
        const bool shadowed = std::any_of(map.entries.begin(), end,
                                          [&entry](const Entry& other) { return other.key == entry.key; });
        if (!shadowed) map.entries.push_back(entry);
      }
    }
  }
}

void refuse_duplicates(const Node& map) {
  std::map<std::string_view, const Entry*> seen;
  for (const Entry& entry : map.entries) {
    const auto [first, is_new] = seen.emplace(entry.key, &entry);
    if (is_new) continue;
    fail(entry.place, format("{}: this key stands here for the second time, after line {}",
                             in_quotes(entry.key), first->second->place.line));
  }
}

}  // namespace

Place TreeBuilder::place(const YAML::Mark& mark) const {
  return {file_, static_cast<std::size_t>(mark.line + 1)};
}

void TreeBuilder::OnDocumentStart(const YAML::Mark& mark) {
  if (has_root_) fail(mark, "a second document begins here, expected one");
}

void TreeBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  Node node;
  node.place = place(mark);
  node.text = "null";
  add(mark, std::move(node), anchor, true);
}

void TreeBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  const auto found = anchored_.find(anchor);
  if (found == anchored_.end()) fail(mark, "this alias names a value that it is a part of");
  copied_ += count_nodes(found->second);
  if (copied_ > kMostCopied) fail(mark, format("aliases stand for more than {} values", kMostCopied));
  add(mark, found->second, 0, true);
}

void TreeBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                           const std::string& value) {
  Node node;
  node.kind = kind_of_scalar(mark, tag, value);
  node.place = place(mark);
  node.text = value;
  add(mark, std::move(node), anchor, tag == "?");
}

void TreeBuilder::OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                                  YAML::EmitterStyle::value) {
  const std::string_view name = short_tag(tag);
  if (name != "?" && name != "seq" && name != "omap" && name != "pairs") refuse_tag(mark, tag);
  Node node;
  node.kind = Kind::list;
  node.place = place(mark);
  open_.push_back({std::move(node), anchor});
}

void TreeBuilder::OnSequenceEnd() {
  close();
}

void TreeBuilder::OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                             YAML::EmitterStyle::value) {
  const std::string_view name = short_tag(tag);
  if (name != "?" && name != "map" && name != "set") refuse_tag(mark, tag);
  Node node;
  node.kind = Kind::map;
  node.place = place(mark);
  open_.push_back({std::move(node), anchor});
}

void TreeBuilder::OnMapEnd() {
  resolve_merges(open_.back().node);
  refuse_duplicates(open_.back().node);
  close();
}

void TreeBuilder::close() {
  Open closed = std::move(open_.back());
  open_.pop_back();
  YAML::Mark mark;
  mark.line = static_cast<int>(closed.node.place.line) - 1;
  add(mark, std::move(closed.node), closed.anchor, true);
}

void TreeBuilder::add(const YAML::Mark& mark, Node node, YAML::anchor_t anchor, bool plain) {
  if (anchor != 0) anchored_[anchor] = node;
  if (open_.empty()) {
    root_ = std::move(node);
    has_root_ = true;
  } else if (open_.back().node.is(Kind::list)) {
    open_.back().node.items.push_back(std::move(node));
  } else {
    add_to_map(mark, open_.back(), std::move(node), plain);
  }
}

void TreeBuilder::add_to_map(const YAML::Mark& mark, Open& map, Node node, bool plain) {
  std::vector<Entry>& entries = map.node.entries;
  if (map.expects_value) {
    // Where nothing follows a key, the parser has already gone on to a later line.
    if (node.is(Kind::null)) node.place = entries.back().place;
    entries.back().value = std::move(node);
  } else {
    if (node.is(Kind::list) || node.is(Kind::map)) {
      fail(mark, format("found {} as a key, expected text", describe(node)));
    }
    entries.push_back({std::move(node.text), plain, place(mark), {}});
  }
  map.expects_value = !map.expects_value;
}

}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/yaml/yaml.h"
#include "yaml/events.h"

namespace rest_fcgi::yaml {
namespace {

constexpr std::size_t kMaxCopiedBytes = std::size_t{16} << 20;  // of texts, by all aliases of one file

[[noreturn]] void fail(const yaml_mark_t& mark, const std::string& text) {
  throw Mistake{mark, text};
}

[[noreturn]] void fail(const Place& place, const std::string& text) {
  fail(yaml_mark_t{0, place.line - 1, place.column - 1}, text);
}

struct Size {
  std::size_t values = 1;
  std::size_t bytes = 0;  ///< of keys and scalars
  std::size_t depth = 0;  ///< lists and maps inside each other
};

Size size_of(const Node& node) {
  Size size;
  size.bytes = node.text.size();
  const auto add = [&size](const Node& part) {
    const Size inner = size_of(part);
    size.values += inner.values;
    size.bytes += inner.bytes;
    size.depth = std::max(size.depth, inner.depth);
  };
  for (const Node& item : node.items) add(item);
  for (const Entry& entry : node.entries) {
    size.bytes += entry.key.size();
    add(entry.value);
  }
  if (node.is(Kind::list) || node.is(Kind::map)) ++size.depth;
  return size;
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
      fail(merge.place, format("<< stands for neither a map nor a list of maps: {}", describe(*map)));
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
  if (merges.empty()) return;
  std::set<std::string> own;
  for (const Entry& entry : map.entries) own.insert(entry.key);
  for (const Entry& merge : merges) {
    for (const Node* merged : merged_maps(merge)) {
      for (const Entry& entry : merged->entries) {
        if (own.count(entry.key) == 0) map.entries.push_back(entry);
      }
    }
  }
}

void refuse_duplicates(const Node& map) {
  std::map<std::string, const Entry*> seen;
  for (const Entry& entry : map.entries) {
    const auto [first, is_new] = seen.emplace(name_of(entry), &entry);
    if (is_new) continue;
    fail(entry.place, format("this key stands here for the second time, after line {}: {}",
                             first->second->place.line, in_quotes(entry.key)));
  }
}

/// Makes a tree of the events of one text. Throws Mistake. Not synchronized.
class TreeBuilder {
 public:
  /// Borrows `events`.
  TreeBuilder(std::shared_ptr<const std::string> file, Events& events, const Limits& limits)
      : file_(std::move(file)), events_(events), limits_(limits) {}

  /// Returns the document; null where there is none.
  [[nodiscard]] Node build() {
    for (yaml_event_type_t type = YAML_NO_EVENT; type != YAML_STREAM_END_EVENT;) {
      const yaml_event_t& event = events_.next();
      type = event.type;
      take(event);
    }
    return std::move(root_);
  }

 private:
  /// A list or map whose end has not been seen.
  struct Open {
    Node node;
    std::string anchor;
    bool expects_value = false;  ///< of a map: its last entry has a key only
  };

  void take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (has_root_) fail(event.start_mark, "a second document begins here, expected one");
        return;
      case YAML_ALIAS_EVENT:
        return add_alias(event.start_mark, text_of(event.data.alias.anchor));
      case YAML_SCALAR_EVENT:
        return add_scalar(event);
      case YAML_SEQUENCE_START_EVENT:
        check_tag(event.start_mark, event.data.sequence_start.tag, {"seq", "omap", "pairs"});
        return open(event.start_mark, Kind::list, text_of(event.data.sequence_start.anchor));
      case YAML_MAPPING_START_EVENT:
        check_tag(event.start_mark, event.data.mapping_start.tag, {"map", "set"});
        return open(event.start_mark, Kind::map, text_of(event.data.mapping_start.anchor));
      case YAML_MAPPING_END_EVENT:
        resolve_merges(open_.back().node);
        refuse_duplicates(open_.back().node);
        return close();
      case YAML_SEQUENCE_END_EVENT:
        return close();
      default:
        return;
    }
  }

  static void check_tag(const yaml_mark_t& mark, const yaml_char_t* tag,
                        std::initializer_list<std::string_view> names) {
    const std::string_view name = short_tag(tag);
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) refuse_tag(mark, tag);
  }

  void add_alias(const yaml_mark_t& mark, const std::string& anchor) {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      const bool is_open = std::any_of(open_.begin(), open_.end(),
                                       [&anchor](const Open& open) { return open.anchor == anchor; });
      fail(mark, is_open ? "this alias names a value that it is a part of" : "found undefined alias");
    }
    const Size size = size_of(found->second);
    count(mark, size.values - 1);  // `add` counts the first one
    copied_bytes_ += size.bytes;
    if (copied_bytes_ > kMaxCopiedBytes) {
      fail(mark, format("aliases stand for more than {} bytes of text", kMaxCopiedBytes));
    }
    check_depth(mark, open_.size() + size.depth);
    add(mark, found->second, {}, true);
  }

  void add_scalar(const yaml_event_t& event) {
    const bool is_key = !open_.empty() && open_.back().node.is(Kind::map) && !open_.back().expects_value;
    Scalar scalar = scalar_of(event);
    refuse_value_key(event.start_mark, scalar, is_key);
    add(event.start_mark, {scalar.kind, place(event.start_mark), std::move(scalar.text), {}, {}},
        text_of(event.data.scalar.anchor), scalar.plain);
  }

  [[nodiscard]] Place place(const yaml_mark_t& mark) const { return {file_, mark.line + 1, mark.column + 1}; }

  /// Counts copies, too: a few lines may stand for millions of values.
  void count(const yaml_mark_t& mark, std::size_t values) {
    values_ += values;
    if (values_ <= limits_.max_values) return;
    fail(mark, format("more than {} values, with what anchors and aliases add", limits_.max_values));
  }

  void check_depth(const yaml_mark_t& mark, std::size_t depth) const {
    if (depth > limits_.max_depth) fail(mark, too_deep(limits_));
  }

  void open(const yaml_mark_t& mark, Kind kind, std::string anchor) {
    check_depth(mark, open_.size() + 1);
    open_.push_back({{kind, place(mark), {}, {}, {}}, std::move(anchor)});
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    const yaml_mark_t mark{0, closed.node.place.line - 1, closed.node.place.column - 1};
    add(mark, std::move(closed.node), closed.anchor, true);
  }

  void add(const yaml_mark_t& mark, Node node, const std::string& anchor, bool plain) {
    count(mark, 1);
    if (!anchor.empty()) {
      count(mark, size_of(node).values);
      anchored_[anchor] = node;
    }
    if (open_.empty()) {
      root_ = std::move(node);
      has_root_ = true;
    } else if (open_.back().node.is(Kind::list)) {
      open_.back().node.items.push_back(std::move(node));
    } else {
      add_to_map(mark, open_.back(), std::move(node), plain);
    }
  }

  void add_to_map(const yaml_mark_t& mark, Open& map, Node node, bool plain) {
    std::vector<Entry>& entries = map.node.entries;
    if (map.expects_value) {
      entries.back().value = std::move(node);
    } else {
      if (node.is(Kind::list) || node.is(Kind::map)) {
        fail(mark, format("found {} as a key, expected text", describe(node)));
      }
      entries.push_back({std::move(node.text), plain, place(mark), {}});
    }
    map.expects_value = !map.expects_value;
  }

  const std::shared_ptr<const std::string> file_;
  Events& events_;
  const Limits limits_;
  Node root_;
  bool has_root_ = false;
  std::vector<Open> open_;
  std::map<std::string, Node> anchored_;  ///< what aliases name: complete values only
  std::size_t values_ = 0;                ///< keys, values, and copies for anchors and aliases
  std::size_t copied_bytes_ = 0;          ///< of texts, by aliases
};

}  // namespace

Result<Node> read(const std::string& file, std::string_view text, const Limits& limits) {
  const auto name = std::make_shared<const std::string>(file);
  try {
    Events events(text);
    return TreeBuilder(name, events, limits).build();
  } catch (const Mistake& mistake) {
    return error_of(mistake, text, name);
  }
}

}  // namespace rest_fcgi::yaml

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <istream>
#include <iterator>
#include <map>
#include <set>
#include <streambuf>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/yaml/yaml.h"
#include "yaml/tabs.h"

namespace rest_fcgi::yaml {
namespace {

// The largest total size of the texts that aliases copy, in bytes. An alias (`*name`) copies the node of its
// anchor.
constexpr std::size_t kMaxCopiedBytes = std::size_t{16} << 20;

/// A mistake that TreeBuilder finds, and not the parser.
class Refusal : public YAML::ParserException {
 public:
  using YAML::ParserException::ParserException;
};

[[noreturn]] void fail(const YAML::Mark& mark, const std::string& text) {
  throw Refusal(mark, text);
}

YAML::Mark mark_of(const Place& place) {
  YAML::Mark mark;
  mark.line = static_cast<int>(place.line) - 1;
  mark.column = static_cast<int>(place.column) - 1;
  return mark;
}

[[noreturn]] void fail(const Place& place, const std::string& text) {
  fail(mark_of(place), text);
}

std::string_view name_of_tag(std::string_view tag) {
  static constexpr std::string_view kPrefix = "tag:yaml.org,2002:";
  return tag.starts_with(kPrefix) ? tag.substr(kPrefix.size()) : tag;
}

[[noreturn]] void refuse(const YAML::Mark& mark, std::string_view tag) {
  if (name_of_tag(tag).starts_with("python/")) {
    fail(mark, format("found a tag that makes a Python object, expected a plain value: {}", in_quotes(tag)));
  }
  fail(mark, format("found a tag, expected a plain value: {}", in_quotes(tag)));
}

/// yaml-cpp 0.7 omits the first UTF-8 byte of the characters that the escapes `\N` and `\_` stand for. Adds
/// this byte.
std::string repaired(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    out.append(length == 0 ? "\xC2" : "").append(text.substr(0, std::max<std::size_t>(length, 1)));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

Kind kind_of_scalar(const YAML::Mark& mark, std::string_view tag, const std::string& text) {
  const std::string_view name = name_of_tag(tag);
  if (name == "?" || name == "int" || name == "float" || name == "bool" || name == "null") {
    return kind_of_plain(text);
  }
  // yaml-cpp gives the tag "!" to a scalar in quotes. Salt reads a timestamp as a string.
  if (name == "!" || name == "str" || name == "timestamp" || name == "binary") return Kind::string;
  // PyYAML for Python 2 wrote strings with the tags `python/unicode` and `python/str`.
  if (name == "python/unicode" || name == "python/str") return Kind::string;
  refuse(mark, tag);
}

struct Size {
  std::size_t values = 1;
  std::size_t bytes = 0;
  std::size_t depth = 0;
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

/// Returns the maps in the value of a key `<<`, the map with the highest precedence first.
std::vector<const Node*> merged_maps(const Entry& merge) {
  std::vector<const Node*> maps;
  if (merge.value.is(Kind::list)) {
    for (const Node& item : merge.value.items) maps.push_back(&item);
  } else {
    maps.push_back(&merge.value);
  }
  for (const Node* map : maps) {
    if (!map->is(Kind::map)) {
      fail(merge.place,
           format("found {} as the value of <<, expected a map or a list of maps", describe(*map)));
    }
  }
  return maps;
}

/// Replaces each key `<<` of `map` by the entries of the maps in its value. If `map` itself has an entry with
/// an equal key, the entry of `map` stays.
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
    fail(entry.place, format("found this key twice in one map, first in line {}: {}",
                             first->second->place.line, in_quotes(entry.key)));
  }
}

/// Builds a tree of nodes from the events of yaml-cpp's parser. yaml-cpp's own tree is not used, because it
/// accepts duplicate keys and does not know `<<`. Throws Refusal for a mistake. A TreeBuilder is not
/// thread-safe.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const std::string> file, std::string_view text, const Limits& limits)
      : file_(std::move(file)), text_(text), limits_(limits) {}

  [[nodiscard]] Node take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (has_root_) fail(mark, "found a second document, expected only one");
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const bool is_value = !open_.empty() && open_.back().expects_value;
    const bool at_comma =
        static_cast<std::size_t>(mark.pos) < text_.size() && text_[static_cast<std::size_t>(mark.pos)] == ',';
    if (!is_value && at_comma) fail(mark, "found a comma, expected a value in front of it");
    add(mark, node_at(mark, Kind::null, "null"), anchor, true);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end())
      fail(mark, "found an alias inside of the value that it names, expected another value");
    const Size size = size_of(found->second);
    // `size.values` includes the copied value itself, which `add` counts below.
    count(mark, size.values - 1);
    copied_bytes_ += size.bytes;
    if (copied_bytes_ > kMaxCopiedBytes) {
      fail(mark, format("found aliases that stand for more than {} bytes of text, expected fewer",
                        kMaxCopiedBytes));
    }
    check_depth(mark, open_.size() + size.depth);
    add(mark, found->second, 0, true);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool is_plain = tag == "?";
    const bool is_key = !open_.empty() && open_.back().node.is(Kind::map) && !open_.back().expects_value;
    // YAML 1.1 allows `=` and `<<` without quotes only as keys.
    if (is_plain && !is_key && (value == "=" || value == "<<")) {
      fail(mark, format("found {} without quotes, expected quotes around it or another value", value));
    }
    if (is_plain && !open_.empty() && open_.back().in_brackets && value.starts_with(':')) {
      fail(mark, "found a colon, expected a value or a key in front of it");
    }
    const Kind kind = kind_of_scalar(mark, tag, value);
    add(mark, node_at(mark, kind, is_plain ? std::string(value) : repaired(value)), anchor, is_plain);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    const std::string_view name = name_of_tag(tag);
    if (name != "?" && name != "seq" && name != "omap" && name != "pairs") refuse(mark, tag);
    open(mark, Kind::list, anchor, style);
  }

  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    const std::string_view name = name_of_tag(tag);
    if (name != "?" && name != "map" && name != "set") refuse(mark, tag);
    open(mark, Kind::map, anchor, style);
  }

  void OnMapEnd() override {
    if (!open_.back().in_brackets) check_last_key(open_.back().node);
    resolve_merges(open_.back().node);
    refuse_duplicates(open_.back().node);
    close();
  }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    bool in_brackets;
    bool expects_value = false;
  };

  /// Refuses a last line such as `token_expire:5`. yaml-cpp reads this line as a key without a value.
  void check_last_key(const Node& map) const {
    if (map.entries.empty()) return;
    const Entry& last = map.entries.back();
    if (!last.plain_key || !last.value.is(Kind::null)) return;
    std::string_view line = text_;
    for (std::size_t i = 1; i < last.place.line; ++i) line.remove_prefix(line.find('\n') + 1);
    line = line.substr(0, line.find('\n'));
    const std::size_t key = last.place.column - 1;
    const bool has_colon = line.find(':', key + last.key.size()) != std::string_view::npos;
    // YAML allows `? key` without a colon, so the missing colon is no mistake.
    const bool is_explicit = line.substr(0, key).find('?') != std::string_view::npos;
    if (has_colon || is_explicit) return;
    fail(last.place, "found a line without a key, expected a key with a colon and a space behind it");
  }

  [[nodiscard]] Place place(const YAML::Mark& mark) const {
    return {file_, static_cast<std::size_t>(mark.line + 1), static_cast<std::size_t>(mark.column + 1)};
  }

  [[nodiscard]] Node node_at(const YAML::Mark& mark, Kind kind, std::string text) const {
    return {kind, place(mark), std::move(text), {}, {}};
  }

  void count(const YAML::Mark& mark, std::size_t values) {
    values_ += values;
    if (values_ <= limits_.max_values) return;
    fail(mark, format("found more than {} values, expected fewer; the values that aliases repeat count too",
                      limits_.max_values));
  }

  void check_depth(const YAML::Mark& mark, std::size_t depth) const {
    if (depth <= limits_.max_depth) return;
    fail(mark,
         format("found lists and maps nested more than {} deep, expected fewer levels", limits_.max_depth));
  }

  void open(const YAML::Mark& mark, Kind kind, YAML::anchor_t anchor, YAML::EmitterStyle::value style) {
    check_depth(mark, open_.size() + 1);
    open_.push_back({node_at(mark, kind, ""), anchor, style == YAML::EmitterStyle::Flow});
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    add(mark_of(closed.node.place), std::move(closed.node), closed.anchor, true);
  }

  void add(const YAML::Mark& mark, Node node, YAML::anchor_t anchor, bool plain) {
    count(mark, 1);
    if (anchor != 0) {
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

  void add_to_map(const YAML::Mark& mark, Open& map, Node node, bool plain) {
    std::vector<Entry>& entries = map.node.entries;
    if (map.expects_value) {
      // yaml-cpp reports a missing value at a later line than its key.
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

  const std::shared_ptr<const std::string> file_;
  const std::string_view text_;
  const Limits limits_;
  Node root_;
  bool has_root_ = false;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchored_;
  std::size_t values_ = 0;        ///< `values_` counts keys and values, including copies by aliases.
  std::size_t copied_bytes_ = 0;  ///< `copied_bytes_` is the total size of the texts that aliases copied.
};

bool is_control_character(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7F;
}

std::size_t count_lines(std::string_view text) {
  const auto feeds = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return feeds + (text.ends_with('\n') ? 0 : 1);
}

/// The input stream of yaml-cpp: the text, and then the end marker `...`. Without the marker, yaml-cpp
/// accepts a text without its closing quote.
class Input : public std::streambuf {
 public:
  explicit Input(std::string_view text) : text_(text), end_(text.ends_with('\n') ? "...\n" : "\n...\n") {
    show(text_, 0);
  }

 protected:
  int_type underflow() override {
    if (at_end_) return traits_type::eof();
    at_end_ = true;
    show(end_, 0);
    return traits_type::to_int_type(*gptr());
  }

  /// yaml-cpp goes back by one character after it has looked for a byte order mark.
  int_type pbackfail(int_type /*character*/) override {
    if (!at_end_ || text_.empty()) return traits_type::eof();
    at_end_ = false;
    show(text_, text_.size() - 1);
    return traits_type::to_int_type(*gptr());
  }

 private:
  void show(std::string_view part, std::size_t from) {
    // This stream does not change the characters.
    char* const begin = const_cast<char*>(part.data());
    setg(begin, begin + from, begin + part.size());
  }

  const std::string_view text_;
  const std::string_view end_;
  bool at_end_ = false;
};

/// Returns a message of the parser. Some messages end with a colon and a part of the text. This part is left
/// out, because it may be from a password.
std::string_view plain_message(std::string_view message) {
  if (message == YAML::ErrorMsg::ALIAS_NOT_FOUND) {
    return "found \"*\" at the start of a value, expected quotes around it: '*', or '.*' as a rule of "
           "external_auth";
  }
  return message.substr(0, message.find(": "));
}

}  // namespace

Result<Node> read(const std::string& file, std::string_view text, const Limits& limits) {
  const auto name = std::make_shared<const std::string>(file);
  // Removes byte order marks, because yaml-cpp does not count them in its positions.
  static constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  while (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  // Refuses control characters. yaml-cpp reads some of them as the end of the file.
  const auto control = std::find_if(text.begin(), text.end(), is_control_character);
  if (control != text.end()) {
    const std::string_view before = text.substr(0, static_cast<std::size_t>(control - text.begin()));
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    return mistake_at({name, count_lines(text.substr(0, before.size() + 1)), column},
                      format("found the control character \\x{:02x}, which YAML does not allow",
                             static_cast<unsigned char>(*control)));
  }
  Input buffer(text);
  std::istream input(&buffer);
  TreeBuilder builder(name, text, limits);
  try {
    YAML::Parser parser(input);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const auto found = static_cast<std::size_t>(std::max(error.mark.line, 0)) + 1;
    const std::size_t line = std::min(found, count_lines(text));
    if (const auto tab = indenting_tab(text, line)) return mistake_at({name, line, *tab}, kTabRefused);
    const std::size_t column = static_cast<std::size_t>(std::max(error.mark.column, 0)) + 1;
    if (dynamic_cast<const Refusal*>(&error) != nullptr) return mistake_at({name, line, column}, error.msg);
    const std::string where = found > line ? "end of the file" : format("column {}", column);
    return mistake_at({name, line, column}, format("{}: {}", where, plain_message(error.msg)));
  }
  return builder.take_root();
}

}  // namespace rest_fcgi::yaml

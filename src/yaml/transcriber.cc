// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/yaml/yaml.h"
#include "yaml/events.h"

namespace rest_fcgi::yaml {
namespace {

// The longest part of a number that an error message shows, in bytes.
constexpr std::size_t kShown = 60;

/// Turns a YAML text from the network into JSON, event by event. A tree of the values would need a hundred
/// times as much memory as the text. Throws Mistake. A Transcriber is not thread-safe.
class Transcriber {
 public:
  Transcriber(std::string_view text, const Limits& limits) : text_(text), events_(text), limits_(limits) {
    // A string that grows would need three times as much memory for a moment.
    json_.reserve(text.size() / 4 * 9);
  }

  [[nodiscard]] Transcript transcribe() {
    for (yaml_event_type_t type = YAML_NO_EVENT; type != YAML_STREAM_END_EVENT;) {
      const yaml_event_t& event = events_.next();
      type = event.type;
      take(event);
    }
    if (refused_) throw *refused_;
    if (!has_root_) return {};
    return {Json::trusted(std::move(json_)), root_kind_};
  }

 private:
  /// `pairs` stands for `!!omap` and `!!pairs`. Each entry of `pairs` is a `pair`, which becomes a JSON list
  /// of a key and a value. The keys of a `set` become a JSON list.
  enum class Form { list, map, set, pairs, pair };

  struct Open {
    Form form;
    bool expects_value = false;  ///< `expects_value` says whether the last key of a map has no value yet.
    std::size_t first_key = 0;   ///< `first_key` is the index of a map's first key in `keys_`.
    std::size_t entries = 0;
  };

  struct Key {
    std::uint32_t begin;
    std::uint32_t size;
  };

  void take(const yaml_event_t& event) {
    const yaml_mark_t& mark = event.start_mark;
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (has_root_) throw Mistake{mark, "found a second document, expected only one"};
        return;
      case YAML_ALIAS_EVENT:
        return refuse_alias(mark, text_of(event.data.alias.anchor));
      case YAML_SCALAR_EVENT:
        return add_scalar(mark, scalar_of(event));
      case YAML_SEQUENCE_START_EVENT:
        return open(mark, form_of_list(mark, event.data.sequence_start.tag));
      case YAML_MAPPING_START_EVENT:
        return open(mark, form_of_map(mark, event.data.mapping_start.tag));
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return close(mark);
      default:
        return;
    }
  }

  /// Records the first YAML construct that this program refuses. Reading continues, because a syntax error in
  /// the rest of the text takes precedence.
  void refuse(const yaml_mark_t& mark, std::string text) {
    if (!refused_) refused_ = Mistake{mark, std::move(text), ErrorKind::invocation};
  }

  void refuse_alias(const yaml_mark_t& mark, const std::string& name) {
    if (text_.find("&" + name) == std::string_view::npos) throw Mistake{mark, "found undefined alias"};
    refuse(mark, "found a YAML alias, expected the value itself; write it out");
    add_scalar(mark, {});
  }

  static Form form_of_list(const yaml_mark_t& mark, const yaml_char_t* tag) {
    const std::string name = short_tag(tag);
    if (name == "omap" || name == "pairs") return Form::pairs;
    if (!name.empty() && name != "seq") refuse_tag(mark, tag);
    return Form::list;
  }

  [[nodiscard]] Form form_of_map(const yaml_mark_t& mark, const yaml_char_t* tag) const {
    const std::string name = short_tag(tag);
    if (!open_.empty() && open_.back().form == Form::pairs) return Form::pair;
    if (name == "set") return Form::set;
    if (!name.empty() && name != "map") refuse_tag(mark, tag);
    return Form::map;
  }

  [[nodiscard]] bool expects_key() const {
    return !open_.empty() && open_.back().form != Form::list && open_.back().form != Form::pairs &&
           !open_.back().expects_value;
  }

  void count(const yaml_mark_t& mark) {
    if (++values_ <= limits_.max_values) return;
    throw Mistake{mark, format("found more than {} values, expected fewer", limits_.max_values),
                  ErrorKind::invocation};
  }

  void open(const yaml_mark_t& mark, Form form) {
    if (open_.size() == limits_.max_depth) throw Mistake{mark, too_deep(limits_)};
    if (expects_key()) {
      const bool is_list = form == Form::list || form == Form::pairs;
      throw Mistake{mark, format("found {} as a key, expected text", is_list ? "a list" : "a map")};
    }
    if (form != Form::pair) check_pairs(mark);
    begin_value(mark,
                form == Form::list || form == Form::pairs || form == Form::set ? Kind::list : Kind::map);
    if (form == Form::map) {
      writer_.begin_object();
    } else {
      writer_.begin_array();
    }
    open_.push_back({form, false, keys_.size()});
  }

  void check_pairs(const yaml_mark_t& mark) const {
    if (open_.empty() || open_.back().form != Form::pairs) return;
    throw Mistake{mark,
                  "found an item of !!omap or !!pairs that is not a map of one entry, expected such a map"};
  }

  void begin_value(const yaml_mark_t& mark, Kind kind) {
    count(mark);
    if (!open_.empty()) {
      if (open_.back().form == Form::set) throw Mistake{mark, "found a value in !!set, expected keys alone"};
      open_.back().expects_value = false;
      return;
    }
    root_kind_ = kind;
    has_root_ = true;
  }

  void close(const yaml_mark_t& mark) {
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.form == Form::pair && closed.entries != 1) check_pairs(mark);
    refuse_duplicates(mark, closed.first_key);
    if (closed.form == Form::map) {
      writer_.end_object();
    } else {
      writer_.end_array();
    }
  }

  void add_scalar(const yaml_mark_t& mark, const Scalar& scalar) {
    refuse_value_key(mark, scalar, expects_key());
    if (expects_key()) return add_key(mark, scalar);
    if (!open_.empty() && open_.back().form == Form::set && scalar.kind == Kind::null) {
      open_.back().expects_value = false;
      return;
    }
    check_pairs(mark);
    begin_value(mark, scalar.kind);
    write_scalar(mark, scalar);
  }

  void write_scalar(const yaml_mark_t& mark, const Scalar& scalar) {
    if (scalar.kind == Kind::string) {
      writer_.string(scalar.text);
    } else {
      writer_.raw(json_of_number(mark, scalar));
    }
  }

  /// As in Python's json.dumps, the key `1` becomes "1".
  void add_key(const yaml_mark_t& mark, const Scalar& scalar) {
    if (scalar.plain && scalar.text == "<<") {
      refuse(mark,
             "found <<, which adds the entries of an alias, expected the entries themselves; write them out");
    }
    count(mark);
    Open& map = open_.back();
    map.expects_value = true;
    ++map.entries;
    std::size_t begin = json_.size();
    if (map.form != Form::map) {
      write_scalar(mark, scalar);
    } else {
      writer_.key(scalar.kind == Kind::string ? scalar.text : json_of_number(mark, scalar));
    }
    if (json_[begin] == ',') begin += 2;
    keys_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(json_.size() - begin)});
  }

  /// Refuses a number that JSON cannot express. Throws Mistake for a number without digits.
  std::string json_of_number(const yaml_mark_t& mark, const Scalar& scalar) {
    if (auto json = json_of(scalar.kind, scalar.text)) return *std::move(json);
    if (scalar.text.ends_with('_') || scalar.text.ends_with('x') || scalar.text.ends_with('b')) {
      throw Mistake{mark, "found a number without digits, expected digits"};
    }
    refuse(mark, format("found {}, which JSON cannot hold; expected a finite number",
                        excerpt(scalar.text, kShown)));
    return "null";
  }

  void refuse_duplicates(const yaml_mark_t& mark, std::size_t first) {
    const std::string_view json = json_;
    const auto text = [json](Key key) { return json.substr(key.begin, key.size); };
    const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, keys_.end(), [&](Key a, Key b) { return text(a) < text(b); });
    if (std::adjacent_find(begin, keys_.end(), [&](Key a, Key b) { return text(a) == text(b); }) !=
        keys_.end()) {
      throw Mistake{mark, "found a key twice in the map that ends here, expected each key once"};
    }
    keys_.resize(first);
  }

  const std::string_view text_;
  Events events_;
  const Limits limits_;
  std::string json_;
  JsonWriter writer_{json_};
  std::vector<Open> open_;
  std::deque<Key> keys_;
  std::size_t values_ = 0;
  std::optional<Mistake> refused_;
  Kind root_kind_ = Kind::null;
  bool has_root_ = false;
};

}  // namespace

Result<Transcript> transcribe(std::string_view text, const Limits& limits) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max() / 8) {
    return Error{ErrorKind::malformed, "The YAML text is too long"};
  }
  try {
    return Transcriber(text, limits).transcribe();
  } catch (Mistake& mistake) {
    // Cuts libyaml's message before its first colon, because the text after the colon may be a password.
    mistake.text.resize(std::min(mistake.text.find(':'), mistake.text.size()));
    return error_of(mistake, text);
  }
}

}  // namespace rest_fcgi::yaml

// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/json_document.h"

#include <simdjson.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "core/json_node.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi {
namespace {

namespace ondemand = simdjson::ondemand;

/// The largest buffers that `clear` keeps for the next text, in bytes and in nodes.
constexpr std::size_t kKeptBytes = 64 * 1024;
constexpr std::size_t kKeptNodes = 4096;

/// Some programs write this character before a text in UTF-8.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::string_view kInArray = "Expecting ',' or ']'";
constexpr std::string_view kInObject = "Expecting ',' or '}', or a key in quotes and ':'";

// simdjson does not report the offset of a control character inside a string.
std::size_t offset_of_control_character(std::string_view text) {
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (in_string && static_cast<unsigned char>(text[at]) < 0x20) return at;
    if (text[at] == '"') in_string = !in_string;
    if (in_string && text[at] == '\\') ++at;
  }
  return text.size();
}

std::size_t most_values(std::string_view text) {
  constexpr std::string_view kBeforeValue = ",:[{";
  std::size_t count = 1;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') in_string = !in_string;
    if (in_string && text[at] == '\\') ++at;
    if (!in_string && kBeforeValue.find(text[at]) != std::string_view::npos) ++count;
  }
  return count;
}

std::string_view without_blanks_behind(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace

/// Fills a document with the values that simdjson finds in the document's text. Each call of `parse` makes a
/// Builder.
class JsonDocument::Builder {
  /// A parser of simdjson, which the process keeps for the next text. A new parser is expensive.
  class Parser {
   public:
    Parser() : own_(waiting_.exchange(nullptr, std::memory_order_acquire)) {
      if (own_ == nullptr) own_ = std::make_unique<ondemand::parser>();
    }

    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    ~Parser() {
      if (own_->capacity() <= kKeptText) {
        own_.reset(waiting_.exchange(own_.release(), std::memory_order_acq_rel));
      }
    }

    ondemand::parser* operator->() noexcept { return own_.get(); }

   private:
    static constexpr std::size_t kKeptText = 16 * 1024;
    static inline std::atomic<ondemand::parser*> waiting_{nullptr};

    std::unique_ptr<ondemand::parser> own_;
  };

 public:
  Builder(JsonDocument& document, const JsonLimits& limits)
      : document_(document),
        limits_(limits),
        next_string_(reinterpret_cast<std::uint8_t*>(document.strings_.get())) {}

  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder() = default;

  /// Errors: malformed. A failure leaves the document incomplete.
  Result<void> build(std::size_t size) {
    size_ = size;
    if (!add_root()) return *std::move(problem_);
    return {};
  }

 private:
  // Each function `add…` returns false and sets `problem_` if it fails.

  bool add_root() {
    if (auto code = iterate(size_)) return unreadable(code);
    ondemand::json_type type{};
    if (found_.type().get(type) != simdjson::SUCCESS) return fail("Expecting value", here());
    if (type != ondemand::json_type::array && type != ondemand::json_type::object) return add_lone_scalar();
    ondemand::value value;
    const auto code = found_.get_value().get(value);
    if (code == simdjson::INCOMPLETE_ARRAY_OR_OBJECT) return fail_unclosed(type);
    if (code) return fail(code, here());
    if (!add(value)) return false;
    if (const std::size_t rest = here(); rest < size_) return fail("Extra data", rest);
    return true;
  }

  simdjson::error_code iterate(std::size_t size) {
    const std::size_t levels = std::min(limits_.max_depth + 2, simdjson::DEFAULT_MAX_DEPTH);
    if (parser_->capacity() < size || parser_->max_depth() < levels) {
      if (auto code = parser_->allocate(size, levels)) return code;
    }
    return parser_->iterate(document_.text_.data(), size, document_.text_.size()).get(found_);
  }

  /// simdjson 3.12 refuses a text that does not end with the bracket of its array or object, and does not say
  /// where the mistake is. This function reads the text with the missing bracket, to find the place.
  [[gnu::cold]] bool fail_unclosed(ondemand::json_type type) {
    const bool is_array = type == ondemand::json_type::array;
    document_.text_[size_] = is_array ? ']' : '}';
    document_.text_.push_back('\0');  // The padding stays as long as before.
    if (auto code = iterate(size_ + 1)) return unreadable(code);
    ondemand::value value;
    if (auto code = found_.get_value().get(value)) return fail(code, here());
    if (!add(value)) return false;
    const std::size_t rest = here();
    return rest < size_ ? fail("Extra data", rest) : fail(is_array ? kInArray : kInObject, size_);
  }

  /// simdjson does not return an `ondemand::value` for a text that is only a string, a number, a boolean or
  /// null.
  bool add_lone_scalar() {
    const std::size_t start = here();
    const std::string_view token = without_blanks_behind({document_.text_.data() + start, size_ - start});
    if (token[0] != '"') return add_scalar(token);
    ondemand::raw_json_string raw;
    if (auto code = found_.get_raw_json_string().get(raw)) return fail(code, here());
    if (!add_string(raw)) return false;
    if (const std::size_t rest = here(); rest < size_) return fail("Extra data", rest);
    return true;
  }

  bool add(ondemand::value value) {
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return fail("Expecting value", offset_of(value));
    switch (type) {
      case ondemand::json_type::array:
        return add_array(value);
      case ondemand::json_type::object:
        return add_object(value);
      case ondemand::json_type::string: {
        ondemand::raw_json_string raw;
        if (auto code = value.get_raw_json_string().get(raw)) return fail(code, here());
        return add_string(raw);
      }
      default:
        return add_scalar(without_blanks_behind(value.raw_json_token()));
    }
  }

  bool add_array(ondemand::value value) {
    const std::size_t at = offset_of(value);
    const std::uint32_t self = next_index();
    if (!open(JsonValue::Kind::array, at)) return false;
    ondemand::array array;
    if (auto code = value.get_array().get(array)) return fail(code, at, kInArray);
    std::uint32_t count = 0;
    for (auto element : array) {
      ondemand::value child;
      if (auto code = element.get(child)) return fail(code, here(), kInArray);
      if (!add(child)) return false;
      ++count;
    }
    return close(self, count);
  }

  bool add_object(ondemand::value value) {
    const std::size_t at = offset_of(value);
    const std::uint32_t self = next_index();
    if (!open(JsonValue::Kind::object, at)) return false;
    ondemand::object object;
    if (auto code = value.get_object().get(object)) return fail(code, at, kInObject);
    std::uint32_t count = 0;
    for (auto member : object) {
      ondemand::field field;
      if (auto code = std::move(member).get(field)) return fail(code, here(), kInObject);
      if (!add_member(field)) return false;
      ++count;
    }
    return close(self, count - shadow_duplicates(self, count));
  }

  bool add_member(ondemand::field& field) {
    if (!add_string(field.key())) return false;
    const Node& key = document_.nodes_.back();
    if (key.text_size > limits_.max_key_length) {
      return fail(
          format("Object key of {} bytes, at most {} are accepted", key.text_size, limits_.max_key_length),
          last_);
    }
    return add(field.value());
  }

  bool add_string(ondemand::raw_json_string raw) {
    last_ = offset(raw.raw()) - 1;
    std::string_view text;
    if (parser_->unescape(raw, next_string_).get(text) != simdjson::SUCCESS) {
      return fail("Invalid string: a bad escape, or a lone surrogate", last_);
    }
    return append(JsonValue::Kind::string, text);
  }

  bool add_scalar(std::string_view token) {
    last_ = offset(token.data());
    if (token == "null") return append(JsonValue::Kind::null, {});
    if (token == "true" || token == "false") {
      if (!append(JsonValue::Kind::boolean, {})) return false;
      document_.nodes_.back().flag = token == "true";
      return true;
    }
    const auto kind = json_number_kind(token);
    if (!kind) return fail("Expecting value", last_);
    if (token.size() > limits_.max_number_length) {
      return fail(
          format("Number of {} characters, at most {} are accepted", token.size(), limits_.max_number_length),
          last_);
    }
    if (*kind == JsonValue::Kind::real && !is_finite_number(token)) return fail("Number out of range", last_);
    return append(*kind, token);
  }

  /// The node of an array or object precedes the nodes of its content.
  bool append(JsonValue::Kind kind, std::string_view text) {
    if (document_.nodes_.size() >= limits_.max_values) {
      return fail(format("More than {} values and keys", limits_.max_values), last_);
    }
    document_.nodes_.push_back(
        {text.data(), static_cast<std::uint32_t>(text.size()), next_index() + 1, 0, kind, false});
    return true;
  }

  bool open(JsonValue::Kind kind, std::size_t at) {
    if (++depth_ > limits_.max_depth) {
      return fail(format("Nested deeper than {} arrays and objects", limits_.max_depth), at);
    }
    return append(kind, {});
  }

  bool close(std::uint32_t self, std::uint32_t count) {
    --depth_;
    document_.nodes_[self].end = next_index();
    document_.nodes_[self].count = count;
    return true;
  }

  /// If an object has equal keys, marks all of them except the last. Returns the number of marked keys.
  std::uint32_t shadow_duplicates(std::uint32_t object, std::uint32_t count) {
    if (count < 2) return 0;
    auto& nodes = document_.nodes_;
    const auto text = [&nodes](std::uint32_t key) {
      return std::string_view(nodes[key].text, nodes[key].text_size);
    };
    keys_.clear();
    keys_.reserve(count);
    for (std::uint32_t key = object + 1; key < nodes.size(); key = nodes[key + 1].end) keys_.push_back(key);
    std::sort(keys_.begin(), keys_.end(), [&text](std::uint32_t a, std::uint32_t b) {
      const int order = text(a).compare(text(b));
      return order != 0 ? order < 0 : a < b;
    });
    std::uint32_t shadowed = 0;
    for (std::size_t i = 1; i < keys_.size(); ++i) {
      if (text(keys_[i - 1]) != text(keys_[i])) continue;
      nodes[keys_[i - 1]].flag = true;
      ++shadowed;
    }
    return shadowed;
  }

  [[nodiscard]] std::uint32_t next_index() const {
    return static_cast<std::uint32_t>(document_.nodes_.size());
  }

  [[nodiscard]] std::size_t offset(const char* at) const {
    return std::min(static_cast<std::size_t>(at - document_.text_.data()), size_);
  }

  std::size_t offset_of(ondemand::value& value) {
    last_ = offset(value.raw_json_token().data());
    return last_;
  }

  std::size_t here() {
    const char* at = nullptr;
    return found_.current_location().get(at) == simdjson::SUCCESS ? offset(at) : size_;
  }

  bool unreadable(simdjson::error_code code) {
    const std::string_view text(document_.text_.data(), size_);
    switch (code) {
      case simdjson::EMPTY:
        return fail("Expecting value", 0);
      case simdjson::UTF8_ERROR:
        return fail("Not UTF-8", first_bad_byte(text));
      case simdjson::UNESCAPED_CHARS:
        return fail("Control character inside a string, expected an escape such as \\n",
                    offset_of_control_character(text));
      default:
        return fail(code, size_);
    }
  }

  /// `expected` is the message for a wrong character.
  [[gnu::cold]] bool fail(simdjson::error_code code, std::size_t at,
                          std::string_view expected = "Expecting value") {
    if (code == simdjson::MEMALLOC) throw std::bad_alloc();
    const bool goes_on_wrongly = code == simdjson::TAPE_ERROR || code == simdjson::INCOMPLETE_ARRAY_OR_OBJECT;
    return fail(goes_on_wrongly ? expected : simdjson::error_message(code), at);
  }

  /// Returns the place of a byte for a message. Lines and columns count from 1.
  [[nodiscard]] std::string place_of(std::size_t at) const {
    const std::string_view before(document_.text_.data(), at);
    const std::string_view in_line = before.substr(before.rfind('\n') + 1);
    const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
    return format("line {}, column {}", 1 + std::count(before.begin(), before.end(), '\n'),
                  1 + std::count_if(in_line.begin(), in_line.end(), begins_character));
  }

  [[gnu::cold]] bool fail(std::string_view what, std::size_t at) {
    problem_ = Error{ErrorKind::malformed, format("{}: {}", what, place_of(at))};
    const std::string_view found(document_.text_.data() + at, size_ - at);
    // The message names `NaN` and `Infinity`, because Python's json module writes these words.
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (!found.starts_with(word)) continue;
      problem_->message =
          format("found {}, which JSON does not have; expected a finite number: {}", word, place_of(at));
    }
    return false;
  }

  JsonDocument& document_;
  const JsonLimits& limits_;
  Parser parser_;
  ondemand::document found_;
  std::uint8_t* next_string_;
  std::vector<std::uint32_t> keys_;
  std::size_t size_ = 0;
  std::size_t depth_ = 0;
  std::size_t last_ = 0;  ///< The offset of the latest value. An error without a position gets this offset.
  std::optional<Error> problem_;
};

JsonDocument::JsonDocument() = default;
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

Result<void> JsonDocument::parse(std::string_view text, const JsonLimits& limits) {
  const Result<void> loaded = load(text);
  return loaded ? build(limits) : loaded;
}

Result<void> JsonDocument::parse(Json&& json, const JsonLimits& limits) {
  const Result<void> loaded = load(json.text());
  json = {};
  return loaded ? build(limits) : loaded;
}

Result<void> JsonDocument::load(std::string_view text) {
  clear();
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.size() >= std::numeric_limits<std::uint32_t>::max() / 2) {
    return Error{ErrorKind::malformed, "Text of 2 GiB or more, expected less"};
  }
  text_.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  text_ = text;
  text_.resize(text.size() + simdjson::SIMDJSON_PADDING, '\0');
  return {};
}

Result<void> JsonDocument::build(const JsonLimits& limits) {
  const std::size_t size = text_.size() - simdjson::SIMDJSON_PADDING;
  strings_ = std::make_unique_for_overwrite<char[]>(text_.size());
  // Reserves the memory for all values in one step. A vector that grows copies its values to twice the
  // memory, and needs three times its memory during the copy.
  if (size > kKeptBytes) nodes_.reserve(std::min(most_values({text_.data(), size}), limits.max_values));
  Result<void> result = Builder(*this, limits).build(size);
  if (!result) clear();
  return result;
}

JsonValue JsonDocument::root() const noexcept {
  return nodes_.empty() ? JsonValue() : JsonValue(this, 0);
}

void JsonDocument::clear() noexcept {
  nodes_.clear();
  // Swaps with new objects, which frees the memory. An assignment would keep the memory.
  if (text_.capacity() > kKeptBytes) std::string().swap(text_);
  if (nodes_.capacity() > kKeptNodes) std::vector<Node>().swap(nodes_);
  text_.clear();
  strings_.reset();
}

JsonDocument own_document(const Json& json) {
  JsonDocument document;
  static_cast<void>(document.parse(json.text(), JsonLimits::none()));
  return document;
}

}  // namespace rest_fcgi

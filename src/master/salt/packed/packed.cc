// SPDX-License-Identifier: MIT
#include "master/salt/packed/packed.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// Without this word the library needs Boost, for asserting and for the order of bytes.
#define MSGPACK_NO_BOOST
#include <msgpack/null_visitor.hpp>
#include <msgpack/unpack.hpp>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

/// What all our visitors of msgpack-cxx are: limited in depth, and able to say why they stopped. They may
/// take the number of elements that an array or map announces for what it is worth, which is nothing: 5 bytes
/// can announce 2^32. Not synchronized.
class BoundedVisitor : public msgpack::null_visitor {
 public:
  explicit BoundedVisitor(std::size_t depth = 0) : depth_(depth) {}

  /// Why parsing ended early.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

  bool start_array(std::uint32_t /*announced*/) { return enter(); }
  bool start_map(std::uint32_t /*announced*/) { return enter(); }
  bool end_array() { return leave(); }
  bool end_map() { return leave(); }
  void parse_error(std::size_t /*parsed*/, std::size_t /*at*/) { stop("a byte that begins no value"); }
  void insufficient_bytes(std::size_t /*parsed*/, std::size_t /*at*/) {
    cut_short_ = why_.empty();
    stop("cut short");
  }

  /// The bytes ended before the value did, and nothing was wrong with them.
  [[nodiscard]] bool cut_short() const noexcept { return cut_short_; }

 protected:
  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }

  bool enter() {
    if (depth_ == kMaxDepth) return stop(format("nested deeper than {} levels", kMaxDepth));
    ++depth_;
    return true;
  }

  bool leave() {
    --depth_;
    return true;
  }

  /// Ends the parsing. The first reason counts.
  bool stop(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }

 private:
  std::size_t depth_;
  std::string why_;
  bool cut_short_ = false;
};

/// Shows the one value that begins at `at` to `visitor`, and moves `at` behind it. Errors: internal, with
/// what is wrong and at which byte.
template <class Visitor>
Result<void> parse_one(std::string_view bytes, std::size_t& at, Visitor& visitor) {
  std::string why;
  try {
    if (msgpack::parse(bytes.data(), bytes.size(), at, visitor)) return {};
    why = visitor.why();
  } catch (const msgpack::unpack_error& error) {
    why = error.what();
  }
  return Error{ErrorKind::internal, format("Malformed msgpack: {}: byte {}", why, at)};
}

/// What is to be nothing behind the last value. Errors: internal.
Result<void> expect_end(std::string_view bytes, std::size_t at) {
  if (at == bytes.size()) return {};
  return Error{ErrorKind::internal, format("Malformed msgpack: more than one value: byte {}", at)};
}

using Kind = PackedValue::Kind;

/// Learns what the outermost value is, and skips what is inside of it.
class ValueVisitor : public BoundedVisitor {
 public:
  explicit ValueVisitor(std::size_t depth) : BoundedVisitor(depth), outermost_(depth) {}

  [[nodiscard]] const PackedValue& value() const noexcept { return value_; }

  bool visit_nil() { return seen(Kind::nil); }
  bool visit_boolean(bool value) {
    if (seen_here()) value_.boolean = value;
    return seen(Kind::boolean);
  }
  bool visit_positive_integer(std::uint64_t value) {
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    return visit_negative_integer(static_cast<std::int64_t>(std::min(value, largest)));
  }
  bool visit_negative_integer(std::int64_t value) {
    if (seen_here()) value_.integer = value;
    return seen(Kind::integer);
  }
  bool visit_float32(float value) { return visit_float64(static_cast<double>(value)); }
  bool visit_float64(double value) {
    if (seen_here()) value_.real = value;
    return seen(Kind::real);
  }
  bool visit_str(const char* data, std::uint32_t size) {
    if (seen_here()) value_.text = {data, size};
    return seen(Kind::text);
  }
  bool visit_bin(const char* data, std::uint32_t size) { return visit_str(data, size); }
  bool visit_ext(const char* /*data*/, std::uint32_t /*size*/) { return seen(Kind::extension); }
  bool start_array(std::uint32_t /*announced*/) { return seen(Kind::array) && enter(); }
  bool start_map(std::uint32_t /*announced*/) { return seen(Kind::map) && enter(); }

 private:
  [[nodiscard]] bool seen_here() const noexcept { return depth() == outermost_; }

  bool seen(Kind kind) {
    if (seen_here()) value_.kind = kind;
    return true;
  }

  std::size_t outermost_;
  PackedValue value_;
};

/// Stops behind the header of an array or map.
class HeaderVisitor : public BoundedVisitor {
 public:
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  bool start_array(std::uint32_t announced) { return start(Kind::array, announced); }
  bool start_map(std::uint32_t announced) { return start(Kind::map, announced); }
  bool start_array_item() { return false; }
  bool start_map_key() { return false; }

 private:
  bool start(Kind kind, std::uint32_t announced) {
    kind_ = kind;
    count_ = announced;
    return enter();
  }

  Kind kind_ = Kind::nil;
  std::uint32_t count_ = 0;
};

/// Reads the value that begins at `at`, `depth` levels deep, and moves `at` behind it.
Result<PackedValue> take(std::string_view bytes, std::size_t& at, std::size_t depth) {
  const std::size_t begin = at;
  ValueVisitor visitor(depth);
  if (Result<void> result = parse_one(bytes, at, visitor); !result) return std::move(result).error();
  PackedValue value = visitor.value();
  value.packed = bytes.substr(begin, at - begin);
  return value;
}

/// Number of elements or members that the bytes announce, and where the first one begins.
Result<std::uint32_t> take_header(std::string_view bytes, std::size_t& at, Kind expected) {
  HeaderVisitor header;
  // What has something in it is left behind its header, which counts as a failure.
  (void)parse_one(bytes, at, header);
  if (header.kind() == expected) return header.count();
  Result<PackedValue> found = PackedValue::read(bytes);
  if (!found) return std::move(found).error();
  return Error{ErrorKind::internal,
               format("Expected msgpack of {}, found {}", type_name(expected), type_name(found->kind))};
}

/// For Python `b"cmd"` and `"cmd"` are two keys, and a master looks at the second: what a minion says in the
/// first is not what the master says.
bool is_bin(std::string_view packed) noexcept {
  const auto first = static_cast<unsigned char>(packed.front());
  return first >= 0xc4 && first <= 0xc6;
}

/// Salt's own extension types.
constexpr int kDate = 78;
constexpr int kConstant = 79;

/// A date as Salt packs it, `20261120T12:00:00.000000`, in the form of ISO 8601, `2026-11-20T...`; absent for
/// all else.
std::optional<std::string> iso_date(std::string_view packed) {
  constexpr std::string_view form = "00000000T00:00:00.000000";
  if (packed.size() != form.size()) return std::nullopt;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool digit = packed[i] >= '0' && packed[i] <= '9';
    if (form[i] == '0' ? !digit : packed[i] != form[i]) return std::nullopt;
  }
  return std::string(packed).insert(6, "-").insert(4, "-");
}

/// How Python's json writes a float that is a key.
std::string float_key(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return python_float(value);
}

/// Writes what msgpack-cxx shows it.
class JsonVisitor : public BoundedVisitor {
 public:
  explicit JsonVisitor(std::string& out) : out_(out) {}

  bool visit_nil() { return token("null"); }
  bool visit_boolean(bool value) { return token(value ? "true" : "false"); }
  bool visit_positive_integer(std::uint64_t value) { return token(std::to_string(value)); }
  bool visit_negative_integer(std::int64_t value) { return token(std::to_string(value)); }
  bool visit_float32(float value) { return visit_float64(static_cast<double>(value)); }
  bool visit_float64(double value) {
    if (take_key()) return key(float_key(value));
    writer().number(value);
    return true;
  }
  bool visit_str(const char* data, std::uint32_t size) { return text({data, size}); }
  bool visit_bin(const char* data, std::uint32_t size) { return text({data, size}); }
  bool visit_ext(const char* data, std::uint32_t size);

  bool start_array(std::uint32_t /*announced*/) {
    if (!open()) return false;
    writer().begin_array();
    return true;
  }
  bool end_array() {
    writer().end_array();
    return close();
  }
  bool start_map(std::uint32_t /*announced*/) {
    if (!open()) return false;
    writer().begin_object();
    return true;
  }
  bool end_map() {
    writer().end_object();
    return close();
  }
  bool start_map_key() {
    at_key_ = true;
    return true;
  }

 private:
  JsonWriter& writer() { return key_writer_ ? *key_writer_ : out_; }

  /// Is a key due? The value that asks is the one.
  bool take_key() { return std::exchange(at_key_, false); }

  bool key(std::string_view name) {
    writer().key(name);
    return true;
  }
  bool text(std::string_view value) {
    if (take_key()) return key(value);
    writer().string(value);
    return true;
  }
  bool token(std::string_view value) {
    if (take_key()) return key(value);
    writer().raw(value);
    return true;
  }
  bool constant(std::string_view payload);

  bool open();
  bool close();

  JsonWriter out_;
  bool at_key_ = false;

  /// A key that is an array or map is written here first, and then as text.
  std::string key_text_;
  std::optional<JsonWriter> key_writer_;
  std::size_t key_depth_ = 0;
};

bool JsonVisitor::open() {
  if (!enter()) return false;
  if (!take_key()) return true;
  // Each level would double the backslashes of the one inside.
  if (key_writer_) return stop("an array or map as key inside of one that is a key");
  key_text_.clear();
  key_writer_.emplace(key_text_);
  key_depth_ = depth();
  return true;
}

bool JsonVisitor::close() {
  if (key_writer_ && depth() == key_depth_) {
    key_writer_.reset();
    key(key_text_);
  }
  return leave();
}

bool JsonVisitor::visit_ext(const char* data, std::uint32_t size) {
  // The library counts the byte with the type in.
  const int type = static_cast<signed char>(data[0]);
  const std::string_view payload(data + 1, size - 1);
  if (type == kConstant) return constant(payload);
  const auto date = type == kDate ? iso_date(payload) : std::nullopt;
  return text(date ? *date : payload);
}

/// The payload is an array of name and value. The value comes to this visitor as if it stood in the payload's
/// place.
bool JsonVisitor::constant(std::string_view payload) {
  constexpr std::string_view array_of_two = "\x92";
  if (!enter()) return false;
  std::size_t at = array_of_two.size();
  BoundedVisitor name(depth());
  const bool read = payload.substr(0, at) == array_of_two && parse_one(payload, at, name) &&
                    parse_one(payload, at, *this) && at == payload.size();
  leave();
  return read || stop("an extension of type 79 that is no array of name and value");
}

}  // namespace

Result<PackedValue> PackedValue::read(std::string_view bytes) {
  std::size_t at = 0;
  Result<PackedValue> value = take(bytes, at, 0);
  if (!value) return value;
  if (Result<void> result = expect_end(bytes, at); !result) return std::move(result).error();
  return value;
}

Result<Json> PackedValue::json() const {
  return to_json(packed);
}

Result<std::optional<std::size_t>> whole_value(std::string_view bytes) {
  std::size_t at = 0;
  BoundedVisitor visitor;
  Result<void> read = parse_one(bytes, at, visitor);
  if (read) return std::optional(at);
  if (visitor.cut_short()) return std::optional<std::size_t>();
  return std::move(read).error();
}

std::string_view type_name(Kind kind) noexcept {
  switch (kind) {
    case Kind::nil:
      return "nil";
    case Kind::boolean:
      return "a bool";
    case Kind::integer:
      return "an int";
    case Kind::real:
      return "a float";
    case Kind::text:
      return "a str";
    case Kind::array:
      return "an array";
    case Kind::map:
      return "a map";
    case Kind::extension:
      return "an ext";
  }
  return "";
}

Result<void> each_element(std::string_view array_bytes,
                          const std::function<void(const PackedValue& element)>& show) {
  std::size_t at = 0;
  Result<std::uint32_t> count = take_header(array_bytes, at, Kind::array);
  if (!count) return std::move(count).error();
  for (std::uint32_t i = 0; i < *count; ++i) {
    Result<PackedValue> element = take(array_bytes, at, 1);
    if (!element) return std::move(element).error();
    show(*element);
  }
  return expect_end(array_bytes, at);
}

Result<void> each_member(std::string_view map_bytes,
                         const std::function<void(const PackedValue& key, const PackedValue& value)>& show) {
  std::size_t at = 0;
  Result<std::uint32_t> count = take_header(map_bytes, at, Kind::map);
  if (!count) return std::move(count).error();
  for (std::uint32_t i = 0; i < *count; ++i) {
    Result<PackedValue> key = take(map_bytes, at, 1);
    if (!key) return std::move(key).error();
    Result<PackedValue> value = take(map_bytes, at, 1);
    if (!value) return std::move(value).error();
    show(*key, *value);
  }
  return expect_end(map_bytes, at);
}

Result<std::vector<std::string_view>> read_texts(std::string_view array_bytes) {
  std::vector<std::string_view> texts;
  Kind other = Kind::text;
  Result<void> result = each_element(array_bytes, [&](const PackedValue& element) {
    if (element.kind == Kind::text) {
      texts.push_back(element.text);
    } else {
      other = element.kind;
    }
  });
  if (!result) return std::move(result).error();
  if (other == Kind::text) return texts;
  return Error{ErrorKind::internal,
               format("Expected msgpack of an array of str, found {} in it", type_name(other))};
}

Result<Fields> Fields::read(std::string_view map_bytes, std::span<const std::string_view> wanted) {
  Fields found;
  Result<void> result = each_member(map_bytes, [&](const PackedValue& key, const PackedValue& value) {
    if (key.kind != PackedValue::Kind::text || is_bin(key.packed)) return;
    if (std::find(wanted.begin(), wanted.end(), key.text) == wanted.end()) return;
    std::erase_if(found.fields_, [&key](const auto& field) { return field.first == key.text; });
    found.fields_.emplace_back(key.text, value);
  });
  if (!result) return std::move(result).error();
  return found;
}

const Fields::Field* Fields::find(std::string_view name) const noexcept {
  for (const auto& [key, value] : fields_) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string_view Fields::text(std::string_view name) const noexcept {
  const Field* field = find(name);
  return field == nullptr ? std::string_view() : field->text;
}

Result<void> append_json(std::string_view bytes, std::string& out) {
  const std::size_t before = out.size();
  out.reserve(before + bytes.size() + bytes.size() / 8);
  JsonVisitor visitor(out);
  std::size_t at = 0;
  Result<void> result = parse_one(bytes, at, visitor);
  if (result) result = expect_end(bytes, at);
  if (!result) out.resize(before);
  return result;
}

Result<Json> to_json(std::string_view bytes) {
  std::string text;
  if (Result<void> result = append_json(bytes, text); !result) return std::move(result).error();
  return Json::trusted(std::move(text));
}

}  // namespace rest_fcgi::salt

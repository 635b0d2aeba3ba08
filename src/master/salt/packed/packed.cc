// SPDX-License-Identifier: MIT
#include "master/salt/packed/packed.h"

#include <algorithm>
#include <limits>

#include "master/salt/packed/visitor.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

using Kind = PackedValue::Kind;

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

/// A visitor that stops parsing after the header of an array or map.
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

/// Reads the value at the offset `at`, and moves `at` to the end of the value. `depth` is the nesting level
/// of the value.
Result<PackedValue> take(std::string_view bytes, std::size_t& at, std::size_t depth) {
  const std::size_t begin = at;
  ValueVisitor visitor(depth);
  if (Result<void> result = parse_one(bytes, at, visitor); !result) return std::move(result).error();
  PackedValue value = visitor.value();
  value.packed = bytes.substr(begin, at - begin);
  return value;
}

/// Reads the header of an array or map. Returns the number of elements or members. Moves `at` to the first
/// element or member.
Result<std::uint32_t> take_header(std::string_view bytes, std::size_t& at, Kind expected) {
  HeaderVisitor header;
  // The visitor stops parsing after the header. `parse_one` reports this stop as an error, which is ignored.
  (void)parse_one(bytes, at, header);
  if (header.kind() == expected) return header.count();
  Result<PackedValue> found = PackedValue::read(bytes);
  if (!found) return std::move(found).error();
  return Error{ErrorKind::internal,
               format("Expected msgpack of {}, found {}", type_name(expected), type_name(found->kind))};
}

}  // namespace

Result<PackedValue> PackedValue::read(std::string_view bytes) {
  std::size_t at = 0;
  Result<PackedValue> value = take(bytes, at, 0);
  if (!value) return value;
  if (Result<void> result = expect_end(bytes, at); !result) return std::move(result).error();
  return value;
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
    if (key.kind != PackedValue::Kind::text) return;
    // A `bin` is not the name of a member: in Python, the key `b"cmd"` differs from the key `"cmd"`.
    const auto type = static_cast<unsigned char>(key.packed.front());
    if (type >= 0xc4 && type <= 0xc6) return;
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

}  // namespace rest_fcgi::salt

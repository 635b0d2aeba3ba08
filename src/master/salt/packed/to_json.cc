// SPDX-License-Identifier: MIT
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "master/salt/packed/packed.h"
#include "master/salt/packed/visitor.h"
#include "rest_fcgi/core/base64.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/master/secrets.h"

namespace rest_fcgi::salt {
namespace {

constexpr int kDate = 78;
constexpr int kConstant = 79;

/// Converts Salt's date `20261120T12:00:00.000000` to ISO 8601, `2026-11-20T...`. Returns std::nullopt for
/// any other text.
std::optional<std::string> iso_date(std::string_view packed) {
  constexpr std::string_view form = "00000000T00:00:00.000000";
  if (packed.size() != form.size()) return std::nullopt;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '0' ? !is_digit(packed[i]) : packed[i] != form[i]) return std::nullopt;
  }
  return std::string(packed).insert(6, "-").insert(4, "-");
}

/// Returns the text that Python's json writes for a float that is a key.
std::string float_key(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return python_float(value);
}

class JsonVisitor : public BoundedVisitor {
 public:
  JsonVisitor(std::string& out, const Redactor* redactor, std::size_t max_depth)
      : BoundedVisitor(0, max_depth), out_(out), redactor_(redactor) {}

  bool visit_nil() { return plain("null"); }
  bool visit_boolean(bool value) { return plain(value ? "true" : "false"); }
  bool visit_positive_integer(std::uint64_t value) { return token(std::to_string(value)); }
  bool visit_negative_integer(std::int64_t value) { return token(std::to_string(value)); }
  bool visit_float32(float value) { return visit_float64(static_cast<double>(value)); }
  bool visit_float64(double value) {
    if (take_key()) return key(float_key(value));
    if (verdict(true) == Verdict::hide) return hide();
    writer().number(value);
    return true;
  }
  bool visit_str(const char* data, std::uint32_t size) { return text({data, size}); }
  bool visit_bin(const char* data, std::uint32_t size) {
    const std::string_view bytes(data, size);
    if (is_utf8(bytes)) return text(bytes);
    std::string encoded;
    append_base64(encoded, bytes);
    return text(encoded);
  }
  bool visit_ext(const char* data, std::uint32_t size);

  bool start_array(std::uint32_t /*announced*/) {
    if (!open()) return false;
    if (inside_ != Verdict::hide) writer().begin_array();
    return true;
  }
  bool end_array() {
    if (inside_ != Verdict::hide) writer().end_array();
    return close();
  }
  bool start_map(std::uint32_t /*announced*/) {
    if (!open()) return false;
    if (inside_ != Verdict::hide) writer().begin_object();
    return true;
  }
  bool end_map() {
    if (inside_ != Verdict::hide) writer().end_object();
    return close();
  }
  bool start_map_key() {
    at_key_ = inside_ != Verdict::hide;
    return true;
  }

 private:
  using Verdict = Redactor::Verdict;

  JsonWriter& writer() { return key_writer_ ? *key_writer_ : out_; }

  bool take_key() { return std::exchange(at_key_, false); }

  /// Returns how to show the current value. `is_count` says whether the value is a number or a text of few
  /// digits.
  Verdict verdict(bool is_count = false) {
    Verdict of_this = std::exchange(next_, Verdict::look_inside);
    if (of_this == Verdict::hide_but_count) of_this = is_count ? Verdict::show : Verdict::hide;
    return inside_ == Verdict::look_inside ? of_this : inside_;
  }

  bool key(std::string_view name) {
    const bool looks_inside = redactor_ != nullptr && inside_ == Verdict::look_inside;
    // Keys may contain secrets. For example, JSON that a client sends with the Content-Type of a form becomes
    // one long key.
    const auto shown = looks_inside ? redactor_->shown(name) : std::nullopt;
    writer().key(shown ? std::string_view(*shown) : name);
    if (looks_inside) next_ = redactor_->of_member(name, depth());
    return true;
  }
  bool hide() {
    if (inside_ != Verdict::hide) writer().string(master::kHidden);
    return true;
  }
  bool text(std::string_view value) {
    if (take_key()) return key(value);
    const Verdict found = verdict(master::is_count(value));
    if (found == Verdict::hide) return hide();
    const bool look = redactor_ != nullptr && found == Verdict::look_inside;
    const auto shown = look ? redactor_->shown(value) : std::nullopt;
    writer().string(shown ? std::string_view(*shown) : value);
    return true;
  }
  bool token(std::string_view value) {
    if (take_key()) return key(value);
    if (verdict(true) == Verdict::hide) return hide();
    writer().raw(value);
    return true;
  }
  bool plain(std::string_view value) {
    next_ = Verdict::look_inside;
    return token(value);
  }
  bool constant(std::string_view payload);

  bool open();
  bool close();

  JsonWriter out_;
  const Redactor* const redactor_;  // A null `redactor_` shows everything.
  bool at_key_ = false;
  Verdict next_ = Verdict::look_inside;
  /// `inside_` says how to show all values inside the array or map at the depth `since_`.
  Verdict inside_ = Verdict::look_inside;
  std::size_t since_ = 0;

  /// The JSON text of an array or map that is a key. When the array or map ends, this text becomes the key.
  std::string key_text_;
  std::optional<JsonWriter> key_writer_;
  std::size_t key_depth_ = 0;
};

bool JsonVisitor::open() {
  if (!enter()) return false;
  if (!take_key()) {
    const Verdict found = verdict();
    if (inside_ != Verdict::look_inside || found == Verdict::look_inside) return true;
    if (found == Verdict::hide) writer().string(master::kHidden);
    inside_ = found;
    since_ = depth();
    return true;
  }
  // An array or map as key inside another such key is refused, because each level would double the number of
  // backslashes.
  if (key_writer_) return stop("a key that is an array or map, inside another such key");
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
  if (since_ == depth()) inside_ = Verdict::look_inside;
  return leave();
}

bool JsonVisitor::visit_ext(const char* data, std::uint32_t size) {
  // The first byte of an extension is its type. msgpack-cxx counts this byte in `size`.
  const int type = static_cast<signed char>(data[0]);
  const std::string_view payload(data + 1, size - 1);
  if (type == kConstant) return constant(payload);
  const auto date = type == kDate ? iso_date(payload) : std::nullopt;
  return text(date ? *date : payload);
}

/// Writes the value of a named constant (extension 79). The payload is an array of the constant's name and
/// value.
bool JsonVisitor::constant(std::string_view payload) {
  constexpr std::string_view array_of_two = "\x92";
  if (!enter()) return false;
  std::size_t at = array_of_two.size();
  BoundedVisitor name(depth());
  const bool read = payload.substr(0, at) == array_of_two && parse_one(payload, at, name) &&
                    parse_one(payload, at, *this) && at == payload.size();
  leave();
  return read || stop("an extension of type 79 that is not an array of name and value");
}

}  // namespace

Result<void> append_json(std::string_view bytes, std::string& out, const Redactor* redactor,
                         std::size_t max_depth) {
  const std::size_t before = out.size();
  out.reserve(before + bytes.size() + bytes.size() / 8);
  JsonVisitor visitor(out, redactor, max_depth);
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

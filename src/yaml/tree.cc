// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/yaml/yaml.h"
#include "yaml/events.h"

namespace rest_fcgi::yaml {
namespace {

constexpr std::size_t kShownBytes = 60;

bool is_number(const Node& node) {
  return node.is(Kind::boolean) || node.is(Kind::integer) || node.is(Kind::real);
}

double number_of(const Node& node) {
  if (node.is(Kind::boolean)) return to_boolean(node.text) ? 1 : 0;
  return to_real(node.text);
}

bool equal_numbers(const Node& a, const Node& b) {
  if (a.is(Kind::integer) && b.is(Kind::integer)) {
    const auto left = to_integer(a.text);
    const auto right = to_integer(b.text);
    if (left && right) return *left == *right;
  }
  return number_of(a) == number_of(b);
}

bool equal_maps(const Node& a, const Node& b) {
  return a.entries.size() == b.entries.size() &&
         std::all_of(a.entries.begin(), a.entries.end(), [&b](const Entry& entry) {
           const Entry* other = b.find(entry.key);
           return other != nullptr && equal(entry.value, other->value);
         });
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7F) {
      out += format("\\x{:02x}", code);
    } else {
      out += c;
    }
  }
  return out;
}

class TreeWriter {
 public:
  TreeWriter(JsonWriter& writer, const std::function<void(const Node&)>& unfit)
      : writer_(writer), unfit_(unfit) {}

  void write(const Node& node) {
    switch (node.kind) {
      case Kind::list:
        writer_.begin_array();
        for (const Node& item : node.items) write(item);
        writer_.end_array();
        return;
      case Kind::map:
        writer_.begin_object();
        for (const Entry& entry : node.entries) {
          writer_.key(name_of(entry));
          write(entry.value);
        }
        writer_.end_object();
        return;
      default:
        write_scalar(node);
    }
  }

 private:
  void write_scalar(const Node& node) {
    const auto json = json_of(node.kind, node.text);
    if (json) {
      writer_.raw(*json);
    } else {
      writer_.string(node.text);
      if (node.kind != Kind::string && unfit_) unfit_(node);
    }
  }

  JsonWriter& writer_;
  const std::function<void(const Node&)>& unfit_;
};

}  // namespace

std::optional<std::string> json_of(Kind kind, std::string_view text) {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return to_boolean(text) ? "true" : "false";
    case Kind::integer:
      return to_decimal(text);
    case Kind::real:
      if (const double value = to_real(text); std::isfinite(value)) return python_float(value);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

const Entry* Node::find(std::string_view key) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [key](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

Entry* Node::find(std::string_view key) {
  return const_cast<Entry*>(std::as_const(*this).find(key));
}

bool equal(const Node& a, const Node& b) {
  if (is_number(a) && is_number(b)) return equal_numbers(a, b);
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::list:
      return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), equal);
    case Kind::map:
      return equal_maps(a, b);
    case Kind::string:
      return a.text == b.text;
    default:
      return true;
  }
}

std::string name_of(const Entry& entry) {
  return (entry.plain_key ? json_of(kind_of_plain(entry.key), entry.key) : std::nullopt).value_or(entry.key);
}

Json to_json(const Node& node, const std::function<void(const Node&)>& unfit) {
  return written_json([&](JsonWriter& writer) { TreeWriter(writer, unfit).write(node); });
}

Error mistake_at(const Place& place, std::string_view text) {
  if (place.file == nullptr || place.file->empty()) {
    return {ErrorKind::malformed, escaped(format("line {}, column {}: {}", place.line, place.column, text))};
  }
  return {ErrorKind::configuration, escaped(format("{}:{}: {}", *place.file, place.line, text))};
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Kind::null:
      return "nothing";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
    case Kind::string:
      return in_quotes(node.text);
    default:
      return excerpt(node.text, kShownBytes);
  }
}

std::string in_quotes(std::string_view text) {
  return format("\"{}\"", escaped(excerpt(text, kShownBytes)));
}

}  // namespace rest_fcgi::yaml

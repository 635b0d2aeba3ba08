// SPDX-License-Identifier: MIT
#include "config/node_json.h"

#include <cmath>
#include <string>
#include <utility>

#include "config/scalar.h"

namespace rest_fcgi::config {
namespace {

/// Writes one tree. Lives for that long.
class Transcriber {
 public:
  Transcriber(JsonWriter& writer, std::string_view key, Mistakes& mistakes)
      : writer_(writer), key_(key), mistakes_(mistakes) {}

  void write(const Node& node) {
    switch (node.kind) {
      case Kind::null:
        writer_.null();
        break;
      case Kind::boolean:
        writer_.boolean(to_boolean(node.text));
        break;
      case Kind::integer:
        write_integer(node);
        break;
      case Kind::real:
        write_real(node);
        break;
      case Kind::string:
        writer_.string(node.text);
        break;
      case Kind::list:
        writer_.begin_array();
        for (const Node& item : node.items) write(item);
        writer_.end_array();
        break;
      case Kind::map:
        write_map(node);
        break;
    }
  }

 private:
  void write_integer(const Node& node) {
    const auto value = to_integer(node.text);
    if (!value) mistakes_.unexpected(node, key_, "integers of at most 64 bits");
    writer_.integer(value.value_or(0));
  }

  void write_real(const Node& node) {
    const double value = to_real(node.text);
    if (!std::isfinite(value)) mistakes_.unexpected(node, key_, "numbers that JSON can hold");
    writer_.number(value);
  }

  void write_map(const Node& node) {
    writer_.begin_object();
    for (const Entry& entry : node.entries) {
      writer_.key(entry.key);
      write(entry.value);
    }
    writer_.end_object();
  }

  JsonWriter& writer_;
  std::string_view key_;
  Mistakes& mistakes_;
};

}  // namespace

Json to_json(const Node& node, std::string_view key, Mistakes& mistakes) {
  std::string text;
  JsonWriter writer(text);
  Transcriber(writer, key, mistakes).write(node);
  return Json::trusted(std::move(text));
}

}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#include "master/salt/packed/fields.h"

#include <algorithm>

namespace rest_fcgi::salt {
namespace {

/// For Python `b"cmd"` and `"cmd"` are two keys, and a master looks at the second: what a minion says in the
/// first is not what the master says.
bool is_bin(std::string_view packed) noexcept {
  const auto first = static_cast<unsigned char>(packed.front());
  return first >= 0xc4 && first <= 0xc6;
}

}  // namespace

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

}  // namespace rest_fcgi::salt

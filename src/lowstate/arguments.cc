// SPDX-License-Identifier: MIT
#include "lowstate/arguments.h"

#include <algorithm>
#include <utility>

namespace rest_fcgi::lowstate {
namespace {

constexpr std::string_view kMarker = "__kwarg__";

bool is_keyword_arguments(JsonValue value) {
  const auto marker = value.find(kMarker);
  return marker && marker->is(JsonValue::Kind::boolean) && marker->boolean();
}

}  // namespace

void KeywordArguments::add(JsonMember argument) {
  if (members_.size() < kFew) {
    const auto same = std::find_if(members_.begin(), members_.end(),
                                   [&](const JsonMember& known) { return known.key == argument.key; });
    if (same != members_.end()) {
      same->value = argument.value;
    } else {
      members_.push_back(argument);
    }
    return;
  }
  if (places_.empty()) {
    for (std::size_t i = 0; i < members_.size(); ++i) places_.emplace(members_[i].key, i);
  }
  const auto [place, is_new] = places_.try_emplace(argument.key, members_.size());
  if (is_new) {
    members_.push_back(argument);
  } else {
    members_[place->second].value = argument.value;
  }
}

void read_arguments(std::optional<JsonValue> arg, std::vector<JsonValue>& args, KeywordArguments& kwargs) {
  if (!arg || (arg->is(JsonValue::Kind::string) && arg->text().empty())) return;
  const auto add = [&](JsonValue value) {
    if (!is_keyword_arguments(value)) {
      args.push_back(value);
      return;
    }
    for (const JsonMember member : value.members()) {
      if (member.key != kMarker) kwargs.add(member);
    }
  };
  if (!arg->is(JsonValue::Kind::array)) {
    add(*arg);
    return;
  }
  args.reserve(arg->size());
  for (const JsonValue value : arg->elements()) add(value);
}

void write_arguments(JsonWriter& writer, const Function& function, bool marked) {
  writer.begin_array();
  for (const JsonValue& value : function.args) value.write(writer);
  if (!function.kwargs.empty()) {
    writer.begin_object();
    for (const auto& [key, value] : function.kwargs) value.write(writer.key(key));
    if (marked) writer.key(kMarker).boolean(true);
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace rest_fcgi::lowstate

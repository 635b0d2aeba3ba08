// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>

#include "lowstate/chunk_reader.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::lowstate {

namespace {

/// The names in the order of `Client`.
constexpr std::array<std::string_view, std::size(kClients)> kClientNames{
    "local",        "local_async", "local_batch", "local_subset", "runner",
    "runner_async", "wheel",       "wheel_async", "ssh"};

/// The names in the order of `TargetType`.
constexpr std::array<std::string_view, 12> kTargetTypeNames{
    "glob",        "pcre",         "list",      "grain", "grain_pcre", "pillar",
    "pillar_pcre", "pillar_exact", "nodegroup", "range", "compound",   "ipcidr"};

template <class Value, class Names>
std::optional<Value> value_in(const Names& names, std::string_view name) noexcept {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt : std::optional(static_cast<Value>(found - names.begin()));
}

}  // namespace

std::string_view name_of(Client client) noexcept {
  return kClientNames[static_cast<std::size_t>(client)];
}

std::optional<Client> client_named(std::string_view name) noexcept {
  return value_in<Client>(kClientNames, name);
}

std::string_view name_of(TargetType type) noexcept {
  return kTargetTypeNames[static_cast<std::size_t>(type)];
}

std::optional<TargetType> target_type_named(std::string_view name) noexcept {
  return value_in<TargetType>(kTargetTypeNames, name);
}

std::string all_target_types() {
  return joined(kTargetTypeNames);
}

void write_arguments(JsonWriter& writer, const Function& function, bool marked) {
  writer.begin_array();
  for (const JsonValue& value : function.args) value.write(writer);
  if (!function.kwargs.empty()) {
    writer.begin_object();
    for (const auto& [key, value] : function.kwargs) value.write(writer.key(key));
    if (marked) writer.key("__kwarg__").boolean(true);
    writer.end_object();
  }
  writer.end_array();
}

Json published_functions(const LocalCall& call) {
  if (!call.compound) return Json::string(call.functions.front().name);
  return written_array([&call](JsonWriter& writer) {
    for (const Function& function : call.functions) writer.string(function.name);
  });
}

Json published_arguments(const LocalCall& call) {
  const auto write = [&call](JsonWriter& writer) {
    for (const Function& function : call.functions) write_arguments(writer, function, true);
  };
  return call.compound ? written_array(write) : written_json(write);
}

}  // namespace rest_fcgi::lowstate

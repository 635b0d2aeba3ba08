// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <utility>

#include "lowstate/chunk_reader.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::lowstate {

namespace {

constexpr std::array<std::pair<Client, std::string_view>, std::size(kClients)> kClientNames{{
    {Client::local, "local"},
    {Client::local_async, "local_async"},
    {Client::local_batch, "local_batch"},
    {Client::local_subset, "local_subset"},
    {Client::runner, "runner"},
    {Client::runner_async, "runner_async"},
    {Client::wheel, "wheel"},
    {Client::wheel_async, "wheel_async"},
    {Client::ssh, "ssh"},
}};

constexpr std::array<std::pair<TargetType, std::string_view>, 12> kTargetTypeNames{{
    {TargetType::glob, "glob"},
    {TargetType::pcre, "pcre"},
    {TargetType::list, "list"},
    {TargetType::grain, "grain"},
    {TargetType::grain_pcre, "grain_pcre"},
    {TargetType::pillar, "pillar"},
    {TargetType::pillar_pcre, "pillar_pcre"},
    {TargetType::pillar_exact, "pillar_exact"},
    {TargetType::nodegroup, "nodegroup"},
    {TargetType::range, "range"},
    {TargetType::compound, "compound"},
    {TargetType::ipcidr, "ipcidr"},
}};

template <class Table, class Value>
std::string_view name_in(const Table& table, Value value) noexcept {
  for (const auto& [known, name] : table) {
    if (known == value) return name;
  }
  return {};
}

template <class Value, class Table>
std::optional<Value> value_in(const Table& table, std::string_view name) noexcept {
  for (const auto& [value, known] : table) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Client client) noexcept {
  return name_in(kClientNames, client);
}

std::optional<Client> client_named(std::string_view name) noexcept {
  return value_in<Client>(kClientNames, name);
}

std::string_view name_of(TargetType type) noexcept {
  return name_in(kTargetTypeNames, type);
}

std::optional<TargetType> target_type_named(std::string_view name) noexcept {
  return value_in<TargetType>(kTargetTypeNames, name);
}

std::string all_target_types() {
  std::string names;
  for (const auto& entry : kTargetTypeNames) names.append(names.empty() ? "" : ", ").append(entry.second);
  return names;
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

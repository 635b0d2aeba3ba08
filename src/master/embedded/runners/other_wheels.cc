// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <utility>

#include "master/embedded/runners/master_function.h"

namespace rest_fcgi::embedded {

namespace {

Result<Json> values(const MasterContext& context, const BoundArguments&) {
  return context.config_values;
}

Result<Json> connected(const MasterContext& context, const BoundArguments&) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const Minion& minion : context.minions.all()) writer.string(minion.id);
  writer.end_array();
  return Json::trusted(std::move(text));
}

constexpr std::array<MasterFunction, 1> kConfig = {{
    {.name = "config.values",
     .usage = "config.values()",
     .summary = "Show the effective options that are no secret.",
     .run = values},
}};

constexpr std::array<MasterFunction, 1> kMinions = {{
    {.name = "minions.connected",
     .usage = "minions.connected()",
     .summary = "List the minions.",
     .run = connected},
}};

}  // namespace

MasterFunctions config_wheels() {
  return kConfig;
}

MasterFunctions minions_wheels() {
  return kMinions;
}

}  // namespace rest_fcgi::embedded

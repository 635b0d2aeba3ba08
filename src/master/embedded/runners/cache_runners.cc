// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <utility>

#include "master/embedded/runners/master_function.h"
#include "master/embedded/target/runner_target.h"

namespace rest_fcgi::embedded {

namespace {

/// What a master has in its cache of its minions' data is here what they have: `data` of each.
Result<Json> write_data(const MasterContext& context, const BoundArguments& arguments,
                        JsonDocument Minion::*data) {
  const Result<Selection> selection =
      select_as_runner(context.minions, arguments.values[0], arguments.values[1]);
  if (!selection) return selection.error();
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const std::size_t position : selection->positions) {
    const Minion& minion = context.minions.all()[position];
    (minion.*data).root().write(writer.key(minion.id));
  }
  writer.end_object();
  return Json::trusted(std::move(text));
}

Result<Json> grains(const MasterContext& context, const BoundArguments& arguments) {
  return write_data(context, arguments, &Minion::grains);
}

Result<Json> pillar(const MasterContext& context, const BoundArguments& arguments) {
  return write_data(context, arguments, &Minion::pillar);
}

constexpr std::array<MasterFunction, 2> kFunctions = {{
    {.name = "cache.grains",
     .usage = "cache.grains(tgt, tgt_type='glob')",
     .summary = "Show the grains of minions.",
     .parameters = {{{"tgt", true}, {"tgt_type"}}},
     .run = grains},
    {.name = "cache.pillar",
     .usage = "cache.pillar(tgt=None, tgt_type='glob')",
     .summary = "Show the pillar data of minions.",
     .parameters = {{{"tgt"}, {"tgt_type"}}},
     .run = pillar},
}};

}  // namespace

MasterFunctions cache_runners() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded

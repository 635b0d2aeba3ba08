// SPDX-License-Identifier: MIT
#include <array>
#include <map>
#include <string>
#include <utility>

#include "master/embedded/runners/master_function.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace {

template <std::size_t N>
Json documentation(const std::array<MasterFunctions, N>& tables) {
  std::map<std::string_view, const MasterFunction*> by_name;
  for (const MasterFunctions functions : tables) {
    for (const MasterFunction& function : functions) by_name.emplace(function.name, &function);
  }
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const auto& [name, function] : by_name) {
    writer.key(name).string(format("\n{}\n\nUsage:\n\n    {}\n", function->summary, function->usage));
  }
  writer.end_object();
  return Json::trusted(std::move(text));
}

Result<Json> runner(const MasterContext&, const BoundArguments&) {
  return documentation(all_runners());
}

Result<Json> wheel(const MasterContext&, const BoundArguments&) {
  return documentation(all_wheels());
}

Result<Json> execution(const MasterContext& context, const BoundArguments&) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const LoadedFunction& function : context.modules.all()) {
    writer.key(function.name()).string(function.doc());
  }
  writer.end_object();
  return Json::trusted(std::move(text));
}

constexpr std::array<MasterFunction, 3> kFunctions = {{
    {.name = "doc.execution",
     .usage = "doc.execution()",
     .summary = "Show the documentation of all execution functions.",
     .run = execution},
    {.name = "doc.runner",
     .usage = "doc.runner()",
     .summary = "Show the documentation of all runners.",
     .run = runner},
    {.name = "doc.wheel",
     .usage = "doc.wheel()",
     .summary = "Show the documentation of all wheels.",
     .run = wheel},
}};

}  // namespace

MasterFunctions doc_runners() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded

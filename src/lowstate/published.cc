// SPDX-License-Identifier: MIT
#include "rest_fcgi/lowstate/published.h"

#include <string>
#include <utility>

namespace rest_fcgi::lowstate {

Json published_functions(const LocalCall& call) {
  if (!call.compound) return Json::string(call.functions.front().name);
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const Function& function : call.functions) writer.string(function.name);
  writer.end_array();
  return Json::trusted(std::move(text));
}

Json published_arguments(const LocalCall& call) {
  std::string text;
  JsonWriter writer(text);
  if (call.compound) writer.begin_array();
  for (const Function& function : call.functions) write_arguments(writer, function, true);
  if (call.compound) writer.end_array();
  return Json::trusted(std::move(text));
}

}  // namespace rest_fcgi::lowstate

// SPDX-License-Identifier: MIT
#include <array>
#include <string>

#include "master/embedded/master_function.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace {

/// Every minion of this process counts as accepted: there is no key that somebody could have to accept.
void write_accepted(JsonWriter& writer, const Minions& minions) {
  writer.key("minions").begin_array();
  for (const Minion& minion : minions.all()) writer.string(minion.id);
  writer.end_array();
}

Result<Json> list_all(const MasterContext& context, const BoundArguments&) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  write_accepted(writer, context.minions);
  for (const std::string_view none : {"minions_pre", "minions_rejected", "minions_denied"}) {
    writer.key(none).begin_array().end_array();
  }
  writer.key("local").begin_array().string("master.pem").string("master.pub").end_array().end_object();
  return Json::trusted(std::move(text));
}

/// Salt looks at how `match` begins.
Result<Json> list(const MasterContext& context, const BoundArguments& arguments) {
  const JsonValue match = arguments.values[0];
  if (!match.is(JsonValue::Kind::string)) {
    return Error{ErrorKind::invocation, format("match must be a string, found {}", match.type_name())};
  }
  const std::string_view status = match.text();
  if (status.starts_with("all")) return list_all(context, arguments);
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  if (status.starts_with("acc")) {
    write_accepted(writer, context.minions);
  } else if (status.starts_with("pre") || status.starts_with("un")) {
    writer.key("minions_pre").begin_array().end_array();
  } else if (status.starts_with("rej")) {
    writer.key("minions_rejected").begin_array().end_array();
  } else if (status.starts_with("den")) {
    writer.key("minions_denied").begin_array().end_array();
  }
  writer.end_object();
  return Json::trusted(std::move(text));
}

constexpr std::array<MasterFunction, 2> kFunctions = {{
    {.name = "key.list_all", .usage = "key.list_all()", .parameters = {}, .run = list_all},
    {.name = "key.list", .usage = "key.list(match)", .parameters = {{{"match", true}}}, .run = list},
}};

}  // namespace

std::span<const MasterFunction> key_wheels() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded

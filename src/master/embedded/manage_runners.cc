// SPDX-License-Identifier: MIT
#include <array>
#include <string>

#include "master/embedded/master_function.h"
#include "master/embedded/target.h"
#include "master/embedded/target_compound.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace {

Error invocation(std::string message) {
  return {ErrorKind::invocation, std::move(message)};
}

/// Salt's `tgt` and `tgt_type` as a runner gets them; left out, they mean all minions.
Result<lowstate::Target> read_target(JsonValue tgt, JsonValue tgt_type) {
  lowstate::Target target;
  if (!tgt_type.is(JsonValue::Kind::null)) {
    const auto type = lowstate::target_type_named(tgt_type.text());
    if (!type) return invocation(format("there is no target type {}", tgt_type.python_repr()));
    target.type = *type;
  }
  target.expression = tgt.is(JsonValue::Kind::null) ? "*" : tgt.text();
  if (tgt.is(JsonValue::Kind::array)) {
    for (const JsonValue id : tgt.elements()) target.list.push_back(id.text());
  } else if (!tgt.is(JsonValue::Kind::null) && !tgt.is(JsonValue::Kind::string)) {
    return invocation(format("tgt must be a string or a list of strings, found {}", tgt.type_name()));
  } else if (target.type == lowstate::TargetType::list) {
    target.list = target::split_ids(target.expression);
  }
  return target;
}

/// Minions of this process are always up.
Result<Json> write_up(const MasterContext& context, JsonValue tgt, JsonValue tgt_type) {
  const Result<lowstate::Target> target = read_target(tgt, tgt_type);
  if (!target) return target.error();
  const Result<Selection> selection = select(context.minions, *target);
  if (!selection) return selection.error();
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const std::size_t position : selection->positions) writer.string(context.minions.all()[position].id);
  writer.end_array();
  return Json::trusted(std::move(text));
}

Result<Json> up(const MasterContext& context, const BoundArguments& arguments) {
  return write_up(context, arguments.values[0], arguments.values[1]);
}

Result<Json> down(const MasterContext& context, const BoundArguments& arguments) {
  const Result<Json> up = write_up(context, arguments.values[1], arguments.values[2]);
  if (!up) return up.error();
  return Json::trusted("[]");
}

Result<Json> status(const MasterContext& context, const BoundArguments& arguments) {
  const Result<Json> up = write_up(context, arguments.values[1], arguments.values[2]);
  if (!up) return up.error();
  return Json::trusted(format("{{\"up\": {}, \"down\": []}}", up->text()));
}

constexpr std::array<MasterFunction, 3> kFunctions = {{
    {.name = "manage.up",
     .usage = "manage.up(tgt='*', tgt_type='glob', timeout=None, gather_job_timeout=None)",
     .parameters = {{{"tgt"}, {"tgt_type"}, {"timeout"}, {"gather_job_timeout"}}},
     .run = up},
    {.name = "manage.down",
     .usage =
         "manage.down(removekeys=False, tgt='*', tgt_type='glob', timeout=None, gather_job_timeout=None)",
     .parameters = {{{"removekeys"}, {"tgt"}, {"tgt_type"}, {"timeout"}, {"gather_job_timeout"}}},
     .run = down},
    {.name = "manage.status",
     .usage = "manage.status(output=True, tgt='*', tgt_type='glob', timeout=None, gather_job_timeout=None)",
     .parameters = {{{"output"}, {"tgt"}, {"tgt_type"}, {"timeout"}, {"gather_job_timeout"}}},
     .run = status},
}};

}  // namespace

std::span<const MasterFunction> manage_runners() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded

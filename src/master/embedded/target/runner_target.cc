// SPDX-License-Identifier: MIT
#include "master/embedded/target/runner_target.h"

#include <string>
#include <utility>

#include "master/embedded/target/target_compound.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace {

Error invocation(std::string message) {
  return {ErrorKind::invocation, std::move(message)};
}

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

}  // namespace

Result<Selection> select_as_runner(const Minions& minions, JsonValue tgt, JsonValue tgt_type) {
  const Result<lowstate::Target> target = read_target(tgt, tgt_type);
  if (!target) return target.error();
  return select(minions, *target);
}

}  // namespace rest_fcgi::embedded

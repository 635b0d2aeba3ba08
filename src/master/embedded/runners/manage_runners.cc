// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "master/embedded/python/python.h"
#include "master/embedded/runners/master_function.h"
#include "master/embedded/target/runner_target.h"
#include "master/embedded/target/target_compound.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/version.h"

namespace rest_fcgi::embedded {

namespace {

/// Minions of this process are always up.
Result<Json> write_up(const MasterContext& context, JsonValue tgt, JsonValue tgt_type) {
  const Result<Selection> selection = select_as_runner(context.minions, tgt, tgt_type);
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

/// `subset`: ids as a list, or with commas between them; absent where it is left out.
Result<std::optional<std::vector<std::string_view>>> read_subset(JsonValue subset) {
  if (subset.is(JsonValue::Kind::null)) return std::optional<std::vector<std::string_view>>();
  if (subset.is(JsonValue::Kind::string)) return std::optional(target::split_ids(subset.text()));
  if (!subset.is(JsonValue::Kind::array)) {
    return Error{ErrorKind::invocation,
                 format("subset must be a list of minion ids, found {}", subset.type_name())};
  }
  std::vector<std::string_view> ids;
  for (const JsonValue id : subset.elements()) ids.push_back(id.text());
  return std::optional(std::move(ids));
}

/// Minions of this process are there as long as it is; with `show_ip`, they are on this host.
Result<Json> present(const MasterContext& context, const BoundArguments& arguments) {
  const auto subset = read_subset(arguments.values[0]);
  if (!subset) return subset.error();
  const bool show_ip = python_bool(arguments.values[1]);
  std::string text;
  JsonWriter writer(text);
  show_ip ? writer.begin_object() : writer.begin_array();
  for (const Minion& minion : context.minions.all()) {
    const bool wanted =
        !*subset || std::find((*subset)->begin(), (*subset)->end(), minion.id) != (*subset)->end();
    if (!wanted) continue;
    show_ip ? writer.key(minion.id).string("127.0.0.1") : writer.string(minion.id);
  }
  show_ip ? writer.end_object() : writer.end_array();
  return Json::trusted(std::move(text));
}

Result<Json> not_present(const MasterContext&, const BoundArguments& arguments) {
  const auto subset = read_subset(arguments.values[0]);
  if (!subset) return subset.error();
  return Json::trusted("[]");
}

/// They are this program, as their master is.
Result<Json> versions(const MasterContext& context, const BoundArguments&) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("Master").string(kVersion).key("Up to date").begin_object();
  for (const Minion& minion : context.minions.all()) writer.key(minion.id).string(kVersion);
  writer.end_object().end_object();
  return Json::trusted(std::move(text));
}

constexpr std::string_view kPresent = "List the minions that are there.";
constexpr std::string_view kNotPresent = "List the minions that are not there.";

constexpr MasterFunction presence(std::string_view name, std::string_view usage) {
  return {.name = name,
          .usage = usage,
          .summary = kPresent,
          .parameters = {{{"subset"}, {"show_ip"}}},
          .run = present};
}

constexpr MasterFunction absence(std::string_view name, std::string_view usage) {
  return {.name = name,
          .usage = usage,
          .summary = kNotPresent,
          .parameters = {{{"subset"}, {"show_ip"}}},
          .run = not_present};
}

// Salt has a name for each stage of a connection, and shows the same for all of them.
constexpr std::array kFunctions = {
    presence("manage.alived", "manage.alived(subset=None, show_ip=False)"),
    presence("manage.allowed", "manage.allowed(subset=None, show_ip=False)"),
    MasterFunction{
        .name = "manage.down",
        .usage =
            "manage.down(removekeys=False, tgt='*', tgt_type='glob', timeout=None, gather_job_timeout=None)",
        .summary = "List the minions that do not answer.",
        .parameters = {{{"removekeys"}, {"tgt"}, {"tgt_type"}, {"timeout"}, {"gather_job_timeout"}}},
        .run = down},
    presence("manage.joined", "manage.joined(subset=None, show_ip=False)"),
    absence("manage.list_not_state", "manage.list_not_state(subset=None, show_ip=False)"),
    presence("manage.list_state", "manage.list_state(subset=None, show_ip=False)"),
    absence("manage.not_alived", "manage.not_alived(subset=None, show_ip=False)"),
    absence("manage.not_allowed", "manage.not_allowed(subset=None, show_ip=False)"),
    absence("manage.not_joined", "manage.not_joined(subset=None, show_ip=False)"),
    absence("manage.not_present", "manage.not_present(subset=None, show_ip=False)"),
    absence("manage.not_reaped", "manage.not_reaped(subset=None, show_ip=False)"),
    presence("manage.present", "manage.present(subset=None, show_ip=False)"),
    presence("manage.reaped", "manage.reaped(subset=None, show_ip=False)"),
    MasterFunction{
        .name = "manage.status",
        .usage =
            "manage.status(output=True, tgt='*', tgt_type='glob', timeout=None, gather_job_timeout=None)",
        .summary = "List the minions that answer, and those that do not.",
        .parameters = {{{"output"}, {"tgt"}, {"tgt_type"}, {"timeout"}, {"gather_job_timeout"}}},
        .run = status},
    MasterFunction{.name = "manage.up",
                   .usage = "manage.up(tgt='*', tgt_type='glob', timeout=None, gather_job_timeout=None)",
                   .summary = "List the minions that answer.",
                   .parameters = {{{"tgt"}, {"tgt_type"}, {"timeout"}, {"gather_job_timeout"}}},
                   .run = up},
    MasterFunction{.name = "manage.versions",
                   .usage = "manage.versions()",
                   .summary = "Show the versions of the master and of the minions.",
                   .run = versions},
};

}  // namespace

MasterFunctions manage_runners() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#include "master/embedded/runners/runners.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "master/embedded/python/python.h"
#include "master/embedded/target/target.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/core/version.h"

/// How functions on the master are found and called; all runners but `jobs`, and the wheels.
namespace rest_fcgi::embedded {

namespace {

const MasterFunction* find_in(MasterFunctions functions, std::string_view name) {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [name](const MasterFunction& function) { return function.name() == name; });
  return found == functions.end() ? nullptr : &*found;
}

/// The minions that a runner's arguments `tgt` and `tgt_type` mean; left out, that is all of them.
Result<Selection> selected(const MasterContext& context, const Bound& arguments) {
  const JsonValue tgt = arguments["tgt"];
  const JsonValue tgt_type = arguments["tgt_type"];
  lowstate::Target target;
  if (!tgt_type.is(JsonValue::Kind::null)) {
    const auto type = lowstate::target_type_named(tgt_type.text());
    if (!type) {
      return Error{ErrorKind::invocation, format("there is no target type {}", tgt_type.python_repr())};
    }
    target.type = *type;
  }
  target.expression = tgt.is(JsonValue::Kind::null) ? "*" : tgt.text();
  if (tgt.is(JsonValue::Kind::array)) {
    for (const JsonValue id : tgt.elements()) target.list.push_back(id.text());
  } else if (!tgt.is(JsonValue::Kind::null) && !tgt.is(JsonValue::Kind::string)) {
    return Error{ErrorKind::invocation,
                 format("tgt must be a string or a list of strings, found {}", tgt.type_name())};
  } else if (target.type == lowstate::TargetType::list) {
    target.list = target::split_ids(target.expression);
  }
  return select(context.minions, target);
}

/// What a master has in its cache of its minions' data is here what they have: `data` of each.
Result<Json> data_of_minions(const MasterContext& context, const Bound& arguments,
                             JsonDocument Minion::*data) {
  const Result<Selection> selection = selected(context, arguments);
  if (!selection) return selection.error();
  return written_object([&](JsonWriter& writer) {
    for (const std::size_t position : selection->positions) {
      const Minion& minion = context.minions.all()[position];
      (minion.*data).root().write(writer.key(minion.id));
    }
  });
}

Result<Json> cached_grains(const MasterContext& context, const Bound& arguments) {
  return data_of_minions(context, arguments, &Minion::grains);
}

Result<Json> cached_pillar(const MasterContext& context, const Bound& arguments) {
  return data_of_minions(context, arguments, &Minion::pillar);
}

Json documentation(std::initializer_list<MasterFunctions> tables) {
  std::map<std::string_view, const MasterFunction*> by_name;
  for (const MasterFunctions functions : tables) {
    for (const MasterFunction& function : functions) by_name.emplace(function.name(), &function);
  }
  return written_object([&by_name](JsonWriter& writer) {
    for (const auto& [name, function] : by_name) {
      writer.key(name).string(format("\n{}\n\nUsage:\n\n    {}\n", function->summary, function->usage));
    }
  });
}

Result<Json> doc_runner(const MasterContext&, const Bound&) {
  return documentation({jobs_runners(), other_runners()});
}

Result<Json> doc_wheel(const MasterContext&, const Bound&) {
  return documentation({wheels()});
}

Result<Json> doc_execution(const MasterContext& context, const Bound&) {
  return written_object([&context](JsonWriter& writer) {
    for (const LoadedFunction* function : context.modules.all()) {
      writer.key(function->name()).string(function->doc());
    }
  });
}

/// Minions of this process are always up.
Result<Json> up(const MasterContext& context, const Bound& arguments) {
  const Result<Selection> selection = selected(context, arguments);
  if (!selection) return selection.error();
  return written_array([&](JsonWriter& writer) {
    for (const std::size_t position : selection->positions) {
      writer.string(context.minions.all()[position].id);
    }
  });
}

Result<Json> down(const MasterContext& context, const Bound& arguments) {
  const Result<Selection> selection = selected(context, arguments);
  if (!selection) return selection.error();
  return Json::trusted("[]");
}

Result<Json> status(const MasterContext& context, const Bound& arguments) {
  const Result<Json> ids = up(context, arguments);
  if (!ids) return ids.error();
  return Json::trusted(format("{{\"up\": {}, \"down\": []}}", ids->text()));
}

/// Minions of this process are there as long as it is; with `show_ip`, they are on this host. `subset`: ids
/// as a list, or with commas between them; left out, that is all of them.
Result<Json> present(const MasterContext& context, const Bound& arguments) {
  const JsonValue subset = arguments["subset"];
  std::vector<std::string_view> ids;
  if (subset.is(JsonValue::Kind::string)) ids = target::split_ids(subset.text());
  for (const JsonValue id : subset.elements()) ids.push_back(id.text());
  if (subset.is(JsonValue::Kind::null)) {
    for (const Minion& minion : context.minions.all()) ids.push_back(minion.id);
  } else if (!subset.is(JsonValue::Kind::string) && !subset.is(JsonValue::Kind::array)) {
    return Error{ErrorKind::invocation,
                 format("subset must be a list of minion ids, found {}", subset.type_name())};
  }
  const bool show_ip = python_bool(arguments["show_ip"]);
  return written_json([&](JsonWriter& writer) {
    show_ip ? writer.begin_object() : writer.begin_array();
    for (const std::size_t position : select_ids(context.minions, ids).positions) {
      const std::string& id = context.minions.all()[position].id;
      show_ip ? writer.key(id).string("127.0.0.1") : writer.string(id);
    }
    show_ip ? writer.end_object() : writer.end_array();
  });
}

Result<Json> not_present(const MasterContext& context, const Bound& arguments) {
  const Result<Json> present_ones = present(context, arguments);
  if (!present_ones) return present_ones.error();
  return Json::trusted("[]");
}

/// Minions and master are the same program.
Result<Json> versions(const MasterContext& context, const Bound&) {
  return written_object([&context](JsonWriter& writer) {
    writer.key("Master").string(kVersion).key("Up to date").begin_object();
    for (const Minion& minion : context.minions.all()) writer.key(minion.id).string(kVersion);
    writer.end_object();
  });
}

Result<Json> raw_arg(const MasterContext&, const Bound& arguments) {
  return written_object([&arguments](JsonWriter& writer) {
    write_arguments(writer, "args", arguments.varargs, "kwargs", arguments.keywords);
  });
}

Result<Json> arg(const MasterContext& context, const Bound& arguments) {
  Bound shown = arguments;
  std::erase_if(shown.keywords, [](const JsonMember& member) { return member.key.starts_with("__"); });
  return raw_arg(context, shown);
}

/// A server has no terminal to print on.
Result<Json> stdout_print(const MasterContext&, const Bound&) {
  return Json::string("bar");
}

Result<Json> metasyntactic(const MasterContext&, const Bound& arguments) {
  const JsonValue locality = arguments["locality"];
  if (locality.is(JsonValue::Kind::null) || locality.text() == "us") {
    return Json::trusted(
        R"(["foo", "bar", "baz", "qux", "quux", "quuz", "corge", "grault", "garply", "waldo", "fred", "plugh", )"
        R"("xyzzy", "thud"])");
  }
  if (locality.text() == "uk") return Json::trusted(R"(["wibble", "wobble", "wubble", "flob"])");
  return Json();
}

Result<Json> get_opts(const MasterContext&, const Bound&) {
  return Error{ErrorKind::invocation,
               "the configuration holds secrets and is not shown; the wheel config.values shows the options "
               "that are no secret"};
}

Result<Json> sleep(const MasterContext& context, const Bound& arguments) {
  constexpr double kDefault = 10;
  constexpr double kLongest = 86'400;
  const JsonValue seconds = arguments["s_time"];
  const std::optional<double> wanted = seconds.is(JsonValue::Kind::null) ? kDefault : seconds.number();
  if (!wanted || *wanted < 0 || *wanted > kLongest) {
    return Error{ErrorKind::invocation, format("s_time must be a number of seconds from 0 to {}, found {}",
                                               kLongest, seconds.python_repr())};
  }
  if (!pause(std::chrono::duration<double>(*wanted), context.stop)) {
    return Error{ErrorKind::unavailable, std::string(kTerminated)};
  }
  return Json::boolean(true);
}

constexpr std::string_view kPresent = "List the minions that are there.";
constexpr std::string_view kNotPresent = "List the minions that are not there.";

// Salt's `manage` has a name for each stage of a connection, and shows the same for all of them.
constexpr std::array<MasterFunction, 27> kRunners = {{
    {"cache.grains(tgt, tgt_type='glob')", "Show the grains of minions.", cached_grains},
    {"cache.pillar(tgt=None, tgt_type='glob')", "Show the pillar data of minions.", cached_pillar},
    {"doc.execution()", "Show the documentation of all execution functions.", doc_execution, false},
    {"doc.runner()", "Show the documentation of all runners.", doc_runner},
    {"doc.wheel()", "Show the documentation of all wheels.", doc_wheel},
    {"manage.alived(subset=None, show_ip=False)", kPresent, present},
    {"manage.allowed(subset=None, show_ip=False)", kPresent, present},
    {"manage.down(removekeys=False, tgt='*', tgt_type='glob', timeout=None, gather_job_timeout=None)",
     "List the minions that do not answer.", down},
    {"manage.joined(subset=None, show_ip=False)", kPresent, present},
    {"manage.list_not_state(subset=None, show_ip=False)", kNotPresent, not_present},
    {"manage.list_state(subset=None, show_ip=False)", kPresent, present},
    {"manage.not_alived(subset=None, show_ip=False)", kNotPresent, not_present},
    {"manage.not_allowed(subset=None, show_ip=False)", kNotPresent, not_present},
    {"manage.not_joined(subset=None, show_ip=False)", kNotPresent, not_present},
    {"manage.not_present(subset=None, show_ip=False)", kNotPresent, not_present},
    {"manage.not_reaped(subset=None, show_ip=False)", kNotPresent, not_present},
    {"manage.present(subset=None, show_ip=False)", kPresent, present},
    {"manage.reaped(subset=None, show_ip=False)", kPresent, present},
    {"manage.status(output=True, tgt='*', tgt_type='glob', timeout=None, gather_job_timeout=None)",
     "List the minions that answer, and those that do not.", status},
    {"manage.up(tgt='*', tgt_type='glob', timeout=None, gather_job_timeout=None)",
     "List the minions that answer.", up},
    {"manage.versions()", "Show the versions of the master and of the minions.", versions},
    {"test.arg(*args, **kwargs)", "Return the arguments, without keyword arguments that begin with '__'.",
     arg},
    {"test.get_opts()", "Refused: the configuration holds secrets.", get_opts},
    {"test.metasyntactic(locality='us')", "Return metasyntactic variables of a place, us or uk.",
     metasyntactic},
    {"test.raw_arg(*args, **kwargs)", "Return the arguments.", raw_arg},
    {"test.sleep(s_time=10)", "Sleep, then return True.", sleep, false},
    {"test.stdout_print()", "Return 'bar'. There is no terminal to print on.", stdout_print},
}};

constexpr std::array<std::string_view, 2> kLocalKeys = {"master.pem", "master.pub"};
constexpr std::string_view kAccepted = "minions";

using Names = std::vector<std::string_view>;

/// Every minion of this process counts as accepted: there is no key that somebody could have to accept.
Names ids_of(const Minions& minions) {
  Names ids;
  for (const Minion& minion : minions.all()) ids.push_back(minion.id);
  return ids;
}

Error match_must_be_text(JsonValue found) {
  return {ErrorKind::invocation, format("match must be a string, found {}", found.type_name())};
}

Result<Json> list_all(const MasterContext& context, const Bound&) {
  return written_object([&](JsonWriter& writer) {
    write_strings(writer.key(kAccepted), ids_of(context.minions));
    for (const std::string_view status : {"minions_pre", "minions_rejected", "minions_denied"}) {
      writer.key(status).begin_array().end_array();
    }
    write_strings(writer.key("local"), kLocalKeys);
  });
}

/// Salt looks at how `match` begins.
std::string_view status_meant(std::string_view match) {
  if (match.starts_with("acc")) return kAccepted;
  if (match.starts_with("pre") || match.starts_with("un")) return "minions_pre";
  if (match.starts_with("rej")) return "minions_rejected";
  return match.starts_with("den") ? "minions_denied" : "";
}

Result<Json> list(const MasterContext& context, const Bound& arguments) {
  const JsonValue match = arguments["match"];
  if (!match.is(JsonValue::Kind::string)) return match_must_be_text(match);
  if (match.text().starts_with("all")) return list_all(context, arguments);
  const std::string_view status = status_meant(match.text());
  if (status.empty()) return Json::empty_object();
  return written_object([&](JsonWriter& writer) {
    write_strings(writer.key(status), status == kAccepted ? ids_of(context.minions) : Names());
  });
}

/// Those of `names` that one of the globs of `match` matches: a list, or with commas between them.
Result<Names> matching(Names names, JsonValue match) {
  if (!match.is(JsonValue::Kind::array) && !match.is(JsonValue::Kind::string)) {
    return match_must_be_text(match);
  }
  const std::vector<std::string> globs = texts_in(match);
  std::erase_if(names, [&globs](std::string_view name) {
    return std::none_of(globs.begin(), globs.end(),
                        [name](const std::string& glob) { return glob_match(glob, name); });
  });
  return names;
}

Result<Json> name_match(const MasterContext& context, const Bound& arguments) {
  const Result<Names> ids = matching(ids_of(context.minions), arguments["match"]);
  if (!ids) return ids.error();
  if (ids->empty()) return Json::empty_object();
  return written_object([&ids](JsonWriter& writer) { write_strings(writer.key(kAccepted), *ids); });
}

/// Minions of this process have no keys; of a key that is not there, Salt gives an empty text.
void write_no_keys(JsonWriter& writer, std::string_view status, const Names& names) {
  if (names.empty()) return;
  writer.key(status).begin_object();
  for (const std::string_view name : names) writer.key(name).string("");
  writer.end_object();
}

Result<Json> print(const MasterContext& context, const Bound& arguments) {
  const Result<Names> ids = matching(ids_of(context.minions), arguments["match"]);
  if (!ids) return ids.error();
  return written_object([&ids](JsonWriter& writer) { write_no_keys(writer, kAccepted, *ids); });
}

Result<Json> finger(const MasterContext& context, const Bound& arguments) {
  const Result<Names> ids = matching(ids_of(context.minions), arguments["match"]);
  if (!ids) return ids.error();
  const Result<Names> local = matching({kLocalKeys.begin(), kLocalKeys.end()}, arguments["match"]);
  return written_object([&](JsonWriter& writer) {
    write_no_keys(writer, kAccepted, *ids);
    write_no_keys(writer, "local", *local);
  });
}

Result<Json> master_key(const MasterContext&, const Bound&) {
  return Json::trusted(R"({"local": {"master.pub": ""}})");
}

Result<Json> values(const MasterContext& context, const Bound&) {
  return context.config_values;
}

Result<Json> connected(const MasterContext& context, const Bound&) {
  return written_json([&](JsonWriter& writer) { write_strings(writer, ids_of(context.minions)); });
}

constexpr std::array<MasterFunction, 9> kWheels = {{
    {"config.values()", "Show the effective options that are no secret.", values},
    {"key.finger(match, hash_type=None)",
     "Show the fingerprints of keys; they are empty, as minions of this process need no keys.", finger},
    {"key.finger_master(hash_type=None)",
     "Show the fingerprint of the master's key; it is empty, as there is none.", master_key},
    {"key.list(match)", "List the minions whose keys have a status: accepted, pre, rejected, denied or all.",
     list},
    {"key.list_all()", "List the minions by the status of their keys; all count as accepted.", list_all},
    {"key.master_key_str()", "Show the master's key; it is empty, as there is none.", master_key},
    {"key.name_match(match)", "List the minions whose ids match globs, by the status of their keys.",
     name_match},
    {"key.print(match)", "Show keys; they are empty, as minions of this process need none.", print},
    {"minions.connected()", "List the minions.", connected},
}};

}  // namespace

std::vector<std::string> texts_in(JsonValue value) {
  std::vector<std::string> texts;
  for (const JsonValue text : value.elements()) texts.push_back(text.python_str());
  if (value.is(JsonValue::Kind::array)) return texts;
  const std::string text = value.python_str();
  for (const std::string_view name : target::split_names(text)) texts.emplace_back(name);
  return texts;
}

MasterFunctions other_runners() {
  return kRunners;
}

MasterFunctions wheels() {
  return kWheels;
}

Result<Bound> MasterFunction::bind(const lowstate::MasterArguments& arguments) const {
  auto bound = python_bind(read_usage(usage), arguments.args, arguments.kwargs);
  if (const Raised* raised = std::get_if<Raised>(&bound)) {
    return Error{ErrorKind::invocation, raised->message};
  }
  return std::get<Bound>(std::move(bound));
}

const MasterFunction* find_runner(std::string_view name) {
  const MasterFunction* found = find_in(jobs_runners(), name);
  return found != nullptr ? found : find_in(other_runners(), name);
}

const MasterFunction* find_wheel(std::string_view name) {
  return find_in(wheels(), name);
}

}  // namespace rest_fcgi::embedded

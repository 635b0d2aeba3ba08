// SPDX-License-Identifier: MIT
#include "master/embedded/runners/runners.h"

#include <algorithm>

#include "master/embedded/host/grains.h"
#include "master/embedded/target/target.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/events.h"

/// This file contains all runners except those of the module `jobs`. It also finds runners and wheels by
/// their names.
namespace rest_fcgi::embedded {

namespace {

const MasterFunction* find_in(MasterFunctions functions, std::string_view name) {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [name](const MasterFunction& function) { return function.name() == name; });
  return found == functions.end() ? nullptr : &*found;
}

Result<Selection> selected(const MasterContext& context, const BoundArguments& arguments) {
  const Result<lowstate::Target> target = target_of(arguments);
  if (!target) return target.error();
  target::Work work;
  return select(context.minions(), *target, work);
}

template <JsonDocument Minion::*data>
Result<Json> data_of_minions(const MasterContext& context, const BoundArguments& arguments) {
  const Result<Selection> selection = selected(context, arguments);
  if (!selection) return selection.error();
  return written_object([&](JsonWriter& writer) {
    for (const std::size_t position : selection->positions) {
      const Minion& minion = context.minions().all()[position];
      (minion.*data).root().write(writer.key(minion.id));
    }
  });
}

Result<Json> cached_mine(const MasterContext& context, const BoundArguments& arguments) {
  const Result<Selection> selection = selected(context, arguments);
  if (!selection) return selection.error();
  return Json::empty_object();
}

Result<Json> orchestrate_show_sls(const MasterContext& context, const BoundArguments&) {
  return written_object(
      [&context](JsonWriter& writer) { writer.key(context.jobs.master_id()).begin_object().end_object(); });
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

Result<Json> doc_runner(const MasterContext&, const BoundArguments&) {
  return documentation({jobs_runners(), other_runners()});
}

Result<Json> doc_wheel(const MasterContext&, const BoundArguments&) {
  return documentation({wheels()});
}

Result<Json> doc_execution(const MasterContext& context, const BoundArguments&) {
  return written_object([&context](JsonWriter& writer) {
    for (const LoadedFunction* function : context.data.modules->all()) {
      writer.key(function->name).string(function->doc);
    }
  });
}

Result<Json> up(const MasterContext& context, const BoundArguments& arguments) {
  const Result<Selection> selection = selected(context, arguments);
  if (!selection) return selection.error();
  return written_array([&](JsonWriter& writer) {
    for (const std::size_t position : selection->positions) {
      writer.string(context.minions().all()[position].id);
    }
  });
}

Result<Json> down(const MasterContext& context, const BoundArguments& arguments) {
  const Result<Selection> selection = selected(context, arguments);
  if (!selection) return selection.error();
  return Json::trusted("[]");
}

Result<Json> status(const MasterContext& context, const BoundArguments& arguments) {
  const Result<Json> ids = up(context, arguments);
  if (!ids) return ids.error();
  return Json::trusted(format("{{\"up\": {}, \"down\": []}}", ids->text()));
}

/// Returns the minions of `subset`, for the runners that list connected minions. All minions of this process
/// count as connected. `subset` is a list of ids, a comma-separated text of ids, or null for all minions.
Result<Json> present(const MasterContext& context, const BoundArguments& arguments) {
  const JsonValue subset = arguments["subset"];
  std::vector<std::string_view> ids;
  if (subset.is(JsonValue::Kind::string)) ids = split_names(subset.text());
  for (const JsonValue id : subset.elements()) ids.push_back(id.text());
  if (subset.is(JsonValue::Kind::null)) {
    for (const Minion& minion : context.minions().all()) ids.push_back(minion.id);
  } else if (!subset.is(JsonValue::Kind::string) && !subset.is(JsonValue::Kind::array)) {
    return Error{ErrorKind::invocation,
                 format("subset: found {}, expected a list of minion ids", subset.type_name())};
  }
  const bool show_ip = python_bool(arguments["show_ip"]);
  return written_json([&](JsonWriter& writer) {
    show_ip ? writer.begin_object() : writer.begin_array();
    for (const std::size_t position : select_ids(context.minions(), ids).positions) {
      const std::string& id = context.minions().all()[position].id;
      show_ip ? writer.key(id).string("127.0.0.1") : writer.string(id);
    }
    show_ip ? writer.end_object() : writer.end_array();
  });
}

Result<Json> not_present(const MasterContext& context, const BoundArguments& arguments) {
  const Result<Json> present_ones = present(context, arguments);
  if (!present_ones) return present_ones.error();
  return Json::trusted("[]");
}

Result<Json> versions(const MasterContext& context, const BoundArguments&) {
  return written_object([&context](JsonWriter& writer) {
    writer.key("Master").string(kSaltVersion).key("Up to date").begin_object();
    for (const Minion& minion : context.minions().all()) writer.key(minion.id).string(kSaltVersion);
    writer.end_object();
  });
}

Result<Json> raw_arg(const MasterContext&, const BoundArguments& arguments) {
  return written_object([&arguments](JsonWriter& writer) {
    write_arguments(writer, "args", arguments.varargs, "kwargs", arguments.keywords);
  });
}

Result<Json> arg(const MasterContext& context, const BoundArguments& arguments) {
  BoundArguments shown = arguments;
  std::erase_if(shown.keywords, [](const JsonMember& member) { return member.key.starts_with("__"); });
  return raw_arg(context, shown);
}

Result<Json> metasyntactic(const MasterContext&, const BoundArguments& arguments) {
  const JsonValue locality = arguments["locality"];
  if (locality.is(JsonValue::Kind::null) || locality.text() == "us") {
    return Json::trusted(
        R"(["foo", "bar", "baz", "qux", "quux", "quuz", "corge", "grault", "garply", "waldo", "fred", "plugh", )"
        R"("xyzzy", "thud"])");
  }
  if (locality.text() == "uk") return Json::trusted(R"(["wibble", "wobble", "wubble", "flob"])");
  return Json();
}

Result<Json> get_opts(const MasterContext&, const BoundArguments&) {
  return Error{ErrorKind::invocation,
               "the configuration has secrets; the wheel config.values shows the options without them"};
}

Result<Json> sleep(const MasterContext& context, const BoundArguments& arguments) {
  constexpr double kDefault = 10;
  constexpr double kLongest = 86'400;
  const JsonValue seconds = arguments["s_time"];
  const std::optional<double> wanted = seconds.is(JsonValue::Kind::null) ? kDefault : seconds.number();
  if (!wanted || *wanted < 0 || *wanted > kLongest) {
    return Error{ErrorKind::invocation, format("s_time: found {}, expected a number of seconds from 0 to {}",
                                               seconds.python_repr(), kLongest)};
  }
  if (!pause(std::chrono::duration<double>(*wanted), context.stop)) {
    return Error{ErrorKind::unavailable, std::string(kTerminated)};
  }
  return Json::boolean(true);
}

/// Fires an event as Salt's runner does. A false `data` counts as an empty map.
Result<Json> send_event(const MasterContext& context, const BoundArguments& arguments) {
  const JsonValue tag = arguments["tag"];
  if (!tag.is(JsonValue::Kind::string)) {
    return Error{ErrorKind::invocation, format("tag: found {}, expected a string", tag.type_name())};
  }
  const JsonValue data = arguments["data"];
  const auto checked =
      master::check_event(tag.text(), python_bool(data) ? data.json() : Json::empty_object());
  if (!checked) return checked.error();
  context.jobs.announcer().fire(tag.text(), checked->root());
  return Json::boolean(true);
}

/// Returns whether the argument `backend` of a `fileserver` runner selects the only back end, `roots`. The
/// argument is a list or a comma-separated text of names. If all names begin with `-`, they are left out.
bool selects_roots(const BoundArguments& arguments) {
  const JsonValue backend = arguments["backend"];
  if (!python_bool(backend)) return true;
  const std::vector<std::string> names = texts_in(backend);
  const auto has = [&names](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool are_excluded =
      std::all_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with('-'); });
  return are_excluded ? !has("-roots") : has("roots");
}

Result<Json> file_envs(const MasterContext&, const BoundArguments& arguments) {
  if (!selects_roots(arguments)) return Json::trusted("[]");
  return Json::trusted(python_bool(arguments["sources"]) ? R"(["roots"])" : R"(["base"])");
}

/// A runner that always has the same return.
template <const char* json>
Result<Json> always(const MasterContext&, const BoundArguments&) {
  return Json::trusted(json);
}

constexpr char kTrue[] = "true";
constexpr char kEmptyList[] = "[]";
constexpr char kEmptyMap[] = "{}";
constexpr char kBar[] = R"("bar")";
constexpr char kNoCacheCleared[] = R"("No cache was cleared")";
constexpr char kNoLocksRemoved[] = R"("No locks were removed")";
constexpr char kNoLocksSet[] = R"("No locks were set")";

constexpr std::string_view kNoFiles = "List the files of an environment: none.";
constexpr std::string_view kNoCache = "Clear the caches of files: there are none.";
constexpr std::string_view kPresent = "List the minions.";
constexpr std::string_view kNoStates = "Show the states of an orchestration: none.";
constexpr std::string_view kNotPresent = "List the minions that are absent: none.";

// Several functions of Salt's `manage` have the same result here, because minions are always connected.
constexpr MasterFunction kRunners[] = {
    {"cache.grains(tgt, tgt_type='glob')", "Show the grains of minions.", data_of_minions<&Minion::grains>},
    {"cache.mine(tgt=None, tgt_type='glob')", "Show the mine data of minions, which is empty.", cached_mine},
    {"cache.pillar(tgt=None, tgt_type='glob')", "Show the pillar data of minions.",
     data_of_minions<&Minion::pillar>},
    {"doc.execution()", "Show the documentation of all execution functions.", doc_execution, false},
    {"doc.runner()", "Show the documentation of all runners.", doc_runner},
    {"doc.wheel()", "Show the documentation of all wheels.", doc_wheel},
    {"event.send(tag, data=None)", "Fire an event on the event bus.", send_event},
    {"fileserver.clear_cache(backend=None)", kNoCache, always<kNoCacheCleared>},
    {"fileserver.clear_file_list_cache(saltenv=None, backend=None)", kNoCache, always<kEmptyMap>},
    {"fileserver.clear_lock(backend=None, remote=None)", "Remove the locks of file servers: none.",
     always<kNoLocksRemoved>},
    {"fileserver.dir_list(saltenv='base', backend=None)", kNoFiles, always<kEmptyList>},
    {"fileserver.empty_dir_list(saltenv='base', backend=None)", kNoFiles, always<kEmptyList>},
    {"fileserver.envs(backend=None, sources=False)", "List the environments of the file server.", file_envs},
    {"fileserver.file_list(saltenv='base', backend=None)", kNoFiles, always<kEmptyList>},
    {"fileserver.lock(backend=None, remote=None)", "Set locks of file servers: none.", always<kNoLocksSet>},
    {"fileserver.symlink_list(saltenv='base', backend=None)", kNoFiles, always<kEmptyMap>},
    {"fileserver.update(backend=None, **kwargs)", "Update the files: there are none.", always<kTrue>},
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
    {"state.orch_show_sls(mods, saltenv='base', test=None, queue=False, pillar=None, pillarenv=None, "
     "pillar_enc=None)",
     kNoStates, orchestrate_show_sls},
    {"state.orchestrate_show_sls(mods, saltenv='base', test=None, queue=False, pillar=None, pillarenv=None, "
     "pillar_enc=None)",
     kNoStates, orchestrate_show_sls},
    {"test.arg(*args, **kwargs)", "Return the arguments, without keyword arguments that begin with '__'.",
     arg},
    {"test.get_opts()", "Refused: the configuration holds secrets.", get_opts},
    {"test.metasyntactic(locality='us')", "Return metasyntactic variables of a country, us or uk.",
     metasyntactic},
    {"test.raw_arg(*args, **kwargs)", "Return the arguments.", raw_arg},
    {"test.sleep(s_time=10)", "Sleep, then return True.", sleep, false},
    {"test.stdout_print()", "Return 'bar'.", always<kBar>},
};

}  // namespace

std::vector<std::string> texts_in(JsonValue value) {
  std::vector<std::string> texts;
  for (const JsonValue text : value.elements()) texts.push_back(text.python_str());
  if (value.is(JsonValue::Kind::array)) return texts;
  const std::string text = value.python_str();
  for (const std::string_view name : split_names(text)) texts.emplace_back(name);
  return texts;
}

bool takes_target(const BoundArguments& arguments) {
  const auto& names = arguments.parameters;
  return std::find(names.begin(), names.end(), "tgt") != names.end();
}

Result<lowstate::Target> target_of(const BoundArguments& arguments) {
  const JsonValue tgt = arguments["tgt"];
  const JsonValue tgt_type = arguments["tgt_type"];
  lowstate::Target target;
  if (!tgt_type.is(JsonValue::Kind::null)) {
    const auto type = lowstate::target_type_named(tgt_type.text());
    if (!type) {
      return Error{ErrorKind::invocation, format("unknown target type {}", tgt_type.python_repr())};
    }
    target.type = *type;
  }
  target.expression = tgt.is(JsonValue::Kind::null) ? "*" : tgt.text();
  if (tgt.is(JsonValue::Kind::array)) {
    for (const JsonValue id : tgt.elements()) target.list.push_back(id.text());
  } else if (!tgt.is(JsonValue::Kind::null) && !tgt.is(JsonValue::Kind::string)) {
    return Error{ErrorKind::invocation,
                 format("tgt: found {}, expected a string or a list of strings", tgt.type_name())};
  } else if (target.type == lowstate::TargetType::list) {
    target.list = split_names(target.expression);
  }
  return target;
}

MasterFunctions other_runners() {
  return kRunners;
}

bool MasterFunction::gets_keyword(std::string_view key, bool is_runner) const {
  if (!lowstate::is_client_key(key, is_runner)) return true;
  const Signature signature = parse_usage(usage);
  const auto& names = signature.parameters;
  return signature.takes_keywords || std::find(names.begin(), names.end(), key) != names.end();
}

Result<BoundArguments> MasterFunction::bind(const lowstate::MasterArguments& arguments) const {
  auto bound = python_bind(parse_usage(usage), arguments.args, arguments.kwargs);
  if (const Raised* raised = std::get_if<Raised>(&bound)) {
    return Error{ErrorKind::invocation, raised->message};
  }
  return std::get<BoundArguments>(std::move(bound));
}

const MasterFunction* find_runner(std::string_view name) {
  const MasterFunction* found = find_in(jobs_runners(), name);
  return found != nullptr ? found : find_in(other_runners(), name);
}

const MasterFunction* find_wheel(std::string_view name) {
  return find_in(wheels(), name);
}

}  // namespace rest_fcgi::embedded

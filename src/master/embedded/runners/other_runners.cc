// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "master/embedded/json_text.h"
#include "master/embedded/python/python.h"
#include "master/embedded/runners/master_function.h"
#include "master/embedded/target/target.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/version.h"

/// The runners cache, doc, manage and test.
namespace rest_fcgi::embedded {

namespace {

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
  return written_json([&](JsonWriter& writer) {
    writer.begin_object();
    for (const std::size_t position : selection->positions) {
      const Minion& minion = context.minions.all()[position];
      (minion.*data).root().write(writer.key(minion.id));
    }
    writer.end_object();
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
  return written_json([&by_name](JsonWriter& writer) {
    writer.begin_object();
    for (const auto& [name, function] : by_name) {
      writer.key(name).string(format("\n{}\n\nUsage:\n\n    {}\n", function->summary, function->usage));
    }
    writer.end_object();
  });
}

Result<Json> doc_runner(const MasterContext&, const Bound&) {
  return documentation({jobs_runners(), other_runners()});
}

Result<Json> doc_wheel(const MasterContext&, const Bound&) {
  return documentation({wheels()});
}

Result<Json> doc_execution(const MasterContext& context, const Bound&) {
  return written_json([&context](JsonWriter& writer) {
    writer.begin_object();
    for (const LoadedFunction* function : context.modules.all()) {
      writer.key(function->name()).string(function->doc());
    }
    writer.end_object();
  });
}

/// Minions of this process are always up.
Result<Json> up(const MasterContext& context, const Bound& arguments) {
  const Result<Selection> selection = selected(context, arguments);
  if (!selection) return selection.error();
  return written_json([&](JsonWriter& writer) {
    writer.begin_array();
    for (const std::size_t position : selection->positions) {
      writer.string(context.minions.all()[position].id);
    }
    writer.end_array();
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
Result<Json> present(const MasterContext& context, const Bound& arguments) {
  const auto subset = read_subset(arguments["subset"]);
  if (!subset) return subset.error();
  const bool show_ip = python_bool(arguments["show_ip"]);
  return written_json([&](JsonWriter& writer) {
    show_ip ? writer.begin_object() : writer.begin_array();
    for (const Minion& minion : context.minions.all()) {
      const bool wanted =
          !*subset || std::find((*subset)->begin(), (*subset)->end(), minion.id) != (*subset)->end();
      if (!wanted) continue;
      show_ip ? writer.key(minion.id).string("127.0.0.1") : writer.string(minion.id);
    }
    show_ip ? writer.end_object() : writer.end_array();
  });
}

Result<Json> not_present(const MasterContext&, const Bound& arguments) {
  const auto subset = read_subset(arguments["subset"]);
  if (!subset) return subset.error();
  return Json::trusted("[]");
}

/// Minions and master are the same program.
Result<Json> versions(const MasterContext& context, const Bound&) {
  return written_json([&context](JsonWriter& writer) {
    writer.begin_object().key("Master").string(kVersion).key("Up to date").begin_object();
    for (const Minion& minion : context.minions.all()) writer.key(minion.id).string(kVersion);
    writer.end_object().end_object();
  });
}

Json arguments_as_given(const Bound& arguments, bool with_private) {
  return written_json([&](JsonWriter& writer) {
    writer.begin_object().key("args").begin_array();
    for (const JsonValue& value : arguments.varargs) value.write(writer);
    writer.end_array().key("kwargs").begin_object();
    for (const auto& [key, value] : arguments.keywords) {
      if (with_private || !key.starts_with("__")) value.write(writer.key(key));
    }
    writer.end_object().end_object();
  });
}

Result<Json> arg(const MasterContext&, const Bound& arguments) {
  return arguments_as_given(arguments, false);
}

Result<Json> raw_arg(const MasterContext&, const Bound& arguments) {
  return arguments_as_given(arguments, true);
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
  std::mutex mutex;
  std::condition_variable_any nobody_notifies;
  std::unique_lock lock(mutex);
  nobody_notifies.wait_for(lock, context.stop, std::chrono::duration<double>(*wanted), [] { return false; });
  if (context.stop.stop_requested()) return Error{ErrorKind::unavailable, std::string(kTerminated)};
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

}  // namespace

MasterFunctions other_runners() {
  return kRunners;
}

}  // namespace rest_fcgi::embedded

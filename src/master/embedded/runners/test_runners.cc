// SPDX-License-Identifier: MIT
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "master/embedded/runners/master_function.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace {

enum class Private { hidden, shown };

Result<Json> write_arguments(const BoundArguments& arguments, Private keys) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("args").begin_array();
  for (const JsonValue& value : arguments.args) value.write(writer);
  writer.end_array().key("kwargs").begin_object();
  for (const auto& [key, value] : arguments.kwargs) {
    if (keys == Private::shown || !key.starts_with("__")) value.write(writer.key(key));
  }
  writer.end_object().end_object();
  return Json::trusted(std::move(text));
}

Result<Json> arg(const MasterContext&, const BoundArguments& arguments) {
  return write_arguments(arguments, Private::hidden);
}

Result<Json> raw_arg(const MasterContext&, const BoundArguments& arguments) {
  return write_arguments(arguments, Private::shown);
}

/// A server has no terminal to print on.
Result<Json> stdout_print(const MasterContext&, const BoundArguments&) {
  return Json::string("bar");
}

Result<Json> metasyntactic(const MasterContext&, const BoundArguments& arguments) {
  const JsonValue locality = arguments.values[0];
  if (locality.is(JsonValue::Kind::null) || locality.text() == "us") {
    return Json::trusted(
        R"(["foo", "bar", "baz", "qux", "quux", "quuz", "corge", "grault", "garply", "waldo", "fred", "plugh", )"
        R"("xyzzy", "thud"])");
  }
  if (locality.text() == "uk") return Json::trusted(R"(["wibble", "wobble", "wubble", "flob"])");
  return Json();
}

Result<Json> get_opts(const MasterContext&, const BoundArguments&) {
  return Error{
      ErrorKind::invocation,
      "the configuration holds secrets and is not shown; the wheel config.values shows what is none"};
}

Result<Json> sleep(const MasterContext& context, const BoundArguments& arguments) {
  constexpr double kDefault = 10;
  constexpr double kLongest = 86'400;
  const JsonValue seconds = arguments.values[0];
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

constexpr std::array<MasterFunction, 6> kFunctions = {{
    {.name = "test.arg",
     .usage = "test.arg(*args, **kwargs)",
     .summary = "Return the arguments, without keyword arguments that begin with '__'.",
     .any_arguments = true,
     .run = arg},
    {.name = "test.get_opts",
     .usage = "test.get_opts()",
     .summary = "Refused: the configuration holds secrets.",
     .run = get_opts},
    {.name = "test.metasyntactic",
     .usage = "test.metasyntactic(locality='us')",
     .summary = "Return metasyntactic variables of a place, us or uk.",
     .parameters = {{{"locality"}}},
     .run = metasyntactic},
    {.name = "test.raw_arg",
     .usage = "test.raw_arg(*args, **kwargs)",
     .summary = "Return the arguments.",
     .any_arguments = true,
     .run = raw_arg},
    {.name = "test.sleep",
     .usage = "test.sleep(s_time=10)",
     .summary = "Sleep, then return True.",
     .parameters = {{{"s_time"}}},
     .quick = false,
     .run = sleep},
    {.name = "test.stdout_print",
     .usage = "test.stdout_print()",
     .summary = "Return 'bar'. There is no terminal to print on.",
     .run = stdout_print},
}};

}  // namespace

MasterFunctions test_runners() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded

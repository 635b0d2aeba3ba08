// SPDX-License-Identifier: MIT
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "master/embedded/master_function.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace {

Result<Json> arg(const MasterContext&, const BoundArguments& arguments) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("args").begin_array();
  for (const JsonValue& value : arguments.args) value.write(writer);
  writer.end_array().key("kwargs").begin_object();
  for (const auto& [key, value] : arguments.kwargs) {
    if (!key.starts_with("__")) value.write(writer.key(key));
  }
  writer.end_object().end_object();
  return Json::trusted(std::move(text));
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
  if (context.stop.stop_requested()) return Error{ErrorKind::unavailable, std::string(kInterrupted)};
  return Json::boolean(true);
}

constexpr std::array<MasterFunction, 2> kFunctions = {{
    {.name = "test.arg",
     .usage = "test.arg(*args, **kwargs)",
     .parameters = {},
     .any_arguments = true,
     .run = arg},
    {.name = "test.sleep",
     .usage = "test.sleep(s_time=10)",
     .parameters = {{{"s_time"}}},
     .quick = false,
     .run = sleep},
}};

}  // namespace

std::span<const MasterFunction> test_runners() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded

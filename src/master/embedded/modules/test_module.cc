// SPDX-License-Identifier: MIT
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gnu/libc-version.h>

#include "master/embedded/modules/native.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/version.h"

namespace rest_fcgi::embedded {
namespace test_module {
namespace {

/// Writes the keyword arguments as one object, each value by `show`.
template <class Show>
void write_keywords(JsonWriter& writer, const Call& call, bool clean, const Show& show) {
  writer.begin_object();
  for (const JsonMember& member : call.keywords) {
    if (clean && member.key.starts_with("__")) continue;
    writer.key(member.key);
    show(writer, member.value);
  }
  writer.end_object();
}

/// `{"args": ..., "kwargs": ...}`, each value by `show`.
template <class Show>
Reply show_arguments(const Call& call, bool clean, const Show& show) {
  return written([&](JsonWriter& writer) {
    writer.begin_object().key("args").begin_array();
    for (const JsonValue& value : call.varargs) show(writer, value);
    writer.end_array().key("kwargs");
    write_keywords(writer, call, clean, show);
    writer.end_object();
  });
}

void show_value(JsonWriter& writer, const JsonValue& value) {
  value.write(writer);
}

/// A string in the quotes and with the escapes that Python's `repr` chooses.
std::string python_repr_of_key(std::string_view key) {
  return own_document(Json::string(key)).root().python_repr();
}

Reply true_(const Call&) {
  return Returned{Json::boolean(true)};
}

Reply false_(const Call&) {
  return Returned{Json::boolean(false)};
}

Reply echo(const Call& call) {
  return Returned{call["text"].json()};
}

Reply arg(const Call& call) {
  return show_arguments(call, false, show_value);
}

Reply arg_clean(const Call& call) {
  return show_arguments(call, true, show_value);
}

Reply arg_type(const Call& call) {
  return show_arguments(
      call, false, [](JsonWriter& writer, const JsonValue& value) { writer.string(python_type(value)); });
}

Reply arg_repr(const Call& call) {
  std::string args;
  for (const JsonValue& value : call.varargs) args += (args.empty() ? "" : ", ") + value.python_repr();
  if (call.varargs.size() == 1) args += ',';
  std::string keywords;
  for (const JsonMember& member : call.keywords) {
    if (!keywords.empty()) keywords += ", ";
    keywords += python_repr_of_key(member.key) + ": " + member.value.python_repr();
  }
  return written([&](JsonWriter& writer) {
    writer.begin_object();
    writer.key("args").string("(" + args + ")").key("kwargs").string("{" + keywords + "}");
    writer.end_object();
  });
}

Reply kwarg(const Call& call) {
  return written([&call](JsonWriter& writer) { write_keywords(writer, call, false, show_value); });
}

Reply retcode(const Call& call) {
  const WholeNumber code = python_int(call["code"]);
  if (const auto* raised = std::get_if<Raised>(&code)) return *raised;
  constexpr std::int64_t least = std::numeric_limits<int>::min();
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return Returned{Json::boolean(true),
                  static_cast<int>(std::clamp(std::get<std::int64_t>(code), least, most))};
}

constexpr std::int64_t kPythonMaximum = 9'223'372'036;        // seconds; what Python's `time.sleep` takes
constexpr std::int64_t kClockMaximum = 100LL * 365 * 86'400;  // more would overflow the steady clock

Reply sleep_for(std::int64_t seconds, const std::stop_token& stop) {
  if (seconds < 0) return Raised::value_error("sleep length must be non-negative");
  if (seconds > kPythonMaximum) {
    return Raised{Raised::Kind::exception, "OverflowError", "timestamp too large to convert to C _PyTime_t"};
  }
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, std::chrono::seconds(std::min(seconds, kClockMaximum)), [] { return false; });
  if (stop.stop_requested()) return terminated();
  return Returned{Json::boolean(true)};
}

Reply sleep(const Call& call) {
  const WholeNumber length = python_int(call["length"]);
  if (const auto* raised = std::get_if<Raised>(&length)) return *raised;
  return sleep_for(std::get<std::int64_t>(length), call.context.stop);
}

Reply rand_sleep(const Call& call) {
  const WholeNumber max = python_randint_bound(call["max"]);
  if (const auto* raised = std::get_if<Raised>(&max)) return *raised;
  std::random_device source;
  std::uniform_int_distribution<std::int64_t> seconds(0, std::get<std::int64_t>(max));
  return sleep_for(seconds(source), call.context.stop);
}

Reply assertion(const Call& call) {
  if (python_bool(call["assertion"])) return Returned{};
  return Raised{Raised::Kind::exception, "AssertionError", ""};
}

Reply exception(const Call& call) {
  return Raised{Raised::Kind::exception, "Exception", call["message"].python_str()};
}

struct Section {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string>> versions;
};

std::vector<Section> sections() {
  utsname system{};
  uname(&system);
  const int fmt_version = FMT_VERSION;
  const std::string fmt =
      format("{}.{}.{}", fmt_version / 10'000, fmt_version / 100 % 100, fmt_version % 100);
  return {{"rest_fcgi Version", {{"rest_fcgi", std::string(kVersion)}}},
          {"Dependency Versions",
           {{"compiler", __VERSION__},
            {"fmt", fmt},
            {"glibc", gnu_get_libc_version()},
            {"libstdc++", std::to_string(_GLIBCXX_RELEASE)}}},
          {"System Versions",
           {{"machine", system.machine},
            {"release", system.release},
            {"system", system.sysname},
            {"version", system.version}}}};
}

Reply version(const Call&) {
  return Returned{Json::string(kVersion)};
}

Reply versions_information(const Call&) {
  return written([](JsonWriter& writer) {
    writer.begin_object();
    for (const Section& section : sections()) {
      writer.key(section.name).begin_object();
      for (const auto& [name, number] : section.versions) writer.key(name).string(number);
      writer.end_object();
    }
    writer.end_object();
  });
}

Reply versions_report(const Call&) {
  std::string report;
  for (const Section& section : sections()) {
    if (!report.empty()) report += '\n';
    report += format("{}:\n", section.name);
    for (const auto& [name, number] : section.versions) report += format("{:>14}: {}\n", name, number);
    report += ' ';
  }
  return Returned{Json::string(report)};
}

constexpr Function kFunctions[] = {
    {"test.ping()", "Return ``True``: the minion is there. No ICMP is involved.", "test.ping", true_},
    {"test.true_()", "Return ``True``.", "test.true", true_},
    {"test.false_()", "Return ``False``, which is no failure.", "test.false", false_},
    {"test.echo(text)", "Return what was given.", "test.echo 'foo bar baz'", echo},
    {"test.arg(*args, **kwargs)", "Return all arguments, and what the function is told about its job.",
     "test.arg 1 two 3.1 txt=hello wow='{a: 1, b: hello}'", arg},
    {"test.arg_clean(*args, **kwargs)",
     "Return all arguments, without what the function is told about its job.",
     "test.arg_clean 1 two txt=hello", arg_clean},
    {"test.arg_repr(*args, **kwargs)", "Return all arguments as Python would write them.",
     "test.arg_repr 1 two txt=hello", arg_repr},
    {"test.arg_type(*args, **kwargs)", "Return the Python types of all arguments.", "test.arg_type 1 two",
     arg_type},
    {"test.kwarg(**kwargs)", "Return the keyword arguments, and what the function is told about its job.",
     "test.kwarg num=1 txt=two env='{a: 1, b: hello}'", kwarg},
    {"test.retcode(code=42)", "Return ``True`` with the return code ``code``. Any but 0 is a failure.",
     "test.retcode 42", retcode},
    {"test.sleep(length)", "Sleep for ``length`` seconds, then return ``True``.", "test.sleep 20", sleep,
     false},
    {"test.rand_sleep(max=60)",
     "Sleep for a random number of seconds, at most ``max``, then return ``True``.", "test.rand_sleep 60",
     rand_sleep, false},
    {"test.assertion(assertion)", "Raise an ``AssertionError`` unless the argument is true.",
     "test.assertion False", assertion},
    {"test.exception(message='Test Exception')", "Raise an exception with this message.",
     "test.exception 'Oh noes!'", exception},
    {"test.version()", "Return the version of rest_fcgi, whose minion this is.", "test.version", version},
    {"test.versions = versions_report()", "The same as ``test.versions_report``.", "test.versions",
     versions_report},
    {"test.versions_information()",
     "Return the versions of rest_fcgi, of what it is built with, and of the system.",
     "test.versions_information", versions_information},
    {"test.versions_report()", "Return the versions of ``test.versions_information`` as a text to read.",
     "test.versions_report", versions_report},
};

}  // namespace
}  // namespace test_module

std::span<const Function> test_functions() {
  return test_module::kFunctions;
}

}  // namespace rest_fcgi::embedded

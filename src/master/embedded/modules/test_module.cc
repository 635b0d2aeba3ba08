// SPDX-License-Identifier: MIT
#include <sys/random.h>
#include <sys/utsname.h>

#include <limits>

#include <gnu/libc-version.h>

#include "master/embedded/host/grains.h"
#include "master/embedded/modules/native.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/version.h"

namespace rest_fcgi::embedded {
namespace test_module {
namespace {

Reply show_arguments(const std::vector<JsonValue>& args, const std::vector<JsonMember>& kwargs) {
  return Returned{
      written_object([&](JsonWriter& writer) { write_arguments(writer, "args", args, "kwargs", kwargs); })};
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
  return show_arguments(call.varargs, call.keywords);
}

Reply arg_clean(const Call& call) {
  std::vector<JsonMember> keywords = call.keywords;
  std::erase_if(keywords, [](const JsonMember& member) { return member.key.starts_with("__"); });
  return show_arguments(call.varargs, keywords);
}

Reply arg_type(const Call& call) {
  const auto type = [](const JsonValue& value) { return format("<class '{}'>", value.type_name()); };
  return Returned{written_object([&](JsonWriter& writer) {
    writer.key("args").begin_array();
    for (const JsonValue& value : call.varargs) writer.string(type(value));
    writer.end_array().key("kwargs").begin_object();
    for (const auto& [key, value] : call.keywords) writer.key(key).string(type(value));
    writer.end_object();
  })};
}

Reply arg_repr(const Call& call) {
  std::vector<std::string> args;
  for (const JsonValue& value : call.varargs) args.push_back(value.python_repr());
  std::vector<std::string> keywords;
  for (const auto& [key, value] : call.keywords) {
    keywords.push_back(python_repr(key) + ": " + value.python_repr());
  }
  return Returned{written_object([&](JsonWriter& writer) {
    writer.key("args").string(format("({}{})", joined(args), args.size() == 1 ? "," : ""));
    writer.key("kwargs").string(format("{{{}}}", joined(keywords)));
  })};
}

Reply kwarg(const Call& call) {
  return Returned{written_object([&call](JsonWriter& writer) {
    for (const auto& [key, value] : call.keywords) value.write(writer.key(key));
  })};
}

Reply retcode(const Call& call) {
  const WholeNumber code = python_int(call["code"]);
  if (const auto* raised = std::get_if<Raised>(&code)) return *raised;
  constexpr std::int64_t least = std::numeric_limits<int>::min();
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return Returned{Json::boolean(true),
                  static_cast<int>(std::clamp(std::get<std::int64_t>(code), least, most))};
}

// The longest sleep in seconds. A longer time may overflow the steady clock.
constexpr std::int64_t kLongestSleep = 100LL * 365 * 86'400;

WholeNumber read_seconds(std::string_view name, const JsonValue& value) {
  const WholeNumber number = python_int(value);
  const auto* seconds = std::get_if<std::int64_t>(&number);
  if (seconds != nullptr && *seconds >= 0) return std::min(*seconds, kLongestSleep);
  return Raised::invocation_error(
      format("{} must be a number of seconds from 0 on, found {}", name, value.python_repr()));
}

Reply sleep_for(std::int64_t seconds, const std::stop_token& stop) {
  if (!pause(std::chrono::seconds(seconds), stop)) return terminated();
  return Returned{Json::boolean(true)};
}

Reply sleep(const Call& call) {
  const WholeNumber length = read_seconds("length", call["length"]);
  if (const auto* raised = std::get_if<Raised>(&length)) return *raised;
  return sleep_for(std::get<std::int64_t>(length), call.context.stop);
}

Reply rand_sleep(const Call& call) {
  const WholeNumber max = read_seconds("max", call["max"]);
  if (const auto* raised = std::get_if<Raised>(&max)) return *raised;
  std::uint32_t any = 0;
  [[maybe_unused]] const ssize_t got = ::getrandom(&any, sizeof any, 0);
  return sleep_for(any % (std::get<std::int64_t>(max) + 1), call.context.stop);
}

Reply assertion(const Call& call) {
  if (python_bool(call["assertion"])) return Returned{};
  return Raised{Raised::Kind::exception, "AssertionError", ""};
}

Reply exception(const Call& call) {
  return Raised{Raised::Kind::exception, "Exception", call["message"].python_str()};
}

Json versions() {
  utsname system{};
  uname(&system);
  const int fmt = FMT_VERSION;
  return written_object([&](JsonWriter& writer) {
    writer.key("rest_fcgi Version").begin_object().key("rest_fcgi").string(kVersion).end_object();
    writer.key("Salt Version").begin_object().key("Salt").string(kSaltVersion).end_object();
    writer.key("Dependency Versions").begin_object().key("compiler").string(__VERSION__);
    writer.key("fmt").string(format("{}.{}.{}", fmt / 10'000, fmt / 100 % 100, fmt % 100));
    writer.key("glibc").string(gnu_get_libc_version());
    writer.key("libstdc++").string(std::to_string(_GLIBCXX_RELEASE)).end_object();
    writer.key("System Versions").begin_object().key("machine").string(system.machine);
    writer.key("release").string(system.release).key("system").string(system.sysname);
    writer.key("version").string(system.version).end_object();
  });
}

Reply providers(const Call& call) {
  return Returned{written_object([&call](JsonWriter& writer) {
    std::set<std::string_view> modules;
    for (const LoadedFunction* function : call.context.engine.modules.all())
      modules.insert(function->module());
    for (const std::string_view module : modules) writer.key(module).string(module);
  })};
}

Reply version(const Call&) {
  return Returned{Json::string(kSaltVersion)};
}

Reply versions_information(const Call&) {
  return Returned{versions()};
}

Reply versions_report(const Call&) {
  const JsonDocument all = own_document(versions());
  std::string report;
  for (const auto& [section, members] : all.root().members()) {
    report += format("{}{}:\n", report.empty() ? "" : "\n", section);
    for (const auto& [name, number] : members.members()) {
      report += format("{:>14}: {}\n", name, number.text());
    }
    report += ' ';
  }
  return Returned{Json::string(report)};
}

constexpr Function kFunctions[] = {
    {"test.ping()", "Return ``True``: the minion is there. No ICMP is involved.", true_},
    {"test.true_()", "Return ``True``.", true_},
    {"test.false_()", "Return ``False``. The return is not a failure.", false_},
    {"test.echo(text)", "Return the argument.", echo, "'foo bar baz'"},
    {"test.arg(*args, **kwargs)", "Return all arguments, and Salt's information about the job.", arg,
     "1 two 3.1 txt=hello wow='{a: 1, b: hello}'"},
    {"test.arg_clean(*args, **kwargs)", "Return all arguments, without Salt's information about the job.",
     arg_clean, "1 two txt=hello"},
    {"test.arg_repr(*args, **kwargs)", "Return all arguments as Python would write them.", arg_repr,
     "1 two txt=hello"},
    {"test.arg_type(*args, **kwargs)", "Return the Python types of all arguments.", arg_type, "1 two"},
    {"test.kwarg(**kwargs)", "Return the keyword arguments, and Salt's information about the job.", kwarg,
     "num=1 txt=two env='{a: 1, b: hello}'"},
    {"test.retcode(code=42)",
     "Return ``True`` with the return code ``code``. Every code except 0 is a failure.", retcode, "42"},
    {"test.sleep(length)", "Sleep for ``length`` seconds, then return ``True``.", sleep, "20", false},
    {"test.rand_sleep(max=60)",
     "Sleep for a random number of seconds, at most ``max``, then return ``True``.", rand_sleep, "60", false},
    {"test.assertion(assertion)", "Raise an ``AssertionError`` unless the argument is true.", assertion,
     "False"},
    {"test.exception(message='Test Exception')", "Raise an exception with this message.", exception,
     "'Oh noes!'"},
    {"test.providers()", "Return the names of the modules, as a map from each name to itself.", providers, "",
     false},
    {"test.version()", "Return the release of Salt whose behaviour this minion has.", version},
    {"test.versions = versions_report()", "The same as ``test.versions_report``.", versions_report},
    {"test.versions_information()",
     "Return the release of Salt whose behaviour this minion has, and the versions of rest_fcgi, of its\n"
     "libraries, and of the system.",
     versions_information},
    {"test.versions_report()", "Return the versions of ``test.versions_information`` as a text to read.",
     versions_report},
};

}  // namespace
}  // namespace test_module

std::span<const Function> test_functions() {
  return test_module::kFunctions;
}

}  // namespace rest_fcgi::embedded

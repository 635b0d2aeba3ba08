// SPDX-License-Identifier: MIT
#include <sys/utsname.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gnu/libc-version.h>

#include "master/embedded/modules/loader.h"
#include "master/embedded/modules/test_module.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/version.h"

namespace rest_fcgi::embedded::test_module {
namespace {

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

/// What Salt calls the file behind a module.
std::string_view provider_of(std::string_view module) {
  return module == "sys" ? "sysmod" : module;
}

/// The modules that have functions, sorted.
std::vector<std::string_view> modules_of(const Call& call) {
  std::vector<std::string_view> names;
  for (const LoadedFunction& function : call.context.engine.modules.all()) {
    if (names.empty() || names.back() != function.module()) names.push_back(function.module());
  }
  return names;
}

void write_names(JsonWriter& writer, std::string_view key, const std::vector<std::string_view>& names) {
  writer.key(key).begin_array();
  for (const std::string_view name : names) writer.string(name);
  writer.end_array();
}

}  // namespace

Reply module_report(const Call& call) {
  std::vector<std::string_view> functions;
  for (const LoadedFunction& function : call.context.engine.modules.all())
    functions.push_back(function.name());
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const std::string_view key : {"functions", "function_attrs", "function_subs"}) {
    write_names(writer, key, functions);
  }
  for (const std::string_view key : {"modules", "module_attrs"}) write_names(writer, key, modules_of(call));
  for (const std::string_view key : {"missing_attrs", "missing_subs"}) write_names(writer, key, {});
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

Reply not_loaded(const Call&) {
  return Returned{Json::trusted("[]")};
}

Reply provider(const Call& call) {
  const std::vector<std::string_view> known = modules_of(call);
  const JsonValue& module = call.arguments[0];
  const bool found = module.is(JsonValue::Kind::string) &&
                     std::find(known.begin(), known.end(), module.text()) != known.end();
  return Returned{Json::string(found ? provider_of(module.text()) : "")};
}

Reply providers(const Call& call) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const std::string_view module : modules_of(call)) writer.key(provider_of(module)).string(module);
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

Reply version(const Call&) {
  return Returned{Json::string(kVersion)};
}

Reply versions_information(const Call&) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const Section& section : sections()) {
    writer.key(section.name).begin_object();
    for (const auto& [name, number] : section.versions) writer.key(name).string(number);
    writer.end_object();
  }
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
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

}  // namespace rest_fcgi::embedded::test_module

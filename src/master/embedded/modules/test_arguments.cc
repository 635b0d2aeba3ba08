// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "master/embedded/modules/test_module.h"
#include "master/embedded/python/python.h"

namespace rest_fcgi::embedded::test_module {
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
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("args").begin_array();
  for (const JsonValue& value : call.varargs) show(writer, value);
  writer.end_array().key("kwargs");
  write_keywords(writer, call, clean, show);
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

void show_value(JsonWriter& writer, const JsonValue& value) {
  value.write(writer);
}

/// A string in the quotes and with the escapes that Python's `repr` chooses.
std::string python_repr_of_key(std::string_view key) {
  JsonDocument document;
  return document.parse(Json::string(key).text()) ? document.root().python_repr() : std::string(key);
}

}  // namespace

Reply ping(const Call&) {
  return Returned{Json::boolean(true)};
}

Reply true_(const Call&) {
  return Returned{Json::boolean(true)};
}

Reply false_(const Call&) {
  return Returned{Json::boolean(false)};
}

Reply echo(const Call& call) {
  return Returned{call.arguments[0].json()};
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
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.key("args").string("(" + args + ")").key("kwargs").string("{" + keywords + "}");
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

Reply kwarg(const Call& call) {
  std::string text;
  JsonWriter writer(text);
  write_keywords(writer, call, false, show_value);
  return Returned{Json::trusted(std::move(text))};
}

Reply retcode(const Call& call) {
  const WholeNumber code = python_int(call.arguments[0]);
  if (const auto* raised = std::get_if<Raised>(&code)) return *raised;
  constexpr std::int64_t least = std::numeric_limits<int>::min();
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return Returned{Json::boolean(true),
                  static_cast<int>(std::clamp(std::get<std::int64_t>(code), least, most))};
}

}  // namespace rest_fcgi::embedded::test_module

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "lowstate/chunk_reader.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/lowstate/master_arguments.h"

namespace rest_fcgi::lowstate {
namespace {

constexpr std::size_t kMaxName = 255;
constexpr std::string_view kKwargMarker = "__kwarg__";
constexpr std::size_t kMaxKeywordTexts = 10000;

bool is_keyword_arguments(JsonValue value) {
  const auto marker = value.find(kKwargMarker);
  return marker && marker->is(JsonValue::Kind::boolean) && marker->boolean();
}

std::string_view read_function_name(ChunkReader& reader, JsonValue fun) {
  if (!fun.is(JsonValue::Kind::string)) {
    reader.refuse("fun", "the name of a function", fun);
  } else if (fun.text().empty()) {
    reader.report("'fun' is empty; it must be the name of a function.");
  } else if (fun.text().size() > kMaxName) {
    reader.report(
        format("'fun' has {} bytes; the name of a function has at most {}.", fun.text().size(), kMaxName));
  }
  return fun.text();
}

using Members = std::vector<JsonMember>;

/// Refuses texts `name=value` whose value has a YAML alias. If `as_command_line` is true, refuses all texts
/// with an alias or with a value that JSON cannot represent.
void check_yaml(ChunkReader& reader, const Function& function, bool as_command_line) {
  if (function.args.size() > kMaxKeywordTexts) {
    const auto is_keyword = [](JsonValue arg) {
      return arg.is(JsonValue::Kind::string) && split_keyword(arg.text()).has_value();
    };
    const auto found = std::count_if(function.args.begin(), function.args.end(), is_keyword);
    if (static_cast<std::size_t>(found) > kMaxKeywordTexts) {
      reader.report(format("'arg' has {} strings of the form name=value; at most {} are accepted.", found,
                           kMaxKeywordTexts));
    }
  }
  for (const JsonValue arg : function.args) {
    const std::string_view text = arg.is(JsonValue::Kind::string) ? arg.text() : std::string_view();
    const bool may_have_alias =
        text.find('*') != std::string_view::npos && text.find('&') != std::string_view::npos;
    if (!may_have_alias && !as_command_line) continue;
    const auto keyword = split_keyword(text);
    if (!keyword && !as_command_line) continue;
    const Result<Json> value = yamlify_scalar(keyword ? keyword->second : text);
    if (value) continue;
    reader.report(format("'arg' has a string that cannot be read as YAML{}: {}",
                         keyword ? format(", the value of '{}'", keyword->first) : "",
                         value.error().message));
  }
}

/// An object with `"__kwarg__": true` has keyword arguments, as in Salt's messages.
void read_arguments(std::optional<JsonValue> arg, std::vector<JsonValue>& args, Members& kwargs) {
  if (!arg) return;
  const auto add = [&](JsonValue value) {
    if (!is_keyword_arguments(value)) {
      args.push_back(value);
      return;
    }
    for (const JsonMember member : value.members()) {
      if (member.key != kKwargMarker) kwargs.push_back(member);
    }
  };
  if (!arg->is(JsonValue::Kind::array)) {
    add(*arg);
    return;
  }
  args.reserve(arg->size());
  for (const JsonValue value : arg->elements()) add(value);
}

constexpr std::size_t kMaxFunctions = 100;

/// The prefix of keyword arguments that minions add, such as `__pub_jid`. Callers cannot set these arguments.
constexpr std::string_view kReservedPrefix = "__pub_";

/// If keyword arguments have equal names, keeps the last value.
void set_kwargs(ChunkReader& reader, const Members& kwargs, Function& function) {
  function.kwargs = merge_equal_keys(kwargs);
  for (const JsonMember& member : function.kwargs) {
    if (member.key.substr(0, kReservedPrefix.size()) != kReservedPrefix) continue;
    reader.report(
        format("the keyword argument {} is refused; names that begin with '{}' are reserved for Salt.",
               quoted_excerpt(member.key), kReservedPrefix));
  }
}

void read_one(ChunkReader& reader, JsonValue fun, Function& function) {
  function.name = read_function_name(reader, fun);
  Members kwargs;
  read_arguments(reader.find("arg"), function.args, kwargs);
  if (const auto object = reader.object("kwarg")) {
    for (const JsonMember member : object->members()) {
      if (member.key != kKwargMarker) kwargs.push_back(member);
    }
  }
  set_kwargs(reader, kwargs, function);
  check_yaml(reader, function, false);
}

void assign_arguments(ChunkReader& reader, std::vector<Function>& functions) {
  const auto arg = reader.find("arg");
  if (!arg) return;
  if (!arg->is(JsonValue::Kind::array)) {
    reader.refuse("arg", "a list with one list of arguments for each function in 'fun'", *arg);
    return;
  }
  if (arg->size() != functions.size()) {
    reader.report(
        format("'arg' must hold one list of arguments for each function in 'fun'; found {} for {} functions.",
               arg->size(), functions.size()));
    return;
  }
  auto function = functions.begin();
  for (const JsonValue list : arg->elements()) {
    if (!list.is(JsonValue::Kind::array))
      reader.refuse("arg", "a list of lists, since 'fun' is a list", list);
    Members kwargs;
    read_arguments(list, function->args, kwargs);
    set_kwargs(reader, kwargs, *function);
    check_yaml(reader, *function++, false);
  }
}

void read_compound(ChunkReader& reader, JsonValue fun, LocalCall& call) {
  call.compound = true;
  if (fun.size() == 0) reader.report("'fun' is an empty list; it must name at least one function.");
  if (fun.size() > kMaxFunctions) {
    reader.report(format("'fun' names {} functions; at most {} are accepted.", fun.size(), kMaxFunctions));
    return;
  }
  for (const JsonValue name : fun.elements())
    call.functions.push_back({read_function_name(reader, name), {}, {}});
  assign_arguments(reader, call.functions);
  const auto kwarg = reader.object("kwarg");
  if (kwarg && kwarg->size() != 0) {
    reader.report(
        "'kwarg' does not say which of the functions in 'fun' it is for; put an object with "
        "\"__kwarg__\": true at the end of that function's list in 'arg'.");
  }
}

/// The keys of a chunk that are no keyword arguments, because Salt's runner client and wheel client read
/// them.
constexpr std::array<std::string_view, 12> kOwnKeys{"client", "fun",      "arg",      "kwarg",
                                                    "eauth",  "username", "password", "token",
                                                    "user",   "key",      "timeout",  "full_return"};

/// Refuses a name with two leading underscores, because Salt itself sets such arguments, for example
/// `__user__`.
void add_kwarg(ChunkReader& reader, JsonMember member, Members& kwargs) {
  if (member.key.substr(0, 2) == "__") {
    reader.report(format("the key {} is refused; keys that begin with '__' are reserved for Salt.",
                         quoted_excerpt(member.key)));
  }
  kwargs.push_back(member);
}

}  // namespace

void read_functions(ChunkReader& reader, Client client, LocalCall& call) {
  const auto fun = reader.find_nonnull("fun");
  if (!fun) {
    reader.report(format("'fun' is missing; a {} chunk needs 'client', 'tgt' and 'fun'.", name_of(client)));
  } else if (fun->is(JsonValue::Kind::array)) {
    read_compound(reader, *fun, call);
  } else {
    read_one(reader, *fun, call.functions.emplace_back());
  }
}

void read_master_function(ChunkReader& reader, Client client, Function& function) {
  const auto fun = reader.find_nonnull("fun");
  if (!fun) {
    reader.report(format("'fun' is missing; a {} chunk needs 'client' and 'fun'.", name_of(client)));
    return;
  }
  function.name = read_function_name(reader, *fun);
  Members from_arg;
  read_arguments(reader.find("arg"), function.args, from_arg);
  Members kwargs;
  for (const JsonMember& member : merge_equal_keys(from_arg)) add_kwarg(reader, member, kwargs);
  if (const auto object = reader.object("kwarg")) {
    for (const JsonMember member : object->members()) {
      if (member.key != kKwargMarker) add_kwarg(reader, member, kwargs);
    }
  }
  for (const JsonMember member : reader.chunk().members()) {
    const bool is_own = std::find(kOwnKeys.begin(), kOwnKeys.end(), member.key) != kOwnKeys.end();
    if (!is_own) add_kwarg(reader, member, kwargs);
  }
  function.kwargs = merge_equal_keys(kwargs);
  if (client == Client::runner || client == Client::runner_async) check_yaml(reader, function, true);
}

}  // namespace rest_fcgi::lowstate

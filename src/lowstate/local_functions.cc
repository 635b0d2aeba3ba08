// SPDX-License-Identifier: MIT
#include <utility>

#include "lowstate/arguments.h"
#include "lowstate/function_name.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::lowstate {
namespace {

constexpr std::size_t kMaxFunctions = 100;  // in one compound call

/// What a minion is told about its job arrives as keyword arguments of these names; nobody else may claim
/// them.
constexpr std::string_view kPublished = "__pub_";

/// Hands over `kwargs`, once they are known to be harmless.
void set_kwargs(ChunkReader& reader, KeywordArguments kwargs, Function& function) {
  function.kwargs = std::move(kwargs).take();
  for (const JsonMember& member : function.kwargs) {
    if (member.key.substr(0, kPublished.size()) != kPublished) continue;
    reader.complain(
        format("the keyword argument {} is refused; names that begin with '{}' are for Salt itself.",
               quoted(member.key), kPublished));
  }
}

void read_one(ChunkReader& reader, JsonValue fun, Function& function) {
  function.name = read_function_name(reader, fun);
  KeywordArguments kwargs;
  read_arguments(reader.find("arg"), function.args, kwargs);
  if (const auto object = reader.object("kwarg")) {
    for (const JsonMember member : object->members()) {
      if (member.key != "__kwarg__") kwargs.add(member);
    }
  }
  set_kwargs(reader, std::move(kwargs), function);
}

/// Gives each function the list that stands at its place in `arg`.
void deal_arguments(ChunkReader& reader, std::vector<Function>& functions) {
  const auto arg = reader.find("arg");
  if (!arg || (arg->is(JsonValue::Kind::string) && arg->text().empty())) return;
  if (!arg->is(JsonValue::Kind::array)) {
    reader.refuse("arg", "a list with one list of arguments for each function in 'fun'", *arg);
    return;
  }
  if (arg->size() == 0) return;
  if (arg->size() != functions.size()) {
    reader.complain(
        format("'arg' must hold one list of arguments for each function in 'fun'; found {} for {} functions.",
               arg->size(), functions.size()));
    return;
  }
  auto function = functions.begin();
  for (const JsonValue list : arg->elements()) {
    if (!list.is(JsonValue::Kind::array))
      reader.refuse("arg", "a list of lists, since 'fun' is a list", list);
    KeywordArguments kwargs;
    read_arguments(list, function->args, kwargs);
    set_kwargs(reader, std::move(kwargs), *function++);
  }
}

void read_compound(ChunkReader& reader, JsonValue fun, LocalCall& call) {
  call.compound = true;
  if (fun.size() == 0) reader.complain("'fun' is an empty list; it must name at least one function.");
  if (fun.size() > kMaxFunctions) {
    reader.complain(format("'fun' names {} functions; at most {} are accepted.", fun.size(), kMaxFunctions));
    return;
  }
  for (const JsonValue name : fun.elements())
    call.functions.push_back({read_function_name(reader, name), {}, {}});
  deal_arguments(reader, call.functions);
  const auto kwarg = reader.object("kwarg");
  if (kwarg && kwarg->size() != 0) {
    reader.complain(
        "'kwarg' does not say which of the functions in 'fun' it is for; put an object with "
        "\"__kwarg__\": true at the end of that function's list in 'arg'.");
  }
}

}  // namespace

void read_functions(ChunkReader& reader, Client client, LocalCall& call) {
  const auto fun = reader.find("fun");
  if (!fun) {
    reader.complain(format("'fun' is missing; a {} chunk needs 'client', 'tgt' and 'fun'.", name_of(client)));
  } else if (fun->is(JsonValue::Kind::array)) {
    read_compound(reader, *fun, call);
  } else {
    read_one(reader, *fun, call.functions.emplace_back());
  }
}

}  // namespace rest_fcgi::lowstate

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <utility>

#include "lowstate/arguments.h"
#include "lowstate/function_name.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::lowstate {
namespace {

/// Keys that mean something to Salt's client, or that it drops; all others are keyword arguments.
constexpr std::array<std::string_view, 12> kOwnKeys{"client", "fun",      "arg",      "kwarg",
                                                    "eauth",  "username", "password", "token",
                                                    "user",   "key",      "timeout",  "full_return"};

bool is_own_key(std::string_view key) {
  return std::find(kOwnKeys.begin(), kOwnKeys.end(), key) != kOwnKeys.end();
}

/// Names such as `__user__` and `__jid__` are how Salt tells a function who called it.
void add_kwarg(ChunkReader& reader, JsonMember member, KeywordArguments& kwargs) {
  if (member.key.substr(0, 2) == "__") {
    reader.complain(
        format("the key {} is refused; keys that begin with '__' are for Salt itself.", quoted(member.key)));
  }
  kwargs.add(member);
}

}  // namespace

void read_master_function(ChunkReader& reader, Client client, Function& function) {
  const auto fun = reader.find("fun");
  if (!fun) {
    reader.complain(format("'fun' is missing; a {} chunk needs 'client' and 'fun'.", name_of(client)));
    return;
  }
  function.name = read_function_name(reader, *fun);
  KeywordArguments from_arg;
  read_arguments(reader.find("arg"), function.args, from_arg);
  KeywordArguments kwargs;
  for (const JsonMember& member : std::move(from_arg).take()) add_kwarg(reader, member, kwargs);
  if (const auto object = reader.object("kwarg")) {
    for (const JsonMember member : object->members()) add_kwarg(reader, member, kwargs);
  }
  for (const JsonMember member : reader.chunk().members()) {
    if (!is_own_key(member.key)) add_kwarg(reader, member, kwargs);
  }
  function.kwargs = std::move(kwargs).take();
}

}  // namespace rest_fcgi::lowstate

// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "lowstate/chunk_reader.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::lowstate {

/// Keyword arguments from several places, of which a later one wins. Borrows the document. Not synchronized.
class KeywordArguments {
 public:
  void add(JsonMember argument);

  [[nodiscard]] std::vector<JsonMember> take() && { return std::move(members_); }

 private:
  /// Found by search while they are few; beyond, by `places_`, so that a body full of them stays cheap. No
  /// hash table: callers know its function, and choose the keys.
  static constexpr std::size_t kFew = 16;

  std::vector<JsonMember> members_;
  std::map<std::string_view, std::size_t> places_;
};

/// Reads arguments in the form in which they come for one function: a list, or one value, which is one
/// argument. None where there is no `arg`, or an empty string, which Salt's examples send. An object among
/// them with
/// `"__kwarg__": true` is keyword arguments, as on Salt's wire.
void read_arguments(std::optional<JsonValue> arg, std::vector<JsonValue>& args, KeywordArguments& kwargs);

/// Reads `fun`, `arg` and `kwarg` of a local chunk.
void read_functions(ChunkReader& reader, Client client, LocalCall& call);

/// Reads a runner's or wheel's `fun` and arguments: `arg`, `kwarg`, and the keys that mean nothing to the
/// client.
void read_master_function(ChunkReader& reader, Client client, Function& function);

}  // namespace rest_fcgi::lowstate

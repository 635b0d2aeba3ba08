// SPDX-License-Identifier: MIT
#include "rest_fcgi/lowstate/lowstate.h"

#include <map>
#include <string_view>
#include <utility>

#include "lowstate/arguments.h"
#include "lowstate/chunk_reader.h"
#include "lowstate/local_call.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::lowstate {
namespace {

Result<Client> read_client(JsonValue chunk) {
  const JsonValue value = chunk.find("client").value_or(JsonValue());
  const auto client = value.is(JsonValue::Kind::string) ? client_named(value.text()) : std::nullopt;
  if (client) return *client;
  return Error{ErrorKind::invocation, "Invalid client specified: " + quoted(value.python_str())};
}

/// A credential's text. Null is refused like any other type: Salt takes a key that exists for an attempt to
/// log in.
std::string_view read_credential(ChunkReader& reader, std::string_view key) {
  const auto value = reader.chunk().find(key);
  if (!value) return {};
  if (!value->is(JsonValue::Kind::string)) {
    reader.refuse(key, "a string", *value);
    return {};  // not text(): a password sent as a number is one all the same
  }
  return value->text();
}

auth::Credentials read_credentials(ChunkReader& reader) {
  auth::Credentials credentials;
  credentials.eauth = read_credential(reader, "eauth");
  credentials.username = read_credential(reader, "username");
  credentials.password = SecretView(read_credential(reader, "password"));
  credentials.token = SecretView(read_credential(reader, "token"));
  if (reader.chunk().find("token")) {
    credentials.kind = auth::Credentials::Kind::token;
  } else if (reader.chunk().find("eauth")) {
    credentials.kind = auth::Credentials::Kind::eauth;
  }
  return credentials;
}

bool is_for_the_master(Client client) {
  switch (client) {
    case Client::runner:
    case Client::runner_async:
    case Client::wheel:
    case Client::wheel_async:
      return true;
    case Client::local:
    case Client::local_async:
    case Client::local_batch:
    case Client::local_subset:
    case Client::ssh:
      return false;
  }
  return false;
}

void read_master_call(ChunkReader& reader, Client client, MasterCall& call) {
  read_master_function(reader, client, call.function);
  call.timeout = reader.duration("timeout");
  call.full_return = reader.flag("full_return");
}

Result<void> read_chunk(JsonValue value, Chunk& chunk) {
  ChunkReader reader(chunk.index, value);
  if (!value.is(JsonValue::Kind::object)) {
    reader.complain(format("it must be an object; found {}.", value.type_name()));
    return *reader.error();
  }
  const Result<Client> client = read_client(value);
  if (!client) return client.error();
  chunk.client = *client;
  chunk.credentials = read_credentials(reader);
  if (is_for_the_master(chunk.client)) {
    read_master_call(reader, chunk.client, chunk.call.emplace<MasterCall>());
  } else {
    read_local_call(reader, chunk.client, chunk.call.emplace<LocalCall>());
  }
  if (reader.error()) return *reader.error();
  return {};
}

/// Two jobs of one jid: the second could not run when the first had.
Result<void> refuse_shared_jids(const std::vector<Chunk>& chunks) {
  std::map<std::string_view, std::size_t> owners;
  for (const Chunk& chunk : chunks) {
    if (!chunk.is_local() || chunk.local().jid.empty()) continue;
    const auto [owner, is_new] = owners.emplace(chunk.local().jid, chunk.index);
    if (!is_new) {
      return Error{ErrorKind::invocation,
                   format("Lowstate chunk {}: 'jid' must be another one than that of chunk {}.", chunk.index,
                          owner->second)};
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Chunk>> read(JsonValue body, const Options& options) {
  const bool is_list = body.is(JsonValue::Kind::array);
  if (!is_list && !body.is(JsonValue::Kind::object)) {
    return Error{ErrorKind::invocation,
                 format("The body must be a list of lowstate objects; found {}.", body.type_name())};
  }
  const std::size_t count = is_list ? body.size() : 1;
  if (count > options.max_chunks) {
    return Error{ErrorKind::invocation, format("The body has {} lowstate chunks; at most {} are accepted.",
                                               count, options.max_chunks)};
  }
  std::vector<Chunk> chunks(count);
  auto elements = body.elements().begin();
  for (std::size_t i = 0; i < count; ++i) {
    chunks[i].index = i;
    Result<void> read = read_chunk(is_list ? *elements : body, chunks[i]);
    if (!read) return std::move(read).error();
    if (is_list) ++elements;
  }
  if (Result<void> distinct = refuse_shared_jids(chunks); !distinct) return std::move(distinct).error();
  return chunks;
}

}  // namespace rest_fcgi::lowstate

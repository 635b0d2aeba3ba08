// SPDX-License-Identifier: MIT
#include "rest_fcgi/lowstate/lowstate.h"

#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "lowstate/chunk_reader.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::lowstate {

namespace {

void read_target_type(ChunkReader& reader, TargetType& type) {
  std::string_view key = "tgt_type";
  if (reader.find_nonblank("expr_form")) {
    if (!reader.has_expr_form()) {
      reader.report("'expr_form' is not accepted; use 'tgt_type'.");
    } else if (!reader.find_nonblank(key)) {
      key = "expr_form";
    }
  }
  if (!reader.find_nonblank(key)) return;
  const std::string_view name = reader.text(key);
  if (const auto known = target_type_named(name)) {
    type = *known;
  } else {
    reader.report(format("'{}' is {}; accepted are {}.", key, quoted_excerpt(name), all_target_types()));
  }
}

/// These limits bound the memory for a target. `kMaxIds` is as large as the limit for the values of a body.
constexpr std::size_t kMaxIds = 100'000;
constexpr std::size_t kMaxTargetBytes = std::size_t{1} << 20;

void check_size(ChunkReader& reader, const Target& target) {
  if (target.list.size() > kMaxIds)
    return reader.report(
        format("'tgt' has {} minion ids; at most {} are accepted.", target.list.size(), kMaxIds));
  std::size_t bytes = target.expression.size();
  for (const std::string_view word : target.list) bytes += target.type == TargetType::list ? 0 : word.size();
  if (bytes > kMaxTargetBytes) {
    reader.report(format("'tgt' has {} bytes; at most {} are accepted, except for 'tgt_type': 'list'.", bytes,
                         kMaxTargetBytes));
  }
}

/// Returns whether `tgt` is a list that a form or script has sent as the text of JSON or Python: `["a",
/// "b"]`. Such a text is also a glob and a regular expression, but only of one character.
bool is_text_of_list(std::string_view tgt, TargetType type) {
  const std::string_view text = stripped(tgt);
  if (!text.starts_with('[') || !text.ends_with(']')) return false;
  const std::string_view first = trimmed(text.substr(1));
  return type == TargetType::list || first.starts_with('"') || first.starts_with('\'');
}

void read_list(ChunkReader& reader, JsonValue tgt, Target& target) {
  if (target.type != TargetType::list && target.type != TargetType::compound) {
    reader.report(format("'tgt' is a list, which needs 'tgt_type': 'list' or 'compound'; found {}.",
                         quoted_excerpt(name_of(target.type))));
  }
  target.list.reserve(tgt.size());
  for (const JsonValue element : tgt.elements()) {
    if (!element.is(JsonValue::Kind::string)) reader.refuse("tgt", "a list of strings", element);
    target.list.push_back(element.text());
  }
}

bool is_count(double number) {
  return number >= 1 && number <= 1e9 && std::trunc(number) == number;
}

void read_jid(ChunkReader& reader, std::string_view& jid) {
  const auto value = reader.find_nonblank("jid");
  if (!value) return;
  const bool has_text = value->is(JsonValue::Kind::string) || value->is(JsonValue::Kind::integer);
  if (!has_text || !is_allowed_jid(value->text())) {
    reader.report(
        format("'jid' must have 1 to {} letters and digits, after the first one also '_', '-' and '.', and "
               "must not be 'req'; found {}.",
               kMaxJidLength, shown(*value)));
    return;
  }
  jid = value->text();
}

std::optional<std::string_view> without_percent_sign(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text.back() == '%') return text.substr(0, text.size() - 1);
  if (text.front() == '%') return text.substr(1);
  return std::nullopt;
}

void read_batch(ChunkReader& reader, BatchSize& batch) {
  const auto value = reader.find_nonblank("batch");
  if (!value) return;
  const auto percent =
      value->is(JsonValue::Kind::string) ? without_percent_sign(value->text()) : std::nullopt;
  const auto amount = percent ? parse_finite_number(stripped(*percent)) : number_of(*value);
  if (!amount || !(percent ? *amount > 0 : is_count(*amount))) {
    reader.report(
        format("'batch' must be a whole number of minions, at least 1, or a percentage above 0 such as "
               "'10%'; found {}.",
               shown(*value)));
    return;
  }
  batch = {*amount, percent.has_value()};
}

void read_subset(ChunkReader& reader, std::size_t& subset) {
  // If a chunk has `sub`, the older name of `subset`, Salt ignores `subset`.
  const std::string_view key = reader.find_nonblank("sub") ? "sub" : "subset";
  const auto value = reader.find_nonblank(key);
  if (!value) return;
  const auto amount = number_of(*value);
  if (!amount || !is_count(*amount)) {
    reader.report(
        format("'{}' must be a whole number of minions, at least 1; found {}.", key, shown(*value)));
    return;
  }
  subset = static_cast<std::size_t>(*amount);
}

void read_local_call(ChunkReader& reader, Client client, LocalCall& call) {
  read_target(reader, client, call.target);
  read_functions(reader, client, call);
  call.timeout = reader.duration("timeout");
  call.gather_job_timeout = reader.duration("gather_job_timeout");
  call.full_return = reader.flag("full_return");
  call.ret = reader.text("ret");
  // A batch consists of several jobs, so Salt ignores its `jid`.
  if (client != Client::local_batch) read_jid(reader, call.jid);
  call.metadata = reader.object("metadata");
  if (client == Client::local_batch) {
    read_batch(reader, call.batch);
    call.batch_wait = reader.duration("batch_wait").value_or(std::chrono::milliseconds(0));
    call.failhard = reader.flag("failhard");
    call.raw = reader.flag("raw");
  }
  if (client == Client::local_subset) read_subset(reader, call.subset);
}

Result<Client> read_client(JsonValue chunk) {
  const JsonValue value = chunk.find("client").value_or(JsonValue());
  const auto client = value.is(JsonValue::Kind::string) ? client_named(value.text()) : std::nullopt;
  if (client) return *client;
  return Error{ErrorKind::invocation, "Invalid client specified: " + quoted_excerpt(value.python_str())};
}

/// A credential that is not a string gives an empty text.
std::string_view read_credential(ChunkReader& reader, std::string_view key) {
  const auto value = reader.find(key);
  if (!value) return {};
  if (!value->is(JsonValue::Kind::string)) {
    reader.refuse(key, "a string", *value);
    // Refuses a number as a password, although `JsonValue::text` would return its digits.
    return {};
  }
  return value->text();
}

auth::Credentials read_credentials(ChunkReader& reader) {
  auth::Credentials credentials;
  credentials.eauth = read_credential(reader, "eauth");
  credentials.username = read_credential(reader, "username");
  credentials.password = SecretView(read_credential(reader, "password"));
  credentials.token = SecretView(read_credential(reader, "token"));
  // If the chunk has `eauth`, an empty `token` is ignored. Otherwise an empty `token` is a wrong token.
  const bool has_eauth = reader.find("eauth").has_value();
  if (reader.find("token") || (!has_eauth && reader.chunk().find("token"))) {
    credentials.kind = auth::Credentials::Kind::token;
  } else if (has_eauth) {
    credentials.kind = auth::Credentials::Kind::eauth;
  }
  return credentials;
}

Result<void> read_chunk(JsonValue value, const ReadOptions& reading, Chunk& chunk) {
  ChunkReader reader(chunk.index, value, reading.has_expr_form);
  if (!value.is(JsonValue::Kind::object)) {
    reader.report(format("the chunk must be an object; found {}.", value.type_name()));
    return *reader.error();
  }
  const Result<Client> client = reading.client ? *reading.client : read_client(value);
  if (!client) return client.error();
  chunk.client = *client;
  if (!reading.has_credentials) chunk.credentials = read_credentials(reader);
  if (*client == Client::runner || *client == Client::runner_async || *client == Client::wheel ||
      *client == Client::wheel_async) {
    auto& call = chunk.call.emplace<MasterCall>();
    read_master_function(reader, *client, call.function);
    call.timeout = reader.duration("timeout");
    call.full_return = reader.flag("full_return");
  } else if (chunk.client == Client::ssh) {
    read_ssh_call(reader, chunk.call.emplace<LocalCall>());
  } else {
    read_local_call(reader, chunk.client, chunk.call.emplace<LocalCall>());
  }
  if (reader.error()) return *reader.error();
  return {};
}

}  // namespace

void read_target(ChunkReader& reader, Client client, Target& target) {
  read_target_type(reader, target.type);
  if (reader.find("delimiter")) target.delimiter = reader.text("delimiter");
  const auto tgt = reader.find_nonnull("tgt");  // Allows an empty target, which matches no minion.
  if (!tgt) {
    reader.report(format("'tgt' is missing; a {} chunk needs 'client', 'tgt' and 'fun'.", name_of(client)));
    return;
  }
  target.as_sent = *tgt;
  if (tgt->is(JsonValue::Kind::array)) {
    read_list(reader, *tgt, target);
  } else if (!tgt->is(JsonValue::Kind::string)) {
    reader.refuse("tgt", "a string or a list of strings", *tgt);
  } else if (is_text_of_list(tgt->text(), target.type)) {
    reader.report(
        format("'tgt' is {}, the text of a list; send ids with commas (tgt=a,b and tgt_type=list), or "
               "a list in a JSON body.",
               quoted_excerpt(tgt->text())));
  } else if (target.type == TargetType::list) {
    std::string_view ids = tgt->text();
    while (!ids.empty() && target.list.size() <= kMaxIds) {
      // Ignores white space around an id, as the program `salt` does with `-L`.
      if (const std::string_view id = stripped(next_token(ids, ',')); !id.empty()) target.list.push_back(id);
    }
  } else {
    target.expression = tgt->text();
  }
  check_size(reader, target);
}

std::optional<JsonValue> find_nonempty(JsonValue object, std::string_view key) noexcept {
  using Kind = JsonValue::Kind;
  const auto value = object.find(key);
  if (!value || value->is(Kind::null)) return std::nullopt;
  const bool is_empty = value->is(Kind::string)                             ? value->text().empty()
                        : value->is(Kind::array) || value->is(Kind::object) ? value->size() == 0
                                                                            : false;
  return is_empty ? std::nullopt : value;
}

Result<std::vector<Chunk>> read(JsonValue body, const Options& options, const ReadOptions& reading) {
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
    Result<void> read = read_chunk(is_list ? *elements : body, reading, chunks[i]);
    if (!read) return std::move(read).error();
    if (is_list) ++elements;
  }
  std::map<std::string_view, std::size_t> owners;
  for (const Chunk& chunk : chunks) {
    if (!chunk.is_local() || chunk.local().jid.empty()) continue;
    const auto [owner, is_new] = owners.emplace(chunk.local().jid, chunk.index);
    if (!is_new) {
      return Error{
          ErrorKind::invocation,
          format("Lowstate chunk {}: 'jid' must differ from that of chunk {}.", chunk.index, owner->second)};
    }
  }
  return chunks;
}

}  // namespace rest_fcgi::lowstate

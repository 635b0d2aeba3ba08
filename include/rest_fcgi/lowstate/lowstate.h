// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/options.h"

/// Lowstate is Salt's name for a list of chunks. A chunk names the client, target, function, arguments and
/// credentials of a call. All types in this file borrow from the parsed JsonDocument.
namespace rest_fcgi::lowstate {

enum class Client {
  local,
  local_async,
  local_batch,
  local_subset,
  runner,
  runner_async,
  wheel,
  wheel_async,
  ssh,
};

inline constexpr Client kClients[] = {Client::local,        Client::local_async, Client::local_batch,
                                      Client::local_subset, Client::runner,      Client::runner_async,
                                      Client::wheel,        Client::wheel_async, Client::ssh};

[[nodiscard]] std::string_view name_of(Client client) noexcept;
[[nodiscard]] std::optional<Client> client_named(std::string_view name) noexcept;

enum class TargetType {
  glob,
  pcre,
  list,
  grain,
  grain_pcre,
  pillar,
  pillar_pcre,
  pillar_exact,
  nodegroup,
  range,
  compound,
  ipcidr,
};

[[nodiscard]] std::string_view name_of(TargetType type) noexcept;
[[nodiscard]] std::optional<TargetType> target_type_named(std::string_view name) noexcept;

/// The target minions of a call. A list of ids is in `list`, and any other target is in `expression`.
struct Target {
  TargetType type = TargetType::glob;
  std::string_view expression;
  std::vector<std::string_view> list;
  std::string_view delimiter = ":";  ///< `delimiter` separates the parts of a path in grains or pillar.
  JsonValue as_sent;                 ///< `as_sent` is the chunk's `tgt`, which is stored with the job.
};

struct Function {
  std::string_view name;
  std::vector<JsonValue> args;
  std::vector<JsonMember> kwargs;
};

/// Appends Salt's `arg`: the positional arguments, and an object of the keyword arguments. If `marked` is
/// true, the object has the member `"__kwarg__": true`.
void write_arguments(JsonWriter& writer, const Function& function, bool marked = false);

/// The chunk's `batch`: how many minions run the job at the same time.
struct BatchSize {
  double amount = 10;
  bool percent = true;
};

/// A call of Salt's LocalClient or SSHClient. SSHClient uses only the target, function, timeout and roster
/// members.
struct LocalCall {
  Target target;
  /// The functions to run. There are several only if `fun` is a list.
  std::vector<Function> functions;
  /// Whether `fun` is a list. A minion then returns a map from function name to return.
  bool compound = false;
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> gather_job_timeout;
  bool full_return = false;
  std::string_view ret;  ///< `ret` has the names of additional returners, separated by commas.
  std::string_view jid;  ///< `jid` is the job id that the caller chose. Batches have an empty `jid`.
  std::optional<JsonValue> metadata;
  BatchSize batch;
  /// In `local_batch`, another minion starts when the time `batch_wait` has passed after a return.
  std::chrono::milliseconds batch_wait{0};
  bool failhard = false;  ///< With `failhard`, no further minion of `local_batch` starts after a failure.
  bool raw = false;       ///< With `raw`, the results of `local_batch` are whole events.
  std::size_t subset = 3;
  std::string_view roster;  ///< `roster` is the type of ssh's roster; empty means the master's setting.
  /// `roster_file` names the file of ssh's roster, without a path; empty means the master's setting.
  std::string_view roster_file;
};

/// A call of Salt's RunnerClient or WheelClient. Each unknown key of the chunk is a keyword argument, and
/// replaces an argument with the same name in `kwarg`.
struct MasterCall {
  Function function;
  std::optional<std::chrono::milliseconds> timeout;
  bool full_return = false;
};

struct Chunk {
  std::size_t index = 0;  ///< The position of the chunk in the list, from 0.
  Client client = Client::local;
  auth::Credentials credentials;
  std::variant<LocalCall, MasterCall> call;

  [[nodiscard]] bool is_local() const noexcept { return std::holds_alternative<LocalCall>(call); }
  [[nodiscard]] const LocalCall& local() const { return std::get<LocalCall>(call); }
  [[nodiscard]] const MasterCall& master() const { return std::get<MasterCall>(call); }
};

[[nodiscard]] Json published_functions(const LocalCall& call);

/// Returns the `arg` of a job in the form in which Salt publishes it. An object with keyword arguments has
/// the member `"__kwarg__": true`.
[[nodiscard]] Json published_arguments(const LocalCall& call);

/// Returns the member `key`. Returns std::nullopt for null and empty values, which clients send for unused
/// fields.
[[nodiscard]] std::optional<JsonValue> find_nonempty(JsonValue object, std::string_view key) noexcept;

struct ReadOptions {
  std::optional<Client> client{};  ///< `client` replaces the `client` of all chunks.
  /// `has_credentials` says that the request itself has credentials. Credentials in chunks are then ignored.
  bool has_credentials = false;
  bool has_expr_form = false;  ///< Whether chunks may have `expr_form`, the old name of `tgt_type`.
};

/// Reads the chunks of a body, which is a list of objects or one object. One wrong chunk fails the whole
/// body. Errors: invocation, with the index of the chunk, the key, the found value and the expected value.
Result<std::vector<Chunk>> read(JsonValue body, const Options& options, const ReadOptions& reading = {});

}  // namespace rest_fcgi::lowstate

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/options.h"

/// Lowstate, Salt's word for a list of chunks: which client, which target, which function, which arguments,
/// whose credentials. Everything here borrows from the JsonDocument that was read, and lives no longer.
namespace rest_fcgi::lowstate {

/// Salt's client interfaces. A closed list: no name that a caller sends ever selects code in any other way.
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

/// Salt's `tgt_type`.
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

/// Which minions. `list` is filled for `tgt_type: list`, and for a compound target that came as a list of
/// words; `expression` for all else.
struct Target {
  TargetType type = TargetType::glob;
  std::string_view expression;
  std::vector<std::string_view> list;
  std::string_view delimiter = ":";  ///< between the levels of a grain or pillar
  JsonValue as_sent;                 ///< the chunk's `tgt`, for the job's record
};

/// One function with its own arguments, as they came.
struct Function {
  std::string_view name;
  std::vector<JsonValue> args;
  std::vector<JsonMember> kwargs;
};

/// Appends arguments as Salt records them: a list of the positional ones, then the keyword arguments as one
/// object, where there are any. `marked`: with `"__kwarg__": true` in it, as Salt publishes them.
void write_arguments(JsonWriter& writer, const Function& function, bool marked = false);

/// `batch`: how many minions at a time.
struct BatchSize {
  double amount = 10;
  bool percent = true;  ///< of the minions that are there; else a plain number
};

/// A call of Salt's LocalClient, execution functions on minions; or of its SSHClient, one function on hosts
/// of a roster, which has a target, one function and a timeout, and of all else nothing.
struct LocalCall {
  Target target;
  std::vector<Function> functions;  ///< one, or several where `fun` was a list (compound functions)
  bool compound = false;            ///< `fun` was a list: each minion's return is a map by function name
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> gather_job_timeout;
  bool full_return = false;
  std::string_view ret;                     ///< returners that get the returns as well, comma-separated
  std::string_view jid;                     ///< the caller's own job id, see `is_own_jid`; a batch has none
  std::optional<JsonValue> metadata;        ///< an object, given back with the job
  BatchSize batch;                          ///< local_batch
  std::chrono::milliseconds batch_wait{0};  ///< local_batch: how long a place stays taken after a return
  bool failhard = false;                    ///< local_batch: start no more after the first failure
  bool raw = false;                         ///< local_batch: items are whole events
  std::size_t subset = 3;                   ///< local_subset: how many minions
  std::string_view roster;                  ///< ssh: `flat`; empty: as the master's file has it
  std::string_view roster_file;             ///< ssh: a file's name, no path; empty: the master's own roster
};

/// A call of Salt's RunnerClient or WheelClient. Keys of the chunk that mean nothing to the client are
/// keyword arguments of the function; `kwarg` comes first, so such a key wins over it.
struct MasterCall {
  Function function;
  std::optional<std::chrono::milliseconds> timeout;
  bool full_return = false;
};

/// One element of the list. Well-formed: what a `Chunk` holds was checked.
struct Chunk {
  std::size_t index = 0;  ///< from 0
  Client client = Client::local;
  auth::Credentials credentials;
  std::variant<LocalCall, MasterCall>
      call;  ///< LocalCall for the local clients and ssh, MasterCall for runners and wheels

  [[nodiscard]] bool is_local() const noexcept { return std::holds_alternative<LocalCall>(call); }
  [[nodiscard]] const LocalCall& local() const { return std::get<LocalCall>(call); }
  [[nodiscard]] const MasterCall& master() const { return std::get<MasterCall>(call); }
};

/// A job's `fun`, as Salt publishes and records it: a name, or the list of them for compound functions.
[[nodiscard]] Json published_functions(const LocalCall& call);

/// A job's `arg`: a list, or a list of lists for compound functions. Keyword arguments are marked as such.
[[nodiscard]] Json published_arguments(const LocalCall& call);

/// Returns the member of that name. It is absent, too, where its value is null or an empty text, list or map:
/// clients send these for a field that is not set.
[[nodiscard]] std::optional<JsonValue> find_set(JsonValue object, std::string_view key) noexcept;

/// Where Salt's REST interfaces read chunks in another way than rest_wsgi.
struct Reading {
  std::optional<Client> client{};  ///< all chunks are for this one, whatever they say
  bool has_credentials = false;    ///< they are known already; those that chunks bring are not looked at
  bool has_expr_form = false;      ///< `tgt_type` may come by its older name, `expr_form`
};

/// Reads a parsed body into chunks: a list of objects, or one object, which is a list of one.
/// Errors: invocation, a sentence that names the chunk's index, the key, what was found and what is accepted;
/// for a client that is no client, Salt's own sentence. Nothing is read in part.
[[nodiscard]] Result<std::vector<Chunk>> read(JsonValue body, const Options& options,
                                              const Reading& reading = {});

}  // namespace rest_fcgi::lowstate

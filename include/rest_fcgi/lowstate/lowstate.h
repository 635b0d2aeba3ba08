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

/// Lowstate is Salt's name for a list of chunks. A chunk names the client, target, function, arguments and
/// credentials of one call. All types in this file borrow from the parsed JsonDocument.
namespace rest_fcgi::lowstate {

/// Salt's client interfaces. A caller can select only one of these names.
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

/// The target minions of a call. For `tgt_type: list`, and for a compound target that is a list of words,
/// `list` is set. For all other targets, `expression` is set.
struct Target {
  TargetType type = TargetType::glob;
  std::string_view expression;
  std::vector<std::string_view> list;
  std::string_view delimiter = ":";  ///< text between the levels of a grain's or pillar's name
  JsonValue as_sent;                 ///< the chunk's `tgt`, which is stored with the job
};

/// One function with its arguments.
struct Function {
  std::string_view name;
  std::vector<JsonValue> args;
  std::vector<JsonMember> kwargs;
};

/// Appends the arguments in the form in which Salt records them. This is a list of the positional arguments.
/// If there are keyword arguments, the last element is an object with these. If `marked` is true, this object
/// has the member `"__kwarg__": true`, as in Salt's publications.
void write_arguments(JsonWriter& writer, const Function& function, bool marked = false);

/// The chunk's `batch`: how many minions run the job at the same time.
struct BatchSize {
  double amount = 10;
  bool percent = true;  ///< whether `amount` is a percentage of the target minions; otherwise it is a number
};

/// A call of Salt's LocalClient or SSHClient. LocalClient runs execution functions on minions. SSHClient runs
/// one function on hosts of a roster, and uses only the target, function, timeout and roster members.
struct LocalCall {
  Target target;
  /// The functions to run. There are several only if `fun` is a list (compound functions).
  std::vector<Function> functions;
  bool compound = false;  ///< whether `fun` is a list; each minion then returns a map by function name
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> gather_job_timeout;
  bool full_return = false;
  std::string_view ret;  ///< names of returners that also get the returns, separated by commas
  std::string_view jid;  ///< job id chosen by the caller, see `is_allowed_jid`; empty for batches
  std::optional<JsonValue> metadata;  ///< the caller's object that is stored with the job
  BatchSize batch;                    ///< local_batch: the number of minions that run at the same time
  std::chrono::milliseconds batch_wait{
      0};                        ///< local_batch: delay after a return before the next minion starts
  bool failhard = false;         ///< local_batch: whether no further minions start after a failure
  bool raw = false;              ///< local_batch: whether the results are whole events
  std::size_t subset = 3;        ///< local_subset: number of minions
  std::string_view roster;       ///< ssh: the kind of roster, `flat`; if empty, the master's setting is used
  std::string_view roster_file;  ///< ssh: a file name without path; if empty, the master's roster is used
};

/// A call of Salt's RunnerClient or WheelClient. Keys of the chunk that the client does not use itself are
/// keyword arguments of the function. They replace members of `kwarg` with the same name.
struct MasterCall {
  Function function;
  std::optional<std::chrono::milliseconds> timeout;
  bool full_return = false;
};

/// One chunk whose members were all checked.
struct Chunk {
  std::size_t index = 0;  ///< position of the chunk in the list, from 0
  Client client = Client::local;
  auth::Credentials credentials;
  /// A LocalCall for local clients and ssh, otherwise a MasterCall.
  std::variant<LocalCall, MasterCall> call;

  [[nodiscard]] bool is_local() const noexcept { return std::holds_alternative<LocalCall>(call); }
  [[nodiscard]] const LocalCall& local() const { return std::get<LocalCall>(call); }
  [[nodiscard]] const MasterCall& master() const { return std::get<MasterCall>(call); }
};

/// Returns a job's `fun` as Salt publishes it: a name, or a list of names for compound functions.
[[nodiscard]] Json published_functions(const LocalCall& call);

/// Returns a job's `arg` as Salt publishes it: a list, or a list of lists for compound functions. An object
/// with keyword arguments has the member `"__kwarg__": true`.
[[nodiscard]] Json published_arguments(const LocalCall& call);

/// Returns the member with that key. Returns absent for null and empty values, because clients send these for
/// unused fields.
[[nodiscard]] std::optional<JsonValue> find_nonempty(JsonValue object, std::string_view key) noexcept;

/// Options for the differences between rest_wsgi and Salt's other REST interfaces.
struct ReadOptions {
  std::optional<Client> client{};  ///< the client of all chunks; replaces the `client` in the chunks
  /// Whether the request has credentials outside the chunks; those in chunks are ignored then.
  bool has_credentials = false;
  bool has_expr_form = false;  ///< whether the old name `expr_form` of `tgt_type` is accepted
};

/// Reads the chunks of a parsed body, which is a list of objects or one object. Errors: invocation, with the
/// index of the chunk, the key, the found value and the expected value. For an unknown client the error has
/// Salt's own text. One wrong chunk fails the whole body.
[[nodiscard]] Result<std::vector<Chunk>> read(JsonValue body, const Options& options,
                                              const ReadOptions& reading = {});

}  // namespace rest_fcgi::lowstate

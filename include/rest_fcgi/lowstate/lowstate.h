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

/// Lowstate is Salt's name for a list of chunks. A chunk says which client, target, function, arguments and
/// credentials to use. All types here borrow from the parsed JsonDocument.
namespace rest_fcgi::lowstate {

/// Salt's client interfaces. A name from a caller can select only one of these.
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

/// The target minions. `list` is set for `tgt_type: list` and for a compound target that is a list of words;
/// `expression` for all other targets.
struct Target {
  TargetType type = TargetType::glob;
  std::string_view expression;
  std::vector<std::string_view> list;
  std::string_view delimiter = ":";  ///< between the levels of a grain or pillar
  JsonValue as_sent;                 ///< the chunk's `tgt`, for the job's record
};

/// One function with its arguments.
struct Function {
  std::string_view name;
  std::vector<JsonValue> args;
  std::vector<JsonMember> kwargs;
};

/// Appends arguments as Salt records them: a list of the positional ones, followed by an object with the
/// keyword arguments, if there are any. `marked`: the object has `"__kwarg__": true`, as Salt publishes it.
void write_arguments(JsonWriter& writer, const Function& function, bool marked = false);

/// `batch`: how many minions run at the same time.
struct BatchSize {
  double amount = 10;
  bool percent = true;  ///< a percentage of the target minions; otherwise a number
};

/// A call of Salt's LocalClient, which runs execution functions on minions, or of SSHClient, which runs one
/// function on hosts of a roster and uses only target, function, timeout and roster.
struct LocalCall {
  Target target;
  std::vector<Function> functions;  ///< several if `fun` is a list (compound functions)
  bool compound = false;            ///< `fun` is a list, so each minion returns a map by function name
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> gather_job_timeout;
  bool full_return = false;
  std::string_view ret;  ///< comma-separated returners that also get the returns
  std::string_view jid;  ///< job id chosen by the caller, see `is_allowed_jid`; empty for batches
  std::optional<JsonValue> metadata;  ///< an object that is returned with the job
  BatchSize batch;                    ///< local_batch
  std::chrono::milliseconds batch_wait{
      0};                        ///< local_batch: delay after a return before the next minion starts
  bool failhard = false;         ///< local_batch: do not start more minions after a failure
  bool raw = false;              ///< local_batch: return whole events
  std::size_t subset = 3;        ///< local_subset: number of minions
  std::string_view roster;       ///< ssh: `flat`; empty: the master's setting
  std::string_view roster_file;  ///< ssh: a file name without path; empty: the master's roster
};

/// A call of Salt's RunnerClient or WheelClient. Keys of the chunk that are not the client's own are keyword
/// arguments; they replace those of `kwarg`.
struct MasterCall {
  Function function;
  std::optional<std::chrono::milliseconds> timeout;
  bool full_return = false;
};

/// One chunk. All its members were checked.
struct Chunk {
  std::size_t index = 0;  ///< position in the list, from 0
  Client client = Client::local;
  auth::Credentials credentials;
  std::variant<LocalCall, MasterCall> call;  ///< LocalCall for local clients and ssh, otherwise MasterCall

  [[nodiscard]] bool is_local() const noexcept { return std::holds_alternative<LocalCall>(call); }
  [[nodiscard]] const LocalCall& local() const { return std::get<LocalCall>(call); }
  [[nodiscard]] const MasterCall& master() const { return std::get<MasterCall>(call); }
};

/// Returns a job's `fun` as Salt publishes it: a name, or a list of names for compound functions.
[[nodiscard]] Json published_functions(const LocalCall& call);

/// Returns a job's `arg`: a list, or a list of lists for compound functions. Keyword arguments are marked.
[[nodiscard]] Json published_arguments(const LocalCall& call);

/// Returns the member with that key. Null and empty values count as absent, since clients send them for
/// unused fields.
[[nodiscard]] std::optional<JsonValue> find_nonempty(JsonValue object, std::string_view key) noexcept;

/// Differences between rest_wsgi and Salt's other REST interfaces.
struct ReadOptions {
  std::optional<Client> client{};  ///< the client of all chunks, whatever they say
  bool has_credentials = false;    ///< credentials are known; those in chunks are ignored
  bool has_expr_form = false;      ///< accept the old name `expr_form` for `tgt_type`
};

/// Reads a parsed body into chunks: a list of objects, or one object. Errors: invocation, with the index of
/// the chunk, the key, the found and the expected value; for an unknown client, Salt's own text. On an error
/// no chunk is returned.
[[nodiscard]] Result<std::vector<Chunk>> read(JsonValue body, const Options& options,
                                              const ReadOptions& reading = {});

}  // namespace rest_fcgi::lowstate

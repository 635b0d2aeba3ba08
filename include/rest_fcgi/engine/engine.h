// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/auth/password_hash_limiter.h"
#include "rest_fcgi/auth/request_keys.h"
#include "rest_fcgi/auth/revocation_list.h"
#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/gateway.h"
#include "rest_fcgi/master/embedded/embedded.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/master/recording/recording.h"
#include "rest_fcgi/master/salt/salt.h"
#include "rest_fcgi/netapi/refusals.h"
#include "rest_fcgi/netapi/stream_registry.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::engine {

class Monitor;

struct SaltEngine {
  std::shared_ptr<salt::Runtime> runtime;
  std::shared_ptr<auth::RevocationList> revocations;
  /// The Recorder stores jobs in job caches of this program. It is null if only the master stores jobs.
  std::shared_ptr<recording::Recorder> recorder;
};

/// The objects of an engine that survive a reload of the configuration.
struct Runtime {
  std::shared_ptr<store::Store> store;
  std::shared_ptr<auth::PasswordHashLimiter> hash_limiter;
  std::variant<std::shared_ptr<embedded::Runtime>, SaltEngine> engine;
  std::shared_ptr<auth::RequestKeys> request_keys;
  std::shared_ptr<auth::LoginCounts> logins = std::make_shared<auth::LoginCounts>();
  /// All modules count refused requests together, also after a reload.
  std::shared_ptr<netapi::Refusals> refusals = std::make_shared<netapi::Refusals>();
  std::shared_ptr<netapi::StreamRegistry> streams = std::make_shared<netapi::StreamRegistry>(system_clock());
};

/// Reads the settings of the command line's master file. With `engine: salt`, removes each rule of
/// `external_auth` that this program cannot compile. Only the Salt master then applies such a rule. Errors:
/// the errors of `config::load`.
Result<config::Settings> read_settings(const config::CommandLine& command_line);

/// Returns a function that reserves microseconds for this process's job ids, so that other processes do not
/// use them. Returns null for a store in memory.
[[nodiscard]] master::JidReserve jid_reserve(std::shared_ptr<store::Store> store);

/// Opens the store and creates the engine. Errors: configuration, if a job cache cannot be opened or an
/// address is malformed; internal.
Result<Runtime> make_runtime(const config::Settings& settings);

/// Creates a master that uses `runtime`. REQUIRES: `runtime` was made for the engine that `settings` choose.
/// Errors: configuration; internal.
Result<std::shared_ptr<master::Master>> make_master(const config::Settings& settings, const Runtime& runtime);

/// Returns a warning for each etcd cluster of the settings that lacks the wanted API. Waits for the clusters
/// at most two seconds each.
[[nodiscard]] std::vector<Error> etcd_warnings(const config::Settings& settings);

/// Revokes all tokens of a user, in all back ends if `eauth` is empty. Returns a line about the result.
/// Errors: configuration, if the store does not exist or is unusable; unavailable; internal.
Result<std::string> revoke(const config::Settings& settings, std::string_view eauth,
                           std::string_view username);

/// The applications of the configured netapi modules, and the client that they use.
struct Api {
  std::shared_ptr<const client::NetapiClient> client;
  gateway::Applications applications;

  /// Returns the client's master. The pointer shares ownership of `client`, which owns the master.
  [[nodiscard]] std::shared_ptr<master::Master> master() const { return {client, &client->master()}; }
};

/// Makes the applications. `monitor` may be null. Errors: configuration; internal.
Result<Api> make_api(const config::Settings& settings, const Runtime& runtime, Monitor* monitor);

/// Returns the options of all sockets of the gateway, including the port for Prometheus.
[[nodiscard]] gateway::Options sockets_of(const config::Settings& settings);

/// Checks for the start, for a reload and for --check-config what `make_api` does not check. Errors:
/// configuration.
Result<void> check_start(const config::Settings& settings, const gateway::Options& sockets);

/// Reads the settings again and makes new applications that use the same `runtime` and the open ports.
/// Errors: configuration, also if the new settings have another engine, or no module for an open port;
/// internal.
Result<gateway::Applications> reload(const config::CommandLine& command_line,
                                     const config::Settings& at_start, const Runtime& runtime,
                                     Monitor* monitor);

/// Opens the log and writes the warnings of the settings to it. Errors: configuration.
Result<void> open_log(const config::Settings& settings);

/// Starts the engine's work in the background. The caller repeats the call after each reload.
void start(const Runtime& runtime);

/// Waits for the end of jobs and of writes to job caches, at most until the deadline. Returns the number of
/// jobs and writes that still run. If the number is not 0, the caller must not destroy the runtime.
std::size_t shut_down(const Runtime& runtime, SteadyTime deadline);

}  // namespace rest_fcgi::engine

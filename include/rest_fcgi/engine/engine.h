// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/auth/password_hash_limiter.h"
#include "rest_fcgi/auth/revocation_list.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/embedded/embedded.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/master/recording/recording.h"
#include "rest_fcgi/master/salt/salt.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::engine {

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
  std::shared_ptr<auth::LoginCounts> logins = std::make_shared<auth::LoginCounts>();
};

/// Returns a function that reserves microseconds for this process's job ids, so that other processes do not
/// use them. Returns null for a store in memory.
[[nodiscard]] master::JidReserve jid_reserve(std::shared_ptr<store::Store> store);

/// Opens the store and creates the engine. Errors: configuration, if a job cache cannot be opened or an
/// address is malformed; internal.
Result<Runtime> make_runtime(const config::Settings& settings);

/// Creates a master that uses `runtime`. REQUIRES: `runtime` was made for the engine that `settings` choose.
/// Errors: configuration; internal.
Result<std::shared_ptr<master::Master>> make_master(const config::Settings& settings, const Runtime& runtime);

/// Revokes all tokens of a user, in all back ends if `eauth` is empty. Returns a sentence about the result.
/// Errors: configuration, if the store does not exist or is unusable; unavailable; internal.
Result<std::string> revoke(const config::Settings& settings, std::string_view eauth,
                           std::string_view username);

/// Starts the engine's work in the background. The caller repeats the call after each reload.
void start(const Runtime& runtime);

/// Waits for the end of jobs and of writes to job caches, at most until the deadline. Returns the number of
/// jobs and writes that still run. If the number is not 0, the caller must not destroy the runtime.
std::size_t shut_down(const Runtime& runtime, SteadyTime deadline);

}  // namespace rest_fcgi::engine

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

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

/// Creates the engine that the configuration names. Thread-safe where its parts are.
namespace rest_fcgi::engine {

/// The parts of the engine for a real master.
struct SaltEngine {
  std::shared_ptr<salt::Runtime> runtime;
  std::shared_ptr<auth::RevocationList> revocations;
  std::shared_ptr<recording::Recorder> recorder;  ///< null: only the master keeps jobs
};

/// The parts of an engine that survive a reload.
struct Runtime {
  std::shared_ptr<store::Store> store;
  std::shared_ptr<auth::PasswordHashLimiter> hash_limiter;
  std::variant<std::shared_ptr<embedded::Runtime>, SaltEngine> engine;
};

/// Returns a function that reserves microseconds for jids, so that no other process of the store uses them.
/// Null for a store in memory, which only this process uses.
[[nodiscard]] master::JidReserve jid_reserve(std::shared_ptr<store::Store> store);

/// Opens the store and creates the engine. Errors: configuration, for a job cache that cannot be opened and a
/// malformed address; internal.
[[nodiscard]] Result<Runtime> make_runtime(const config::Settings& settings);

/// Creates a master that uses `runtime`. REQUIRES: the engine is the same. Errors: configuration; internal.
[[nodiscard]] Result<std::shared_ptr<master::Master>> make_master(const config::Settings& settings,
                                                                  const Runtime& runtime);

/// Revokes all tokens of a user that were made until now; of all back ends, if `eauth` is empty. Returns a
/// sentence about the result. Errors: configuration, if the store does not exist or cannot be used;
/// unavailable; internal.
[[nodiscard]] Result<std::string> revoke(const config::Settings& settings, std::string_view eauth,
                                         std::string_view username);

/// Announces minions, or joins the event bus. To be called before requests come, and after each reload.
void start(const Runtime& runtime);

/// Waits until the deadline for running jobs, and for writes to the job caches. Returns the number of those
/// that did not end: if it is not 0, threads still use the runtime.
std::size_t shut_down(const Runtime& runtime, SteadyTime deadline);

}  // namespace rest_fcgi::engine

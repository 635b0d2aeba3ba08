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

/// How the engine that the configuration names is put together. Thread-safe where its parts are.
namespace rest_fcgi::engine {

/// The parts of the engine for a real master.
struct SaltEngine {
  std::shared_ptr<salt::Runtime> runtime;
  std::shared_ptr<auth::RevocationList> revocations;
  std::shared_ptr<recording::Recorder> recorder;  ///< null: jobs are kept by the master alone
};

/// What of an engine outlives a reload.
struct Runtime {
  std::shared_ptr<store::Store> store;
  std::shared_ptr<auth::PasswordHashLimiter> hash_limiter;
  /// Of the embedded one or of the one for a real master.
  std::variant<std::shared_ptr<embedded::Runtime>, SaltEngine> engine;
};

/// Returns what reserves microseconds for jids, which no other process of the store gets. Null for a store in
/// memory, which is this process's own.
[[nodiscard]] master::JidReserve jid_reserve(std::shared_ptr<store::Store> store);

/// Errors: configuration, for job caches that cannot be opened and addresses that are none; internal.
[[nodiscard]] Result<Runtime> make_runtime(const config::Settings& settings);

/// A master over `runtime`, which is that of the same engine. Errors: configuration; internal.
[[nodiscard]] Result<std::shared_ptr<master::Master>> make_master(const config::Settings& settings,
                                                                  const Runtime& runtime);

/// Revokes all tokens of a user that were made until now, those of all back ends where `eauth` is empty.
/// Returns a sentence about what it did. Errors: configuration, where the store is not there or cannot be
/// used; unavailable; internal.
[[nodiscard]] Result<std::string> revoke(const config::Settings& settings, std::string_view eauth,
                                         std::string_view username);

/// To be called when requests may come, and again when a reload has put a new master in place.
void start(const Runtime& runtime);

/// Waits for what runs, and for what is on its way to the job caches, until the deadline. Returns 0 where all
/// of it had ended then; else threads still use the runtime and all that a process's end would destroy.
std::size_t shut_down(const Runtime& runtime, SteadyTime deadline);

}  // namespace rest_fcgi::engine

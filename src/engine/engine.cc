// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/engine.h"

#include <unistd.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "rest_fcgi/auth/authenticator.h"
#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::engine {
namespace {

Result<SaltEngine> make_salt_engine(const config::Settings& settings,
                                    const std::shared_ptr<store::Store>& store) {
  auto runtime = salt::make_runtime(settings.salt, system_clock(), jid_reserve(store));
  if (!runtime) return std::move(runtime).error();
  SaltEngine salt{*std::move(runtime), std::make_shared<auth::RevocationList>(store, system_clock()),
                  nullptr};
  if (settings.returner.ext_job_cache.empty()) return salt;
  auto returners = returner::Returners::make(settings.returner, store, system_clock());
  if (!returners) return std::move(returners).error();
  salt.recorder = recording::make_recorder(*std::move(returners), system_clock());
  return salt;
}

Result<std::shared_ptr<master::Master>> make_salt_master(const config::Settings& settings,
                                                         std::unique_ptr<auth::Permissions> permissions,
                                                         const SaltEngine& salt, const Runtime& runtime) {
  auto logins = auth::Logins::make(settings.auth.login_guard, settings.auth.auth_cache_ttl, system_clock(),
                                   runtime.store, salt.revocations, runtime.logins);
  auto master = salt::make_master(settings.salt, std::move(logins), std::move(permissions), salt.runtime);
  if (!master || !salt.recorder) return master;
  return recording::make_master(*std::move(master), salt.recorder);
}

/// Reserves a range of ?2 microseconds for job ids. The range begins after the last reserved range, but not
/// before the time ?1. If the last range ends more than an hour after ?1, the clock was set back, and the
/// last range is ignored.
constexpr const char* kReserveJids =
    "INSERT INTO meta (name, value) VALUES ('jid', ?1 + ?2) ON CONFLICT DO UPDATE SET value = ?2 +"
    " CASE WHEN value > ?1 + 3600000000 THEN ?1 ELSE max(value, ?1) END RETURNING value - ?2";

}  // namespace

master::JidReserve jid_reserve(std::shared_ptr<store::Store> store) {
  if (store->is_in_memory()) return nullptr;
  return [store = std::move(store)](std::int64_t now, std::int64_t length) {
    std::optional<std::int64_t> first;
    // Reserves no job ids after a failed write, because the next write may take seconds.
    if (!store->is_writable()) return first;
    const Result<void> reserved = store->transact([&](store::Connection& connection) {
      const auto take = [&](const store::Row& row) {
        first = row.number(0);
        return true;
      };
      return connection.each(kReserveJids, take, now, length);
    });
    return reserved ? first : std::nullopt;
  };
}

Result<Runtime> make_runtime(const config::Settings& settings) {
  auto opened = store::Store::open(settings.store);
  if (!opened) return std::move(opened).error();
  std::shared_ptr<store::Store> store = *std::move(opened);
  auto limiter = auth::make_hash_limiter(settings.auth.login_guard);
  if (settings.engine == config::Engine::salt) {
    auto salt = make_salt_engine(settings, store);
    if (!salt) return std::move(salt).error();
    return Runtime{std::move(store), std::move(limiter), *std::move(salt)};
  }
  auto returners = returner::Returners::make(settings.returner, store, system_clock());
  if (!returners) return std::move(returners).error();
  auto runtime = embedded::make_runtime(settings.embedded, *std::move(returners), store, system_clock(),
                                        jid_reserve(store));
  return Runtime{std::move(store), std::move(limiter), std::move(runtime)};
}

Result<std::shared_ptr<master::Master>> make_master(const config::Settings& settings,
                                                    const Runtime& runtime) {
  auto permissions = auth::Permissions::make(settings.auth.external_auth);
  if (!permissions) return std::move(permissions).error();
  if (const auto* salt = std::get_if<SaltEngine>(&runtime.engine)) {
    return make_salt_master(settings, *std::move(permissions), *salt, runtime);
  }
  auto authenticator = auth::Authenticator::make(settings.auth, system_clock(), runtime.store,
                                                 runtime.hash_limiter, runtime.logins);
  if (!authenticator) return std::move(authenticator).error();
  return embedded::make_master(settings.embedded, *std::move(authenticator), *std::move(permissions),
                               std::get<std::shared_ptr<embedded::Runtime>>(runtime.engine));
}

Result<std::string> revoke(const config::Settings& settings, std::string_view eauth,
                           std::string_view username) {
  const std::string& path = settings.store.path;
  std::shared_ptr<store::Store> store;
  if (settings.engine == config::Engine::salt || !settings.auth.tokens_in_etcd) {
    // Does not create a missing store. The service probably uses another path, so a new store would have no
    // effect.
    if (::access(path.c_str(), F_OK) != 0) {
      return Error{ErrorKind::configuration,
                   format("store: {}: {}; expected the database of the rest_fcgi service. Set "
                          "STATE_DIRECTORY to the same folder as the service",
                          path, errno_text()),
                   {}};
    }
    auto opened = store::Store::open({.path = path});
    if (!opened) return std::move(opened).error();
    store = *std::move(opened);
  }
  if (settings.engine != config::Engine::salt) {
    const auto revoked = auth::revoke_tokens_of(settings.auth, store, eauth, username, system_clock());
    if (!revoked) return revoked.error();
    return format("{} valid tokens of {} were revoked.", *revoked, username);
  }
  const auto added =
      auth::RevocationList(store, system_clock()).add_user(eauth, username, system_clock().wall());
  if (!added) return added.error();
  return format(
      "All tokens of {} that were made until now are revoked in {}. The Salt master itself accepts them "
      "until "
      "they expire.",
      username, path);
}

void start(const Runtime& runtime) {
  if (const auto* embedded = std::get_if<std::shared_ptr<embedded::Runtime>>(&runtime.engine)) {
    (*embedded)->announce_minions();
  } else {
    std::get<SaltEngine>(runtime.engine).runtime->join_event_bus();
  }
}

std::size_t shut_down(const Runtime& runtime, SteadyTime deadline) {
  if (const auto* embedded = std::get_if<std::shared_ptr<embedded::Runtime>>(&runtime.engine)) {
    return (*embedded)->shutdown(deadline);
  }
  const auto& salt = std::get<SaltEngine>(runtime.engine);
  const std::size_t running = salt.runtime->shutdown(deadline);
  if (!salt.recorder) return running;
  const auto flushed = salt.recorder->flush(deadline);
  if (flushed) return running;
  log::warning(flushed.error().message);
  return running + 1;  // The job cache that did not end its writes counts as a running job.
}

}  // namespace rest_fcgi::engine

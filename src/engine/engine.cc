// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/engine.h"

#include <unistd.h>

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

Result<SaltEngine> make_salt_engine(const config::Settings& settings) {
  auto runtime = salt::make_runtime(settings.salt, system_clock());
  if (!runtime) return std::move(runtime).error();
  auto logged_out = auth::LoggedOut::make(settings.auth.logged_out, system_clock());
  if (!logged_out) return std::move(logged_out).error();
  SaltEngine salt{*std::move(runtime), *std::move(logged_out), nullptr};
  if (settings.returner.ext_job_cache.empty()) return salt;
  auto returners = returner::Returners::make(settings.returner, system_clock());
  if (!returners) return std::move(returners).error();
  salt.recorder = recording::make_recorder(*std::move(returners), system_clock());
  return salt;
}

Result<std::shared_ptr<master::Master>> make_salt_master(const config::Settings& settings,
                                                         std::unique_ptr<auth::Permissions> permissions,
                                                         const SaltEngine& salt,
                                                         std::shared_ptr<const auth::LoginMemory> memory) {
  auto logins = auth::Logins::make(settings.auth.login_guard, settings.auth.auth_cache_ttl, system_clock(),
                                   std::move(memory), salt.logged_out);
  if (!logins) return std::move(logins).error();
  auto master = salt::make_master(settings.salt, *std::move(logins), std::move(permissions), salt.runtime);
  if (!master || !salt.recorder) return master;
  return recording::make_master(*std::move(master), salt.recorder);
}

}  // namespace

Result<Runtime> make_runtime(const config::Settings& settings) {
  auto logins = auth::open_login_memory(settings.auth.login_guard);
  if (!logins) return std::move(logins).error();
  if (settings.engine == config::Engine::salt) {
    auto salt = make_salt_engine(settings);
    if (!salt) return std::move(salt).error();
    return Runtime{*std::move(logins), *std::move(salt)};
  }
  auto returners = returner::Returners::make(settings.returner, system_clock());
  if (!returners) return std::move(returners).error();
  auto runtime = embedded::make_runtime(settings.embedded, *std::move(returners), system_clock());
  if (!runtime) return std::move(runtime).error();
  return Runtime{*std::move(logins), *std::move(runtime)};
}

Result<std::shared_ptr<master::Master>> make_master(const config::Settings& settings,
                                                    const Runtime& runtime) {
  auto permissions = auth::Permissions::make(settings.auth.external_auth);
  if (!permissions) return std::move(permissions).error();
  if (const auto* salt = std::get_if<SaltEngine>(&runtime.engine)) {
    return make_salt_master(settings, *std::move(permissions), *salt, runtime.logins);
  }
  auto authenticator = auth::Authenticator::make(settings.auth, system_clock(), runtime.logins);
  if (!authenticator) return std::move(authenticator).error();
  return embedded::make_master(settings.embedded, *std::move(authenticator), *std::move(permissions),
                               std::get<std::shared_ptr<embedded::Runtime>>(runtime.engine));
}

Result<std::string> revoke(const config::Settings& settings, std::string_view eauth,
                           std::string_view username) {
  if (settings.engine != config::Engine::salt) {
    // What no responder reads ends nothing, so none is made.
    const std::string place = settings.auth.tokens_in_etcd ? "" : settings.auth.token_dir;
    if (!place.empty() && ::access(place.c_str(), F_OK) != 0) {
      return Error{ErrorKind::configuration, format("token_dir: {}: {}", place, errno_text()), {}};
    }
    const auto ended = auth::end_tokens_of(settings.auth, eauth, username, system_clock());
    if (!ended) return ended.error();
    return format("{} tokens of {} were good, and are no more.", *ended, username);
  }
  auth::LoggedOutOptions file = settings.auth.logged_out;
  file.file_is_default = false;  // what this process remembers alone is of no use
  if (file.file.empty()) {
    return Error{ErrorKind::configuration,
                 "logged_out_file: it is empty, so each process knows its own alone"};
  }
  if (::access(file.file.c_str(), F_OK) != 0) {
    return Error{
        ErrorKind::configuration,
        format("logged_out_file: {}: {}. A service keeps it in its STATE_DIRECTORY: set that here, too, "
               "or name the file in the configuration",
               file.file, errno_text()),
        {}};
  }
  const auto logged_out = auth::LoggedOut::make(file, system_clock());
  if (!logged_out) return logged_out.error();
  const auto now = system_clock().wall();
  // Tokens that were made before the clock was set back have a time to come.
  const auto latest = auth::latest_time(settings.auth.login_guard, system_clock());
  const auto until = latest ? *latest : now;
  if (auto ended = (*logged_out)->end_all(eauth, username, until); !ended) return std::move(ended).error();
  std::string answer = format(
      "No token of {} that was made until now is good any more where {} is read; the Salt master itself "
      "takes them until they expire.",
      username, file.file);
  const auto ahead = std::chrono::floor<std::chrono::seconds>(until - now).count();
  if (!latest) {
    answer += format(
        " Whether the clock was set back is not known; if it was, tokens from before may be good yet: {}.",
        latest.error().message);
  } else if (ahead >= 1) {
    answer += format(
        " The clock was set back: tokens that are made in the next {} seconds are not good either.", ahead);
  }
  return answer;
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
  return running + 1;  // the job caches may still be at it
}

}  // namespace rest_fcgi::engine

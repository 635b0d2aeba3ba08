// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/authenticator.h"

#include <algorithm>
#include <utility>

#include "auth/eauth.h"
#include "auth/login_guard.h"
#include "auth/refusal.h"
#include "auth/token_store.h"
#include "auth/verified_cache.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

std::vector<std::string> names_of(const Groups& groups) {
  return groups ? *groups : std::vector<std::string>();
}

const Eauth* eauth_named(const std::vector<std::unique_ptr<Eauth>>& eauths, std::string_view name) {
  const auto found =
      std::find_if(eauths.begin(), eauths.end(), [&](const auto& one) { return one->name() == name; });
  return found == eauths.end() ? nullptr : found->get();
}

/// Null: tokens are off.
Result<std::unique_ptr<TokenStore>> make_tokens(const Options& options, const Clock& clock) {
  if (options.token_dir.empty()) return std::unique_ptr<TokenStore>();
  auto store = TokenStore::make(options.token_dir, options.token_expire, clock);
  if (store || !options.token_dir_is_default) return store;
  log::warning(format("tokens are off: {}", store.error().message));
  return std::unique_ptr<TokenStore>();
}

}  // namespace

Result<std::unique_ptr<Authenticator>> Authenticator::make(const Options& options, const Clock& clock) {
  auto eauths = make_eauths(options);
  if (!eauths) return std::move(eauths).error();
  auto verified = VerifiedCache::make(options.auth_cache_ttl, clock);
  if (!verified) return std::move(verified).error();
  auto tokens = make_tokens(options, clock);
  if (!tokens) return std::move(tokens).error();
  auto guard = LoginGuard::make(options.login_guard, clock);
  if (!guard) return std::move(guard).error();
  return std::unique_ptr<Authenticator>(
      new Authenticator(*std::move(eauths), *std::move(tokens), *std::move(verified), *std::move(guard)));
}

Authenticator::Authenticator(std::vector<std::unique_ptr<Eauth>> eauths, std::unique_ptr<TokenStore> tokens,
                             std::unique_ptr<VerifiedCache> verified, std::unique_ptr<LoginGuard> guard)
    : eauths_(std::move(eauths)),
      tokens_(std::move(tokens)),
      verified_(std::move(verified)),
      guard_(std::move(guard)) {}

Authenticator::~Authenticator() = default;

Result<Identity> Authenticator::authenticate(const Credentials& credentials) {
  switch (credentials.kind) {
    case Credentials::Kind::eauth:
      return by_eauth(credentials);
    case Credentials::Kind::token:
      return by_token(credentials);
    case Credentials::Kind::none:
      break;
  }
  return refused("form", "there are no credentials", credentials);
}

Result<Identity> Authenticator::by_eauth(const Credentials& credentials) {
  const std::string_view beyond = beyond_limits(credentials);
  if (!beyond.empty()) return refused("limits", beyond, credentials);
  const Eauth* eauth = eauth_named(eauths_, credentials.eauth);
  if (eauth == nullptr) return refused("eauth", "no such back end is on", credentials);
  // Before the cache is asked: it would tell who guesses that a guess was right.
  const auto standing = guard_->check(who_of(credentials));
  if (!standing) return standing.error();
  auto identity = verify(credentials, *eauth);
  if (identity && standing->has_failed) guard_->forgive(who_of(credentials));
  return identity;
}

Result<Identity> Authenticator::verify(const Credentials& credentials, const Eauth& eauth) {
  const LoginGuard::Who who = who_of(credentials);
  const auto known = [&](const Groups& groups) {
    return Identity(std::string(credentials.username), std::string(credentials.eauth), names_of(groups));
  };
  const VerifiedCache::Key key =
      verified_->key(credentials.eauth, credentials.username, credentials.password);
  if (const auto groups = verified_->find(key)) return known(*groups);
  auto attempt = guard_->begin(who);
  if (!attempt) return std::move(attempt).error();
  // While this one waited for its turn, another one may have verified the same password.
  if (const auto groups = verified_->find(key)) return known(*groups);
  auto verdict = eauth.verify({credentials.username, credentials.password, credentials.remote});
  if (!verdict) {
    // A stack that breaks may do so for wrong passwords alone; who is told so has to be as slow as others.
    const bool broke = verdict.error().kind == ErrorKind::internal;
    auto counted = broke ? attempt->failed() : Result<void>();
    return counted ? std::move(verdict).error() : std::move(counted).error();
  }
  if (!verdict->good) {
    if (auto counted = attempt->failed(); !counted) return std::move(counted).error();
    return refused("verification", "unknown user or wrong password", credentials);
  }
  verified_->remember(key, verdict->groups);
  return known(verdict->groups);
}

Result<Identity> Authenticator::by_token(const Credentials& credentials) {
  if (tokens_ == nullptr) return refused("token", "tokens are off", credentials);
  const LoginGuard::Who who = who_of(credentials);
  if (auto open = guard_->check(who); !open) return std::move(open).error();
  auto attempt = guard_->begin(who);
  if (!attempt) return std::move(attempt).error();
  auto record = tokens_->find(credentials.token);
  if (!record) {
    // Who had a token once does not guess.
    const bool guessed = record.error().kind == ErrorKind::authentication;
    auto counted = guessed ? attempt->failed() : Result<void>();
    if (!counted) return std::move(counted).error();
    return refused("token", record.error().message, credentials);
  }
  if (eauth_named(eauths_, record->eauth) == nullptr) {
    return refused("token",
                   format("its eauth \"{}\" is not on (user \"{}\")", record->eauth, for_log(record->name)),
                   credentials);
  }
  return Identity(std::move(record->name), std::move(record->eauth), std::move(record->groups));
}

Result<Secret> Authenticator::make_token(const Identity& identity) {
  if (tokens_ == nullptr) {
    return Error{ErrorKind::invocation, "There are no tokens here: `token_dir` is empty, or cannot be used."};
  }
  auto token = tokens_->add(identity.name(), identity.eauth(), identity.groups());
  if (token) return token;
  log::error(format("a token was not made: {}", token.error().message));
  return Error{ErrorKind::internal, "The token could not be stored; the log has the cause."};
}

std::vector<std::string> Authenticator::eauths() const {
  std::vector<std::string> names;
  for (const auto& eauth : eauths_) names.emplace_back(eauth->name());
  return names;
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/authenticator.h"

#include <algorithm>
#include <utility>

#include "auth/eauth.h"
#include "auth/login_guard.h"
#include "auth/tokens.h"
#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/auth/password_hash_limiter.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

const Eauth* eauth_named(const std::vector<Eauth>& eauths, std::string_view name) {
  const auto found =
      std::find_if(eauths.begin(), eauths.end(), [&](const Eauth& one) { return one.name == name; });
  return found == eauths.end() ? nullptr : &*found;
}

Result<std::unique_ptr<Tokens>> open_tokens(const Options& options, std::shared_ptr<store::Store> store,
                                            const Clock& clock) {
  Result<std::unique_ptr<TokenBackend>> backend = options.tokens_in_etcd
                                                      ? tokens_in_etcd(*options.tokens_in_etcd)
                                                      : tokens_in_store(std::move(store), clock);
  if (!backend) return std::move(backend).error();
  return std::make_unique<Tokens>(*std::move(backend), options.token_expire, clock);
}

Error unreachable(const Error& error) {
  log::error(format("the token storage failed: {}", error.message));
  return {ErrorKind::unavailable, "Tokens cannot be checked now; the log has the cause."};
}

Error not_done(std::string_view what, const Error& error) {
  if (error.kind == ErrorKind::unavailable) return unreachable(error);
  log::error(format("a token was not {}: {}", what, error.message));
  return {ErrorKind::internal, format("The token could not be {}; the log has the cause.", what)};
}

}  // namespace

Result<std::unique_ptr<Authenticator>> Authenticator::make(const Options& options, const Clock& clock,
                                                           std::shared_ptr<store::Store> store,
                                                           std::shared_ptr<PasswordHashLimiter> limiter,
                                                           std::shared_ptr<LoginCounts> counts) {
  if (store == nullptr) {
    auto in_memory = store::Store::open({});
    if (!in_memory) return std::move(in_memory).error();
    store = *std::move(in_memory);
  }
  if (limiter == nullptr) limiter = make_hash_limiter(options.login_guard);
  auto eauths = make_eauths(options, limiter);
  if (!eauths) return std::move(eauths).error();
  auto tokens = open_tokens(options, store, clock);
  if (!tokens) return std::move(tokens).error();
  std::unique_ptr<Authenticator> made(new Authenticator());
  made->eauths_ = *std::move(eauths);
  made->token_life_rule_ = options.token_expire_user_override;
  made->tokens_ = *std::move(tokens);
  made->logins_ = std::make_unique<Logins>(options.login_guard, options.auth_cache_ttl, clock,
                                           std::move(store), nullptr, std::move(counts));
  return made;
}

Authenticator::Authenticator() = default;
Authenticator::~Authenticator() = default;

Result<Identity> Authenticator::authenticate(const Credentials& credentials, SteadyTime deadline) {
  if (credentials.kind == Credentials::Kind::token) {
    auto held = holder(credentials.token);
    return held ? Result(std::move(held->identity)) : std::move(held).error();
  }
  const Eauth* eauth = eauth_named(eauths_, credentials.eauth);
  const auto verify = [&](const Credentials& brought) -> Result<Grant> {
    const Login login{brought.username, brought.password, brought.remote, deadline};
    if (eauth == nullptr) {
      // Checks the password with the back end `file`, so that the refusal takes as long as a wrong password.
      // The time therefore does not show which back ends are enabled.
      if (const Eauth* file = eauth_named(eauths_, "file")) static_cast<void>(file->verify(login));
      return Error{ErrorKind::authentication, "the back end is not enabled"};
    }
    auto verdict = eauth->verify(login);
    if (!verdict) return std::move(verdict).error();
    if (!verdict->good) return Error{ErrorKind::authentication, "unknown user or wrong password"};
    Grant grant{std::string(brought.username), std::string(brought.eauth), std::move(verdict->groups)};
    grant.keep = verdict->keep;
    return grant;
  };
  const std::string stamp = eauth != nullptr && eauth->stamp ? eauth->stamp() : std::string();
  const auto grant = logins_->login(credentials, verify, deadline, stamp);
  if (!grant) return grant.error();
  return Identity((*grant)->name, (*grant)->eauth, (*grant)->groups);
}

Result<TokenLogin> Authenticator::make_token(const Identity& identity,
                                             std::optional<std::chrono::milliseconds> life) {
  if (!token_life_rule_.allows(identity.eauth(), identity.name())) life.reset();
  auto token = tokens_->add(identity.name(), identity.eauth(), identity.groups(), life);
  if (!token) return not_done("made", token.error());
  return holder(*token);
}

Result<TokenLogin> Authenticator::holder(SecretView token) const {
  const Credentials credentials{.kind = Credentials::Kind::token, .token = token};
  auto record = tokens_->find(token);
  if (!record && record.error().kind == ErrorKind::unavailable) return unreachable(record.error());
  if (!record) return refused("token", record.error().message, credentials);
  if (eauth_named(eauths_, record->eauth) == nullptr) {
    return refused(
        "token",
        format("its back end \"{}\" is not enabled (user \"{}\")", record->eauth, for_log(record->name)),
        credentials);
  }
  return TokenLogin{Secret(token.reveal()),
                    Identity(std::move(record->name), std::move(record->eauth), std::move(record->groups)),
                    record->start, record->expire};
}

Result<void> Authenticator::revoke_token(SecretView token) {
  if (const auto held = holder(token); !held) return held.error();
  auto revoked = tokens_->revoke(token);
  if (!revoked) return not_done("revoked", revoked.error());
  return revoked;
}

Result<std::size_t> revoke_tokens_of(const Options& options, std::shared_ptr<store::Store> store,
                                     std::string_view eauth, std::string_view username, const Clock& clock) {
  const auto tokens = open_tokens(options, std::move(store), clock);
  return tokens ? (*tokens)->revoke_all(eauth, username) : tokens.error();
}

std::vector<std::string> Authenticator::eauths() const {
  std::vector<std::string> names;
  for (const Eauth& eauth : eauths_) names.push_back(eauth.name);
  return names;
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

/// The data of a stored token. Value type.
struct TokenRecord {
  std::string name;
  std::string eauth;
  std::vector<std::string> groups;
  WallTime start;
  WallTime expire;
};

/// Stores tokens. The key is the SHA-256 of a token as 64 hexadecimal digits. Thread-safe, also between
/// processes and hosts that share the storage. Errors of all calls: unavailable, if another try may succeed;
/// internal.
class TokenBackend {
 public:
  virtual ~TokenBackend() = default;

  /// Returns the record of the token, or nothing for an unknown token. Can also fail with malformed.
  [[nodiscard]] virtual Result<std::optional<TokenRecord>> find(const std::string& hash) = 0;

  /// Stores a token until the token expires. When the call returns, the token survives a power cut.
  [[nodiscard]] virtual Result<void> add(const std::string& hash, const TokenRecord& record) = 0;

  /// Removes a token. An unknown hash is no error. When the call returns, the removal survives a power cut.
  [[nodiscard]] virtual Result<void> remove(const std::string& hash) = 0;

  /// Removes all tokens that a user got through the back end `eauth`, or through any back end if `eauth` is
  /// empty. Returns how many of them had not expired at `now`. After an error, some of the tokens may still
  /// be valid.
  [[nodiscard]] virtual Result<std::size_t> remove_all(std::string_view eauth, std::string_view name,
                                                       WallTime now) = 0;
};

/// Keeps tokens in the table `token`. A user has at most 1,000 tokens: a further token replaces the oldest.
/// `clock` must outlive the result.
[[nodiscard]] std::unique_ptr<TokenBackend> tokens_in_store(std::shared_ptr<store::Store> store,
                                                            const Clock& clock);

/// Keeps tokens as keys with leases in an etcd cluster, API v3. A call waits at most 5 seconds.
/// Errors: configuration.
[[nodiscard]] Result<std::unique_ptr<TokenBackend>> tokens_in_etcd(const TokensInEtcd& options);

/// Makes tokens and finds their users. Thread-safe.
class Tokens {
 public:
  /// `clock` must outlive the object.
  Tokens(std::unique_ptr<TokenBackend> backend, std::chrono::seconds life, const Clock& clock)
      : backend_(std::move(backend)), life_(life), clock_(clock) {}

  /// Makes and stores a token of 64 hexadecimal digits. The token is valid for `life`, or for the configured
  /// time without `life`. Errors: those of the back end.
  [[nodiscard]] Result<Secret> add(std::string name, std::string eauth, std::vector<std::string> groups,
                                   std::optional<std::chrono::milliseconds> life = {});

  /// Returns the record of a valid token. Errors: authentication; unavailable. The error message is for the
  /// log.
  [[nodiscard]] Result<TokenRecord> find(SecretView token) const;

  /// Removes a token. Errors: those of the back end.
  [[nodiscard]] Result<void> revoke(SecretView token) const;

  /// Removes all tokens of a user, as `TokenBackend::remove_all` does.
  [[nodiscard]] Result<std::size_t> revoke_all(std::string_view eauth, std::string_view name) const {
    return backend_->remove_all(eauth, name, clock_.wall());
  }

 private:
  const std::unique_ptr<TokenBackend> backend_;
  const std::chrono::seconds life_;
  const Clock& clock_;
};

/// Returns the strings of a JSON list. Returns nothing if the value is no list of strings, or if a string is
/// empty.
[[nodiscard]] std::optional<std::vector<std::string>> read_groups(std::optional<JsonValue> value);

}  // namespace rest_fcgi::auth

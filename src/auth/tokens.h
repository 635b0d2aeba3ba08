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

struct TokenRecord {
  std::string name;
  std::string eauth;
  std::vector<std::string> groups;
  WallTime start;
  WallTime expire;
};

/// Stores the records of tokens. The key of a record is the SHA-256 of the token as 64 hexadecimal digits.
/// Processes and hosts may share the storage. A TokenBackend is thread-safe. Errors of all calls:
/// unavailable, if another try may succeed; internal.
class TokenBackend {
 public:
  virtual ~TokenBackend() = default;

  /// Returns the record of a token, or std::nullopt if the token is unknown. Errors: malformed, for a damaged
  /// record.
  virtual Result<std::optional<TokenRecord>> find(const std::string& hash) = 0;

  /// Stores a token until the token expires. The token survives a power cut.
  virtual Result<void> add(const std::string& hash, const TokenRecord& record) = 0;

  /// Removes a token. Also succeeds if the token is unknown. The removal survives a power cut.
  virtual Result<void> remove(const std::string& hash) = 0;

  /// Removes all tokens of the users with this name in the back end `eauth`, or in all back ends if `eauth`
  /// is empty. Returns how many of these tokens were valid at `now`. After an error, some may still be valid.
  virtual Result<std::size_t> remove_all(std::string_view eauth, std::string_view name, WallTime now) = 0;
};

/// Makes a back end that keeps tokens in the table `token` of the store. A user has at most 1,000 tokens. A
/// further token replaces the oldest token. `clock` must outlive the back end.
[[nodiscard]] std::unique_ptr<TokenBackend> tokens_in_store(std::shared_ptr<store::Store> store,
                                                            const Clock& clock);

/// Makes a back end that keeps tokens in an etcd cluster with API v3, as keys with leases. A call waits at
/// most 5 seconds. Errors: configuration.
Result<std::unique_ptr<TokenBackend>> tokens_in_etcd(const TokensInEtcd& options);

class Tokens {
 public:
  Tokens(std::unique_ptr<TokenBackend> backend, std::chrono::seconds life, const Clock& clock)
      : backend_(std::move(backend)), life_(life), clock_(clock) {}

  /// Makes a token of 64 hexadecimal digits. The token is valid for `life`, or for the configured time if
  /// `life` is absent. Errors: those of the back end.
  Result<Secret> add(std::string name, std::string eauth, std::vector<std::string> groups,
                     std::optional<std::chrono::milliseconds> life = {});

  /// Returns the record of a valid token. Errors: authentication, if the token is not valid; unavailable. The
  /// error message is for the log.
  Result<TokenRecord> find(SecretView token) const;

  Result<void> revoke(SecretView token) const;

  Result<std::size_t> revoke_all(std::string_view eauth, std::string_view name) const {
    return backend_->remove_all(eauth, name, clock_.wall());
  }

 private:
  const std::unique_ptr<TokenBackend> backend_;
  const std::chrono::seconds life_;
  const Clock& clock_;
};

/// Reads a JSON list of group names. Returns std::nullopt if the value is not a list of strings, or if a
/// string is empty.
[[nodiscard]] std::optional<std::vector<std::string>> read_groups(std::optional<JsonValue> value);

}  // namespace rest_fcgi::auth

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

/// What is stored for a token. Value type.
struct TokenRecord {
  std::string name;
  std::string eauth;
  std::vector<std::string> groups;
  WallTime start;
  WallTime expire;
};

/// How long an ended token is known. A request with a known token is not counted as a guess.
inline constexpr std::chrono::hours kKnownAfterEnd{24};

/// A place of tokens, by the SHA-256 of each token as 64 hexadecimal digits. Thread-safe, and safe between
/// processes and hosts that share it. Errors of all calls: unavailable, where the place does not answer for
/// now; internal. The message is for the log.
class TokenBackend {
 public:
  virtual ~TokenBackend() = default;

  /// Returns the token's record; absent where there is none. Errors also: malformed.
  [[nodiscard]] virtual Result<std::optional<TokenRecord>> find(const std::string& hash) = 0;

  /// Stores a token until `kKnownAfterEnd` after its end. After return it survives a power cut.
  [[nodiscard]] virtual Result<void> add(const std::string& hash, const TokenRecord& record) = 0;

  /// Removes a token for good. An unknown hash is no error.
  [[nodiscard]] virtual Result<void> remove(const std::string& hash) = 0;

  /// Ends all tokens of a user at `now`, those of all back ends where `eauth` is empty. Returns how many were
  /// good. After an error, some of them may still be good.
  [[nodiscard]] virtual Result<std::size_t> end_all(std::string_view eauth, std::string_view name,
                                                    WallTime now) = 0;
};

/// Tokens in the table `token`. At most 1,000 tokens of one user are kept: the next one replaces the oldest.
/// `clock` must outlive the result.
[[nodiscard]] std::unique_ptr<TokenBackend> tokens_in_store(std::shared_ptr<store::Store> store,
                                                            const Clock& clock);

/// Tokens as keys of an etcd cluster, API v3, for all hosts that use it. Each has a lease. A call waits for 5
/// seconds at most. Errors: configuration.
[[nodiscard]] Result<std::unique_ptr<TokenBackend>> tokens_in_etcd(const TokensInEtcd& options);

/// Makes tokens and finds their users. Thread-safe.
class Tokens {
 public:
  /// `clock` must outlive the object.
  Tokens(std::unique_ptr<TokenBackend> backend, std::chrono::seconds life, const Clock& clock)
      : backend_(std::move(backend)), life_(life), clock_(clock) {}

  /// Stores a new token of 64 hexadecimal digits, which lives for `life`, or else as long as all tokens.
  /// Errors: those of the back end.
  [[nodiscard]] Result<Secret> add(std::string name, std::string eauth, std::vector<std::string> groups,
                                   std::optional<std::chrono::milliseconds> life = {});

  /// Returns the record of a good token. Only 40 to 128 hexadecimal digits are looked up. Errors: not_found,
  /// for a token that has ended; authentication; unavailable. The message is for the log.
  [[nodiscard]] Result<TokenRecord> find(SecretView token) const;

  /// Removes a token. Errors: those of the back end.
  [[nodiscard]] Result<void> revoke(SecretView token) const;

  /// See `TokenBackend::end_all`.
  [[nodiscard]] Result<std::size_t> revoke_all(std::string_view eauth, std::string_view name) const {
    return backend_->end_all(eauth, name, clock_.wall());
  }

 private:
  const std::unique_ptr<TokenBackend> backend_;
  const std::chrono::seconds life_;
  const Clock& clock_;
};

/// Returns the strings of a JSON list; absent for anything else, and where one of them is empty.
[[nodiscard]] std::optional<std::vector<std::string>> read_groups(std::optional<JsonValue> value);

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/digest.h"
#include "auth/files.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// What is stored for a token: whose it is and how long it is good. Value type.
struct TokenRecord {
  std::string name;
  std::string eauth;
  std::vector<std::string> groups;
  WallTime start;
  WallTime expire;
};

/// One JSON object with Salt's names for a token's data.
[[nodiscard]] std::string to_json(const TokenRecord& record);

/// Errors: malformed, for anything that `to_json` would not have written; a life that ends before it starts
/// included.
Result<TokenRecord> read_token_record(std::string_view json);

/// Tokens as files in one directory, which is all that processes share about them. A file is named after the
/// SHA-256 of its token, so whoever reads the directory learns no token. Thread-safe, and safe between
/// processes.
class TokenStore {
 public:
  /// Makes the directory, and the one above it, where they are missing. `clock` has to outlive the store.
  /// Errors: configuration, for a directory that cannot be used or that somebody else may write to.
  static Result<std::unique_ptr<TokenStore>> make(const std::string& directory, std::chrono::seconds life,
                                                  const Clock& clock);
  TokenStore(UniqueFd directory, DigestAlgorithm sha256, std::chrono::seconds life, const Clock& clock);

  /// Stores a new token, and now and then removes those that have expired. Errors: internal, with the cause.
  Result<Secret> add(std::string name, std::string eauth, std::vector<std::string> groups);

  /// Whose token is it? Removes it where it has expired. Only 40 to 128 hexadecimal digits are looked up.
  /// Errors: not_found, where it has expired; authentication; internal. The message is for the log alone.
  [[nodiscard]] Result<TokenRecord> find(SecretView token) const;

  /// From now on nobody finds it, in no process. One that is not there is no failure. REQUIRES: a token that
  /// was found. Errors: internal, with the cause.
  [[nodiscard]] Result<void> remove(SecretView token) const;

 private:
  [[nodiscard]] std::string file_of(SecretView token) const;
  [[nodiscard]] Result<TokenRecord> read(const std::string& file) const;
  [[nodiscard]] Result<void> write(const std::string& file, std::string_view content) const;
  void remove(const std::string& file) const;
  void purge_now_and_then();
  void purge() const;

  // constant after construction
  UniqueFd directory_;
  DigestAlgorithm sha256_;
  std::chrono::seconds life_;
  const Clock& clock_;
  // synchronizes itself
  std::atomic<SteadyTime> next_purge_;
};

}  // namespace rest_fcgi::auth

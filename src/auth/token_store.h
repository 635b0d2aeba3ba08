// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/digest.h"
#include "rest_fcgi/auth/options.h"
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

/// Where tokens' data lies: under the SHA-256 of each token, 64 hexadecimal digits, so that whoever reads it
/// there learns no token. Thread-safe, and safe between all that share it.
///
/// Errors of every call: unavailable, where it does not answer for now; internal. Both with the cause, for
/// the log.
class TokenShelf {
 public:
  virtual ~TokenShelf() = default;

  /// Absent where there is none. Errors also: malformed, for what no shelf would have put there.
  [[nodiscard]] virtual Result<std::optional<std::string>> get(const std::string& digits) = 0;

  /// Puts it there, in place of what was there, for `life` and so until `end`: some time after it the data
  /// may go.
  [[nodiscard]] virtual Result<void> put(const std::string& digits, const std::string& data,
                                         std::chrono::seconds life, WallTime end) = 0;

  /// When it returns, nobody gets it any more. What is not there is no failure.
  [[nodiscard]] virtual Result<void> remove(const std::string& digits) = 0;

  /// Shows all that is there, in no order; some of it twice, where it is replaced meanwhile.
  using Visit = std::function<Result<void>(const std::string& digits, std::string_view data)>;
  [[nodiscard]] virtual Result<void> each(const Visit& visit) = 0;

  /// When does the data say that it ends? Absent for what nobody but others can have put there.
  using EndOf = std::function<std::optional<WallTime>(std::string_view data)>;

  /// Called now and then: removes some of what has ended, where that does not go by itself. It takes little
  /// time, however much there is. True: it has to be called again for the rest.
  virtual bool purge(WallTime now, const EndOf& end_of) = 0;
};

/// Files in one directory, which all processes of a host may share. It, and the one above it, are made where
/// they are missing. Errors: configuration, for one that cannot be used, or that somebody else may write to.
Result<std::unique_ptr<TokenShelf>> token_files(const std::string& directory);

/// Keys in an etcd cluster, API v3, for all hosts that use it; each with a lease, so that it goes by itself.
/// A call waits for 5 seconds at most. Errors: configuration.
Result<std::unique_ptr<TokenShelf>> tokens_in_etcd(const TokensInEtcd& options);

/// Makes tokens, and knows whose they are. One that has expired, or was ended with all of its user's, is
/// known for a day as one that was good: whoever brings it guesses nothing. Of one that was logged out
/// nothing is left. Thread-safe.
class TokenStore {
 public:
  /// `clock` has to outlive the store. Errors: configuration.
  static Result<std::unique_ptr<TokenStore>> make(std::unique_ptr<TokenShelf> shelf,
                                                  std::chrono::seconds life, const Clock& clock);
  TokenStore(std::unique_ptr<TokenShelf> shelf, DigestAlgorithm sha256, std::chrono::seconds life,
             const Clock& clock);

  /// Stores a new token, and now and then removes some of those that have expired. Errors: unavailable or
  /// internal, with the cause.
  /// `life`: in place of that of the store.
  Result<Secret> add(std::string name, std::string eauth, std::vector<std::string> groups,
                     std::optional<std::chrono::milliseconds> life = {});

  /// Whose token is it? Only 40 to 128 hexadecimal digits are looked up.
  /// Errors: not_found, where it has ended; authentication; unavailable, where nobody can know for now.
  /// The message is for the log alone.
  [[nodiscard]] Result<TokenRecord> find(SecretView token) const;

  /// Forgets it, in all processes. One that is not there is no failure. Errors: unavailable or
  /// internal, with the cause.
  [[nodiscard]] Result<void> end(SecretView token) const;

  /// Ends all tokens of a user, those that any back end vouched for where `eauth` is empty. How many there
  /// were. Errors: unavailable or internal, with the cause: then some may be good yet.
  [[nodiscard]] Result<std::size_t> end_all(std::string_view eauth, std::string_view name) const;

 private:
  [[nodiscard]] Result<void> put_end(const std::string& digits, TokenRecord record) const;
  [[nodiscard]] std::string digits_of(SecretView token) const;
  [[nodiscard]] WallTime::duration ahead_of_steady() const;
  void purge_now_and_then();

  // constant after construction
  std::unique_ptr<TokenShelf> shelf_;
  DigestAlgorithm sha256_;
  std::chrono::seconds life_;
  const Clock& clock_;
  // synchronizes itself
  std::atomic<SteadyTime> next_purge_;
  std::atomic<WallTime::duration> ahead_;  // of the steady time, when a purge was due last
};

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/revocation_list.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "auth/digest.h"
#include "auth/rows.h"
#include "rest_fcgi/auth/credentials.h"

namespace rest_fcgi::auth {
namespace {

using store::Connection;
using store::Row;

constexpr std::chrono::seconds kKeepUsers = kLongestTokenLife + std::chrono::hours(24);

constexpr const char* kInsertToken =
    "INSERT INTO revoked_token (hash, until) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
constexpr const char* kInsertUser =
    "INSERT OR REPLACE INTO revoked_user (eauth, user, made_until) VALUES (?, ?, ?)";
constexpr const char* kLastToken = "SELECT max(id) FROM revoked_token";
constexpr const char* kLastUser = "SELECT max(id) FROM revoked_user";
constexpr const char* kNewTokens = "SELECT id, hash, until FROM revoked_token WHERE id > ? ORDER BY id";
constexpr const char* kNewUsers =
    "SELECT id, eauth, user, made_until FROM revoked_user WHERE id > ? ORDER BY id";
constexpr const char* kRemoveTokens =
    "DELETE FROM revoked_token WHERE id IN (SELECT id FROM revoked_token WHERE until <= ? LIMIT ?)";
constexpr const char* kRemoveUsers =
    "DELETE FROM revoked_user WHERE id IN (SELECT id FROM revoked_user WHERE made_until <= ? LIMIT ?)";

class StoredRevocations final : public RevocationList {
 public:
  StoredRevocations(std::shared_ptr<store::Store> store, const Clock& clock)
      : store_(std::move(store)), clock_(clock) {}

  Result<void> start() {
    Result<void> read = refresh();
    if (read) {
      refreshing_ = store_->every_second([this] {
        static_cast<void>(refresh());  // the store says why not
        remove_expired();
      });
    }
    return read;
  }

  [[nodiscard]] bool has(SecretView token) const override {
    const std::string hash = sha256_digits({token.reveal()});
    const std::shared_lock lock(mutex_);
    const auto found = tokens_.find(hash);
    return found != tokens_.end() && found->second > clock_.wall();
  }

  [[nodiscard]] bool has_user(std::string_view eauth, std::string_view name, WallTime start) const override {
    const std::shared_lock lock(mutex_);
    for (const std::string_view of : {eauth, std::string_view()}) {
      const auto found = users_.find({std::string(of), std::string(name)});
      if (found != users_.end() && start <= found->second) return true;
    }
    return false;
  }

  Result<void> add(SecretView token, WallTime expire) override {
    return added(store_->execute(kInsertToken, sha256_digits({token.reveal()}), row_time(expire)));
  }

  Result<void> add_user(std::string_view eauth, std::string_view name, WallTime made_until) override {
    return added(store_->execute(kInsertUser, eauth, name, row_time(made_until)));
  }

 private:
  Result<void> added(const Result<std::int64_t>& inserted) {
    if (!inserted) return inserted.error();
    Result<void> read = refresh();
    return read ? store_->sync() : read;
  }

  /// Reads the rows that came since the last call.
  Result<void> refresh() {
    return store_->read([this](Connection& from) -> Result<void> {
      const std::unique_lock lock(mutex_);
      if (Result<void> found = find_start(from, kLastToken, last_token_); !found) return found;
      if (Result<void> found = find_start(from, kLastUser, last_user_); !found) return found;
      const auto take_token = [this](const Row& row) {
        last_token_ = row.number(0);
        tokens_.insert_or_assign(std::string(row.text(1)), time_at(row.number(2)));
        return true;
      };
      const auto take_user = [this](const Row& row) {
        last_user_ = row.number(0);
        users_.insert_or_assign({std::string(row.text(1)), std::string(row.text(2))}, time_at(row.number(3)));
        return true;
      };
      Result<void> read = from.each(kNewTokens, take_token, last_token_);
      return read ? from.each(kNewUsers, take_user, last_user_) : read;
    });
  }

  /// A database that took the place of a removed one counts from 1 again.
  static Result<void> find_start(Connection& from, const char* last_id, std::int64_t& last) {
    const auto found = from.number(last_id);
    if (!found) return found.error();
    if (found->value_or(0) < last) last = 0;
    return {};
  }

  void remove_expired() {
    const WallTime now = clock_.wall();
    remove_ended(*store_, kRemoveTokens, now);
    remove_ended(*store_, kRemoveUsers, now - kKeepUsers);
    const std::unique_lock lock(mutex_);
    if (now < next_look_) return;
    next_look_ = now + std::chrono::minutes(1);
    std::erase_if(tokens_, [now](const auto& entry) { return entry.second <= now; });
    std::erase_if(users_, [now](const auto& entry) { return entry.second <= now - kKeepUsers; });
  }

  const std::shared_ptr<store::Store> store_;
  const Clock& clock_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, WallTime> tokens_;  // hash and end; guarded by mutex_, as all below
  std::map<std::pair<std::string, std::string>, WallTime> users_;  // back end and name
  std::int64_t last_token_ = 0;
  std::int64_t last_user_ = 0;
  WallTime next_look_;
  store::Store::Registration refreshing_;  // ends first
};

}  // namespace

Result<std::shared_ptr<RevocationList>> RevocationList::make(std::shared_ptr<store::Store> store,
                                                             const Clock& clock) {
  auto made = std::make_shared<StoredRevocations>(std::move(store), clock);
  if (Result<void> started = made->start(); !started) return std::move(started).error();
  return std::shared_ptr<RevocationList>(std::move(made));
}

}  // namespace rest_fcgi::auth

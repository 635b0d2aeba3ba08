// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/revocation_list.h"

#include <utility>

#include "auth/digest.h"
#include "auth/rows.h"
#include "rest_fcgi/auth/credentials.h"

// A row of `revoked_token` is (hash, until). The token with this SHA-256 is refused. The row may be removed
// after `until`, because the token has then expired.
// A row of `revoked_user` is (eauth, user, made_until). The user's tokens that began at `made_until` or
// earlier are refused. An empty `eauth` means all back ends. The row stays for `kKeepUsers`, which is longer
// than the longest life of a token.

namespace rest_fcgi::auth {
namespace {

constexpr std::chrono::seconds kKeepUsers = kLongestTokenLife + std::chrono::hours(24);

constexpr const char* kFindRevokedToken = "SELECT 1 FROM revoked_token WHERE hash = ?";
constexpr const char* kFindRevokedUser =
    "SELECT 1 FROM revoked_user WHERE eauth IN (?, '') AND user = ? AND made_until >= ?";
constexpr const char* kInsertToken =
    "INSERT INTO revoked_token (hash, until) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
constexpr const char* kInsertUser =
    "INSERT OR REPLACE INTO revoked_user (eauth, user, made_until) VALUES (?, ?, ?)";
constexpr const char* kRemoveTokens =
    "DELETE FROM revoked_token WHERE hash IN (SELECT hash FROM revoked_token WHERE until <= ? LIMIT ?)";
constexpr const char* kRemoveUsers =
    "DELETE FROM revoked_user WHERE id IN (SELECT id FROM revoked_user WHERE made_until <= ? LIMIT ?)";

template <class... Values>
Result<bool> has_row(store::Store& store, const char* sql, const Values&... values) {
  const auto found = store.read([&](store::Connection& from) { return from.number(sql, values...); });
  return found ? Result(found->has_value()) : found.error();
}

}  // namespace

RevocationList::RevocationList(std::shared_ptr<store::Store> store, const Clock& clock)
    : store_(std::move(store)) {
  cleaning_ = store_->every_second([store = store_.get(), &clock] {
    remove_ended(*store, kRemoveTokens, clock.wall());
    remove_ended(*store, kRemoveUsers, clock.wall() - kKeepUsers);
  });
}

Result<bool> RevocationList::has(SecretView token) const {
  return has_row(*store_, kFindRevokedToken, sha256_digits({token.reveal()}));
}

Result<bool> RevocationList::has_user(std::string_view eauth, std::string_view name, WallTime start) const {
  return has_row(*store_, kFindRevokedUser, eauth, name, row_time(start));
}

Result<void> RevocationList::add(SecretView token, WallTime expire) {
  const auto added = store_->execute(kInsertToken, sha256_digits({token.reveal()}), row_time(expire));
  return added ? store_->sync() : added.error();
}

Result<void> RevocationList::add_user(std::string_view eauth, std::string_view name, WallTime made_until) {
  const auto added = store_->execute(kInsertUser, eauth, name, row_time(made_until));
  return added ? store_->sync() : added.error();
}

}  // namespace rest_fcgi::auth

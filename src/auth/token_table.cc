// SPDX-License-Identifier: MIT
#include <utility>

#include "auth/rows.h"
#include "auth/tokens.h"
#include "rest_fcgi/core/json.h"

namespace rest_fcgi::auth {
namespace {

using store::Connection;
using store::Row;

constexpr std::int64_t kMostOfUser = 1000;

constexpr const char* kFindToken = "SELECT user, eauth, groups, start, expire FROM token WHERE hash = ?";
constexpr const char* kAddToken =
    "INSERT INTO token (hash, user, eauth, groups, start, expire) VALUES (?, ?, ?, ?, ?, ?)";
constexpr const char* kRemoveOldest =
    "DELETE FROM token WHERE hash IN (SELECT hash FROM token WHERE user = ? AND eauth = ?"
    " ORDER BY start DESC LIMIT -1 OFFSET ?)";
constexpr const char* kRemoveToken = "DELETE FROM token WHERE hash = ?";
constexpr const char* kEndAll =
    "UPDATE token SET expire = ?1 WHERE user = ?2 AND (eauth = ?3 OR ?3 = '') AND expire > ?1";
constexpr const char* kRemoveExpired =
    "DELETE FROM token WHERE hash IN (SELECT hash FROM token WHERE expire <= ? LIMIT ?)";

std::string groups_json(const std::vector<std::string>& groups) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const std::string& group : groups) writer.string(group);
  writer.end_array();
  return text;
}

class TokenTable final : public TokenBackend {
 public:
  TokenTable(std::shared_ptr<store::Store> store, const Clock& clock) : store_(std::move(store)) {
    cleaning_ = store_->every_second([store = store_.get(), &clock] {
      remove_ended(*store, kRemoveExpired, clock.wall() - kKnownAfterEnd);
    });
  }

  Result<std::optional<TokenRecord>> find(const std::string& hash) override {
    std::optional<TokenRecord> record;
    const auto take = [&](const Row& row) {
      const JsonDocument groups = own_document(Json::trusted(std::string(row.text(2))));
      record = {std::string(row.text(0)), std::string(row.text(1)),
                read_groups(groups.root()).value_or(std::vector<std::string>()), time_at(row.number(3)),
                time_at(row.number(4))};
      return false;
    };
    Result<void> read = store_->read([&](Connection& from) { return from.each(kFindToken, take, hash); });
    return read ? Result(std::move(record)) : std::move(read).error();
  }

  Result<void> add(const std::string& hash, const TokenRecord& record) override {
    const std::string groups = groups_json(record.groups);
    return synced(store_->transact([&](Connection& connection) -> Result<void> {
      const auto added = connection.execute(kAddToken, hash, record.name, record.eauth, groups,
                                            row_time(record.start), row_time(record.expire));
      if (!added) return added.error();
      const auto removed = connection.execute(kRemoveOldest, record.name, record.eauth, kMostOfUser);
      return removed ? Result<void>() : removed.error();
    }));
  }

  Result<void> remove(const std::string& hash) override {
    const auto removed = store_->execute(kRemoveToken, hash);
    return synced(removed ? Result<void>() : removed.error());
  }

  Result<std::size_t> end_all(std::string_view eauth, std::string_view name, WallTime now) override {
    const auto ended = store_->execute(kEndAll, row_time(now), name, eauth);
    const Result<void> kept = synced(ended ? Result<void>() : ended.error());
    return kept ? Result(static_cast<std::size_t>(*ended)) : kept.error();
  }

 private:
  Result<void> synced(const Result<void>& done) const { return done ? store_->sync() : done; }

  const std::shared_ptr<store::Store> store_;
  store::Store::Registration cleaning_;
};

}  // namespace

std::unique_ptr<TokenBackend> tokens_in_store(std::shared_ptr<store::Store> store, const Clock& clock) {
  return std::make_unique<TokenTable>(std::move(store), clock);
}

}  // namespace rest_fcgi::auth

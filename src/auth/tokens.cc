// SPDX-License-Identifier: MIT
#include "auth/tokens.h"

#include <utility>

#include "auth/digest.h"
#include "auth/rows.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/text.h"

// A new token is 32 random bytes as 64 hexadecimal digits in lower case. The table `token` has one row for
// each token, and the SHA-256 of the token instead of the token (store/open.cc). Invariants of the table:
// - A user of a back end has at most `kMostOfUser` rows.
// - An expired row may remain for some seconds. `Tokens::find` therefore checks `expire`.

namespace rest_fcgi::auth {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kMinDigits = 40;
constexpr std::size_t kMaxDigits = 128;
constexpr std::int64_t kMostOfUser = 1000;

constexpr const char* kFindToken = "SELECT user, eauth, groups, start, expire FROM token WHERE hash = ?";
constexpr const char* kAddToken =
    "INSERT INTO token (hash, user, eauth, groups, start, expire) VALUES (?, ?, ?, ?, ?, ?)";
constexpr const char* kRemoveOldest =
    "DELETE FROM token WHERE hash IN (SELECT hash FROM token WHERE user = ? AND eauth = ?"
    " ORDER BY start DESC LIMIT -1 OFFSET ?)";
constexpr const char* kRemoveToken = "DELETE FROM token WHERE hash = ?";
constexpr const char* kRemoveAll =
    "DELETE FROM token WHERE user = ?2 AND (eauth = ?3 OR ?3 = '') AND expire > ?1";
constexpr const char* kRemoveExpired =
    "DELETE FROM token WHERE hash IN (SELECT hash FROM token WHERE expire <= ? LIMIT ?)";

Error refused_token(std::string cause) {
  return {ErrorKind::authentication, std::move(cause)};
}

class TokenTable final : public TokenBackend {
 public:
  TokenTable(std::shared_ptr<store::Store> store, const Clock& clock) : store_(std::move(store)) {
    cleaning_ = store_->every_second(
        [store = store_.get(), &clock] { remove_ended(*store, kRemoveExpired, clock.wall()); });
  }

  Result<std::optional<TokenRecord>> find(const std::string& hash) override {
    const auto record_in = [](const store::Row& row) {
      const JsonDocument groups = own_document(Json::trusted(std::string(row.text(2))));
      return TokenRecord{std::string(row.text(0)), std::string(row.text(1)),
                         read_groups(groups.root()).value_or(std::vector<std::string>()),
                         time_at(row.number(3)), time_at(row.number(4))};
    };
    return store_->read([&](store::Connection& from) { return from.first(kFindToken, record_in, hash); });
  }

  Result<void> add(const std::string& hash, const TokenRecord& record) override {
    const Json groups = written_json([&](JsonWriter& writer) { write_strings(writer, record.groups); });
    const Result<void> added = store_->transact([&](store::Connection& connection) -> Result<void> {
      const auto put = connection.execute(kAddToken, hash, record.name, record.eauth, groups.text(),
                                          row_time(record.start), row_time(record.expire));
      if (!put) return put.error();
      return connection.execute(kRemoveOldest, record.name, record.eauth, kMostOfUser).without_value();
    });
    return added ? store_->sync() : added;
  }

  Result<void> remove(const std::string& hash) override {
    const auto removed = store_->execute(kRemoveToken, hash);
    return removed ? store_->sync() : removed.error();
  }

  Result<std::size_t> remove_all(std::string_view eauth, std::string_view name, WallTime now) override {
    const auto removed = store_->execute(kRemoveAll, row_time(now), name, eauth);
    const Result<void> synced = removed ? store_->sync() : removed.error();
    return synced ? Result(static_cast<std::size_t>(*removed)) : synced.error();
  }

 private:
  const std::shared_ptr<store::Store> store_;
  store::Store::Registration cleaning_;
};

}  // namespace

std::unique_ptr<TokenBackend> tokens_in_store(std::shared_ptr<store::Store> store, const Clock& clock) {
  return std::make_unique<TokenTable>(std::move(store), clock);
}

Result<Secret> Tokens::add(std::string name, std::string eauth, std::vector<std::string> groups,
                           std::optional<std::chrono::milliseconds> life) {
  Secret token(to_hex(random_bytes(kTokenBytes)));
  const WallTime now = clock_.wall();
  const TokenRecord record{std::move(name), std::move(eauth), std::move(groups), now,
                           now + life.value_or(life_)};
  auto added = backend_->add(sha256_digits({token.reveal().text}), record);
  return added ? Result(std::move(token)) : std::move(added).error();
}

Result<TokenRecord> Tokens::find(SecretView token) const {
  const std::string_view text = token.reveal();
  if (text.size() < kMinDigits || text.size() > kMaxDigits || !only_of(text, kHexDigits)) {
    return refused_token("the token is malformed: expected 40 to 128 hexadecimal digits");
  }
  const std::string hash = sha256_digits({text});
  auto found = backend_->find(hash);
  if (!found && found.error().kind == ErrorKind::unavailable) return std::move(found).error();
  if (!found) return refused_token(format("{}: {}", hash, found.error().message));
  if (!*found) return refused_token("unknown token");
  TokenRecord record = **std::move(found);
  if (record.expire > clock_.wall()) return record;
  return refused_token(format("the token has expired (user {})", record.name));
}

Result<void> Tokens::revoke(SecretView token) const {
  return backend_->remove(sha256_digits({token.reveal()}));
}

std::optional<std::vector<std::string>> read_groups(std::optional<JsonValue> value) {
  if (!value || !value->is(JsonValue::Kind::array)) return std::nullopt;
  std::vector<std::string> groups;
  for (const JsonValue element : value->elements()) {
    if (!element.is(JsonValue::Kind::string) || element.text().empty()) return std::nullopt;
    groups.emplace_back(element.text());
  }
  return groups;
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "auth/tokens.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::chrono::seconds kMostWait{5};
constexpr std::int64_t kPage = 1000;

etcd::Deadline soon() {
  return std::chrono::steady_clock::now() + kMostWait;
}

/// A cluster that does not answer may do so later; one that refuses its user has the wrong configuration.
Error failure(const Error& error) {
  const bool may_pass = error.kind == ErrorKind::unavailable || error.kind == ErrorKind::timeout;
  return {may_pass ? ErrorKind::unavailable : ErrorKind::internal, format("etcd: {}", error.message)};
}

double to_seconds(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// Absent where the value is no number of seconds that a WallTime can hold.
std::optional<WallTime> read_time(std::optional<JsonValue> value) {
  constexpr double kLatest = 1e11;
  const std::optional<double> since_epoch = value ? value->number() : std::nullopt;
  if (!since_epoch || !(*since_epoch >= 0 && *since_epoch <= kLatest)) return std::nullopt;
  return WallTime(
      std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(*since_epoch)));
}

/// Returns one JSON object with Salt's names for a token's data.
std::string to_json(const TokenRecord& record) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.key("start").number(to_seconds(record.start));
  writer.key("expire").number(to_seconds(record.expire));
  writer.key("name").string(record.name);
  writer.key("eauth").string(record.eauth);
  writer.key("groups").begin_array();
  for (const std::string& group : record.groups) writer.string(group);
  writer.end_array().end_object();
  return text;
}

/// Errors: malformed, for anything that `to_json` would not have written.
Result<TokenRecord> read_record(std::string_view json) {
  const Error malformed{ErrorKind::malformed, "the token's data is malformed"};
  JsonDocument document;
  if (!document.parse(json)) return malformed;
  const JsonValue root = document.root();
  const auto text_of = [&root](std::string_view key) {
    const JsonValue value = root.find(key).value_or(JsonValue());
    return std::string(value.is(JsonValue::Kind::string) ? value.text() : "");
  };
  std::string name = text_of("name");
  std::string eauth = text_of("eauth");
  auto groups = read_groups(root.find("groups"));
  const auto start = read_time(root.find("start"));
  const auto expire = read_time(root.find("expire"));
  if (name.empty() || eauth.empty() || !groups || !start || !expire || *expire < *start) return malformed;
  return TokenRecord{std::move(name), std::move(eauth), *std::move(groups), *start, *expire};
}

/// A key for each token. Each has a lease of its own, so that expired tokens go by themselves. A cluster
/// bears some 100,000 leases.
class TokensInCluster final : public TokenBackend {
 public:
  TokensInCluster(std::unique_ptr<etcd::Client> client, std::string folder)
      : client_(std::move(client)), folder_(std::move(folder)) {}

  Result<std::optional<TokenRecord>> find(const std::string& hash) override {
    const auto found = client_->range({.key = folder_ + hash}, soon());
    if (!found) return failure(found.error());
    if (found->kvs.empty()) return std::optional<TokenRecord>();
    auto record = read_record(found->kvs.front().value);
    return record ? Result(std::optional(*std::move(record))) : std::move(record).error();
  }

  Result<void> add(const std::string& hash, const TokenRecord& record) override {
    const etcd::Deadline deadline = soon();
    const auto life = std::chrono::ceil<std::chrono::seconds>(record.expire - record.start) + kKnownAfterEnd;
    const auto lease = client_->lease_grant(life, deadline);
    if (!lease) return failure(lease.error());
    const auto done =
        client_->put({.key = folder_ + hash, .value = to_json(record), .lease = *lease}, deadline);
    if (done) {
      if (*done) end_lease_of(**done);
      return {};
    }
    static_cast<void>(client_->lease_revoke(*lease, soon()));  // with the key, if that is there after all
    return failure(done.error());
  }

  Result<void> remove(const std::string& hash) override {
    const auto done = client_->delete_key(folder_ + hash, soon());
    if (!done) return failure(done.error());
    if (*done) end_lease_of(**done);
    return {};
  }

  Result<std::size_t> end_all(std::string_view eauth, std::string_view name, WallTime now) override {
    std::size_t ended = 0;
    etcd::RangeRequest request{.key = folder_, .range_end = etcd::prefix_end(folder_), .limit = kPage};
    for (bool more = true; more;) {
      const auto page = client_->range(request, soon());
      if (!page) return failure(page.error());
      for (const etcd::KeyValue& pair : page->kvs) {
        auto record = read_record(pair.value);
        const bool is_users = record && record->name == name && (eauth.empty() || record->eauth == eauth);
        if (!is_users || record->expire <= now) continue;
        record->start = std::min(record->start, now);
        record->expire = record->start;
        if (auto done = add(pair.key.substr(folder_.size()), *record); !done) return std::move(done).error();
        ++ended;
      }
      more = page->more && !page->kvs.empty();
      if (more) request.key = page->kvs.back().key + '\0';
    }
    return ended;
  }

 private:
  /// A lease that stays is harmless, and ends by itself.
  void end_lease_of(const etcd::KeyValue& pair) const {
    if (pair.lease != 0) static_cast<void>(client_->lease_revoke(pair.lease, soon()));
  }

  const std::unique_ptr<etcd::Client> client_;  // synchronizes itself
  const std::string folder_;
};

}  // namespace

Result<std::unique_ptr<TokenBackend>> tokens_in_etcd(const TokensInEtcd& options) {
  auto client = etcd::Client::make(options.cluster);
  if (!client) return Error{ErrorKind::configuration, format("eauth_tokens: {}", client.error().message)};
  return std::unique_ptr<TokenBackend>(
      std::make_unique<TokensInCluster>(*std::move(client), options.root + "/"));
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include <chrono>
#include <optional>
#include <utility>

#include "auth/etcd_calls.h"
#include "auth/tokens.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/etcd/client.h"

// A token in etcd is one key:
//   key    ROOT/HASH. HASH is the SHA-256 of the token as 64 hexadecimal digits.
//   value  {"start": S, "expire": S, "name": "fred", "eauth": "pam", "groups": ["g", ...]}. S are seconds
//          since 1970, with a fraction.
//   lease  `expire` minus `start`, rounded up to whole seconds. Each token has its own lease.

namespace rest_fcgi::auth {
namespace {

constexpr std::int64_t kPage = 1000;

double to_seconds(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// Returns std::nullopt if the seconds since 1970 do not fit into a WallTime.
std::optional<WallTime> read_time(std::optional<JsonValue> value) {
  constexpr double kLatest = 1e11;
  const std::optional<double> since_epoch = value ? value->number() : std::nullopt;
  if (!since_epoch || !(*since_epoch >= 0 && *since_epoch <= kLatest)) return std::nullopt;
  return WallTime(
      std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(*since_epoch)));
}

std::string to_json(const TokenRecord& record) {
  return std::string(written_object([&](JsonWriter& writer) {
                       writer.key("start").number(to_seconds(record.start));
                       writer.key("expire").number(to_seconds(record.expire));
                       writer.key("name").string(record.name);
                       writer.key("eauth").string(record.eauth);
                       write_strings(writer.key("groups"), record.groups);
                     }).text());
}

Result<TokenRecord> read_record(std::string_view json) {
  const Error malformed{ErrorKind::malformed, "the token's record in etcd is malformed"};
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

/// Keeps each token as a key in an etcd cluster. The key has a lease, so that etcd removes the token when it
/// expires.
class TokensInCluster final : public TokenBackend {
 public:
  TokensInCluster(std::unique_ptr<etcd::Client> client, std::string folder)
      : client_(std::move(client)), folder_(std::move(folder)) {}

  Result<std::optional<TokenRecord>> find(const std::string& hash) override {
    const auto found = client_->range({.key = folder_ + hash}, etcd_deadline());
    if (!found) return etcd_failure(found.error());
    if (found->kvs.empty()) return std::optional<TokenRecord>();
    auto record = read_record(found->kvs.front().value);
    return record ? Result(std::optional(*std::move(record))) : std::move(record).error();
  }

  Result<void> add(const std::string& hash, const TokenRecord& record) override {
    const etcd::Deadline deadline = etcd_deadline();
    const auto life = std::chrono::ceil<std::chrono::seconds>(record.expire - record.start);
    const auto lease = client_->lease_grant(life, deadline);
    if (!lease) return etcd_failure(lease.error());
    const auto done =
        client_->put({.key = folder_ + hash, .value = to_json(record), .lease = *lease}, deadline);
    if (done) return {};
    // The put failed, but etcd may have stored the key nevertheless. Revokes the lease, so that etcd removes
    // such a key.
    static_cast<void>(client_->lease_revoke(*lease, etcd_deadline()));
    return etcd_failure(done.error());
  }

  Result<void> remove(const std::string& hash) override { return remove_key(folder_ + hash); }

  Result<std::size_t> remove_all(std::string_view eauth, std::string_view name, WallTime now) override {
    std::size_t removed = 0;
    etcd::RangeRequest request{.key = folder_, .range_end = etcd::prefix_end(folder_), .limit = kPage};
    for (bool more = true; more;) {
      const auto page = client_->range(request, etcd_deadline());
      if (!page) return etcd_failure(page.error());
      for (const etcd::KeyValue& pair : page->kvs) {
        const auto record = read_record(pair.value);
        const bool is_of_user = record && record->name == name && (eauth.empty() || record->eauth == eauth);
        if (!is_of_user || record->expire <= now) continue;
        if (auto done = remove_key(pair.key); !done) return std::move(done).error();
        ++removed;
      }
      more = page->more && !page->kvs.empty();
      if (more) request.key = page->kvs.back().key + '\0';
    }
    return removed;
  }

 private:
  Result<void> remove_key(const std::string& key) const {
    const auto done = client_->delete_key(key, etcd_deadline());
    if (!done) return etcd_failure(done.error());
    // The key is deleted, so its lease is not needed. An error does not matter, because the lease expires by
    // itself.
    const bool has_lease = *done && (*done)->lease != 0;
    if (has_lease) static_cast<void>(client_->lease_revoke((*done)->lease, etcd_deadline()));
    return {};
  }

  const std::unique_ptr<etcd::Client> client_;
  const std::string folder_;
};

}  // namespace

Result<std::unique_ptr<TokenBackend>> tokens_in_etcd(const TokensInEtcd& options) {
  auto client = etcd::Client::make(options.cluster);
  if (!client) return wrong_setting("eauth_tokens", client.error().message);
  return std::unique_ptr<TokenBackend>(
      std::make_unique<TokensInCluster>(*std::move(client), options.root + "/"));
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include <chrono>
#include <optional>
#include <utility>

#include "auth/token_store.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::chrono::seconds kMostWait{5};

/// What a cluster has to answer within.
etcd::Deadline soon() {
  return std::chrono::steady_clock::now() + kMostWait;
}

/// A cluster that does not answer may do so later; one that refuses its user has the wrong configuration.
Error failure(const Error& error) {
  const bool may_pass = error.kind == ErrorKind::unavailable || error.kind == ErrorKind::timeout;
  return {may_pass ? ErrorKind::unavailable : ErrorKind::internal, format("etcd: {}", error.message)};
}

/// A key for each token. Each has a lease of its own: a cluster bears some 100,000 of them, and nobody has to
/// look for tokens that have expired.
class TokensInCluster final : public TokenShelf {
 public:
  TokensInCluster(std::unique_ptr<etcd::Client> client, std::string folder)
      : client_(std::move(client)), folder_(std::move(folder)) {}

  Result<std::optional<std::string>> get(const std::string& digits) override {
    const auto found = client_->range({.key = folder_ + digits}, soon());
    if (!found) return failure(found.error());
    if (found->kvs.empty()) return std::optional<std::string>();
    return std::optional(found->kvs.front().value);
  }

  Result<void> put(const std::string& digits, const std::string& data, std::chrono::seconds life,
                   WallTime /*end*/) override {
    const etcd::Deadline deadline = soon();
    const auto lease = client_->lease_grant(life, 0, deadline);
    if (!lease) return failure(lease.error());
    const auto done =
        client_->put({.key = folder_ + digits, .value = data, .lease = lease->id, .prev_kv = true}, deadline);
    if (done) {
      if (done->prev_kv) end_lease_of(*done->prev_kv);
      return {};
    }
    static_cast<void>(client_->lease_revoke(lease->id, soon()));  // with the key, if that is there after all
    return failure(done.error());
  }

  Result<void> remove(const std::string& digits) override {
    const auto done = client_->delete_range({.key = folder_ + digits, .prev_kv = true}, soon());
    if (!done) return failure(done.error());
    for (const etcd::KeyValue& pair : done->prev_kvs) end_lease_of(pair);
    return {};
  }

  Result<void> each(const Visit& visit) override {
    etcd::RangeRequest request{.key = folder_, .range_end = etcd::prefix_end(folder_), .limit = kPage};
    for (bool more = true; more;) {
      const auto page = client_->range(request, soon());
      if (!page) return failure(page.error());
      for (const etcd::KeyValue& pair : page->kvs) {
        if (auto seen = visit(pair.key.substr(folder_.size()), pair.value); !seen) return seen;
      }
      more = page->more && !page->kvs.empty();
      if (more) request.key = page->kvs.back().key + '\0';
    }
    return {};
  }

  bool purge(WallTime /*now*/, const EndOf& /*end_of*/) override { return false; }

 private:
  static constexpr std::int64_t kPage = 1000;

  /// One that stays is harmless, and ends by itself.
  void end_lease_of(const etcd::KeyValue& pair) const {
    if (pair.lease != 0) static_cast<void>(client_->lease_revoke(pair.lease, soon()));
  }

  const std::unique_ptr<etcd::Client> client_;  // synchronizes itself
  const std::string folder_;
};

}  // namespace

Result<std::unique_ptr<TokenShelf>> tokens_in_etcd(const TokensInEtcd& options) {
  auto client = etcd::Client::make(options.cluster);
  if (!client) return Error{ErrorKind::configuration, format("eauth_tokens: {}", client.error().message)};
  return std::unique_ptr<TokenShelf>(
      std::make_unique<TokensInCluster>(*std::move(client), options.root + "/"));
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>
#include <variant>

#include "rest_fcgi/etcd/kv.h"
#include "returner/etcd_lease.h"
#include "returner/etcd_store.h"

namespace rest_fcgi::returner {
namespace {

using etcd::Compare;
using etcd::RequestOp;
using etcd::TxnRequest;

constexpr std::int64_t kPage = 128;         // keys, so that also large values fit into one reply
constexpr std::size_t kMostRanges = 32;     // the same, in one transaction
constexpr char kAfterSlash = '/' + 1;       // begins what comes after all that lies in a folder
constexpr std::string_view kNext{"\0", 1};  // makes the next key of a key

/// Holds where that key is there.
Compare is_there(std::string key) {
  return {.key = std::move(key), .target = Compare::Target::version, .result = Compare::Result::greater};
}

Compare is_absent(std::string key) {
  return {.key = std::move(key), .target = Compare::Target::version, .result = Compare::Result::equal};
}

Compare has_value(Compare::Result result, std::string key, std::string value) {
  return {
      .key = std::move(key), .target = Compare::Target::value, .result = result, .value = std::move(value)};
}

RequestOp put(const EtcdPair& pair, std::int64_t lease) {
  return {etcd::PutRequest{.key = pair.key, .value = pair.value, .lease = lease}};
}

/// What is to be done belongs to where the guard does not hold: of an absent key no value compares, and then
/// it is to be done, too.
void add(std::vector<RequestOp>& ops, const EtcdWrite& write, std::int64_t lease) {
  TxnRequest guarded;
  std::vector<RequestOp>& puts = write.unless == EtcdWrite::Unless::never ? ops : guarded.failure;
  for (const EtcdPair& pair : write.puts) puts.push_back(put(pair, lease));
  if (write.unless == EtcdWrite::Unless::never) return;
  guarded.compare.push_back(write.unless == EtcdWrite::Unless::exists
                                ? is_there(write.guard)
                                : has_value(Compare::Result::greater, write.guard, write.than));
  ops.push_back({std::move(guarded)});
}

/// The first part of a key below a folder, and where to go on behind all that begins with it.
struct Child {
  std::string name;
  std::string next;
};

Child child_in(const std::string& folder, const std::string& key) {
  const std::size_t slash = key.find('/', folder.size());
  if (slash == std::string::npos) return {key.substr(folder.size()), key + std::string(kNext)};
  return {key.substr(folder.size(), slash - folder.size()), key.substr(0, slash) + kAfterSlash};
}

class StoreV3 : public EtcdStore {
 public:
  StoreV3(std::unique_ptr<etcd::Client> client, std::chrono::seconds ttl)
      : client_(std::move(client)), lease_(*client_, ttl) {}

  Result<std::vector<std::optional<std::string>>> get(const std::vector<std::string>& keys,
                                                      Deadline deadline) override;
  Result<void> visit(const std::string& folder, const Visitor& visitor, Deadline deadline) override;
  Result<std::vector<std::string>> names(const std::string& folder, const Names& wanted,
                                         Deadline deadline) override;
  Result<void> write(const std::vector<EtcdWrite>& writes, Deadline deadline) override;
  Result<bool> claim(const EtcdPair& claim, const std::string& taken_by, std::chrono::seconds ttl,
                     Deadline deadline) override;
  Result<bool> replace(const EtcdPair& pair, const std::string& before, Deadline deadline) override;

 private:
  /// One that names a lease: where that is gone meanwhile, with another one.
  template <class MakeTxn>
  Result<etcd::TxnReply> leased(const MakeTxn& make_txn, Deadline deadline);

  std::unique_ptr<etcd::Client> client_;
  EtcdLease lease_;
};

Result<std::vector<std::optional<std::string>>> StoreV3::get(const std::vector<std::string>& keys,
                                                             Deadline deadline) {
  std::vector<std::optional<std::string>> values;
  values.reserve(keys.size());
  while (values.size() < keys.size()) {
    TxnRequest txn;
    const std::size_t end = std::min(keys.size(), values.size() + kMostRanges);
    for (std::size_t i = values.size(); i < end; ++i) {
      txn.success.push_back({etcd::RangeRequest{.key = keys[i]}});
    }
    Result<etcd::TxnReply> reply = client_->txn(txn, deadline, etcd::Repeat::yes);
    if (!reply) return std::move(reply).error();
    for (etcd::ResponseOp& op : reply->responses) {
      auto* range = std::get_if<etcd::RangeReply>(&op.response);
      const bool found = range != nullptr && !range->kvs.empty();
      values.push_back(found ? std::optional(std::move(range->kvs.front().value)) : std::nullopt);
    }
    if (values.size() != end) {
      return Error{ErrorKind::internal, "etcd answered a transaction with another number of answers"};
    }
  }
  return values;
}

Result<void> StoreV3::visit(const std::string& folder, const Visitor& visitor, Deadline deadline) {
  etcd::RangeRequest request{.key = folder, .range_end = etcd::prefix_end(folder), .limit = kPage};
  for (bool more = true; more;) {
    const Result<etcd::RangeReply> page = client_->range(request, deadline);
    if (!page) return page.error();
    for (const etcd::KeyValue& kv : page->kvs) visitor(kv.key, kv.value);
    more = page->more && !page->kvs.empty();
    if (!more) break;
    request.key = page->kvs.back().key + std::string(kNext);
    request.revision = page->header.revision;  // all pages of one moment
  }
  return {};
}

Result<std::vector<std::string>> StoreV3::names(const std::string& folder, const Names& wanted,
                                                Deadline deadline) {
  std::vector<std::string> names;
  const std::string end = wanted.last.empty() ? etcd::prefix_end(folder) : folder + wanted.last + kAfterSlash;
  const std::int64_t limit = wanted.most == 1 ? 1 : kPage;
  etcd::RangeRequest request{
      .key = folder + wanted.first, .range_end = end, .limit = limit, .keys_only = true};
  while (request.key < end) {
    const Result<etcd::RangeReply> page = client_->range(request, deadline);
    if (!page) return page.error();
    for (const etcd::KeyValue& kv : page->kvs) {
      Child child = child_in(folder, kv.key);
      request.key = std::move(child.next);
      if (!wanted.last.empty() && child.name > wanted.last) continue;
      if (names.empty() || names.back() != child.name) names.push_back(std::move(child.name));
      if (names.size() == wanted.most) return names;
    }
    if (!page->more || page->kvs.empty()) break;
  }
  return names;
}

template <class MakeTxn>
Result<etcd::TxnReply> StoreV3::leased(const MakeTxn& make_txn, Deadline deadline) {
  Result<etcd::TxnReply> reply = Error{};
  for (int tries = 0; tries < 2; ++tries) {
    const Result<std::int64_t> lease = lease_.current(deadline);
    if (!lease) return lease.error();
    reply = client_->txn(make_txn(*lease), deadline, etcd::Repeat::yes);
    if (reply || reply.error().kind != ErrorKind::not_found) return reply;
    lease_.forget();
  }
  return reply;
}

Result<void> StoreV3::write(const std::vector<EtcdWrite>& writes, Deadline deadline) {
  const Result<etcd::TxnReply> reply = leased(
      [&writes](std::int64_t lease) {
        TxnRequest txn;
        for (const EtcdWrite& write : writes) add(txn.success, write, lease);
        return txn;
      },
      deadline);
  return reply ? Result<void>() : reply.error();
}

Result<bool> StoreV3::claim(const EtcdPair& claim, const std::string& taken_by, std::chrono::seconds ttl,
                            Deadline deadline) {
  const Result<etcd::Lease> lease = client_->lease_grant(ttl, 0, deadline);
  if (!lease) return lease.error();
  TxnRequest txn;
  txn.compare = {is_absent(claim.key), is_absent(taken_by)};
  txn.success.push_back(put(claim, lease->id));
  txn.failure.push_back({etcd::RangeRequest{.key = claim.key}});
  const Result<etcd::TxnReply> reply = client_->txn(txn, deadline, etcd::Repeat::yes);
  if (!reply) return reply.error();
  if (reply->succeeded) return true;
  // A try whose answer was lost may have put it.
  const auto* found =
      reply->responses.empty() ? nullptr : std::get_if<etcd::RangeReply>(&reply->responses[0].response);
  const bool ours = found != nullptr && !found->kvs.empty() && found->kvs.front().value == claim.value;
  if (!ours) static_cast<void>(client_->lease_revoke(lease->id, deadline));
  return ours;
}

Result<bool> StoreV3::replace(const EtcdPair& pair, const std::string& before, Deadline deadline) {
  const Result<etcd::TxnReply> reply = leased(
      [&](std::int64_t lease) {
        TxnRequest txn;
        txn.compare.push_back(has_value(Compare::Result::equal, pair.key, before));
        txn.success.push_back(put(pair, lease));
        return txn;
      },
      deadline);
  return reply ? Result<bool>(reply->succeeded) : reply.error();
}

}  // namespace

Result<std::unique_ptr<EtcdStore>> make_etcd_store_v3(const etcd::Options& options,
                                                      std::chrono::seconds ttl) {
  auto client = etcd::Client::make(options);
  if (!client) return std::move(client).error();
  return std::unique_ptr<EtcdStore>(std::make_unique<StoreV3>(*std::move(client), ttl));
}

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/etcd/client.h"
#include "returner/etcd/store.h"

namespace rest_fcgi::returner {
namespace {

using etcd::Compare;
using etcd::RangeRequest;
using etcd::RequestOp;
using etcd::TxnRequest;
using std::chrono::seconds;

constexpr seconds kLongestShared{60};
// The largest number of operations that etcd allows in a transaction.
constexpr std::size_t kMostRanges = 128;
constexpr std::size_t kMostReads = 4;
constexpr std::int64_t kFirstPage = 128;  // The first page of `visit` has `kFirstPage` keys.
// Even a busy member of the cluster can read `kLargestPage` keys within the time limit.
constexpr std::int64_t kLargestPage = 4096;
constexpr std::size_t kBytesOfPage = 1024 * 1024;
// `<folder>` + `kAfterSlash` sorts after all keys in the folder.
constexpr char kAfterSlash = '/' + 1;
// `<jid>` + `kAfterSuffix` sorts after all suffixes that Salt's `unique_jid` adds.
constexpr char kAfterSuffix = '~';
constexpr std::string_view kNext{"\0", 1};

etcd::Deadline read_deadline() {
  return std::chrono::steady_clock::now() + seconds(5);
}

etcd::Deadline write_deadline() {
  return std::chrono::steady_clock::now() + seconds(4);
}

Compare exists(std::string key) {
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

/// Returns a nested transaction with the puts of `write`, which etcd skips if the condition `write.unless` is
/// true.
RequestOp guarded(const EtcdWrite& write, std::int64_t lease) {
  TxnRequest txn;
  if (write.unless == EtcdWrite::Unless::exists) {
    txn.compare.push_back(exists(write.guard));
  } else if (write.unless == EtcdWrite::Unless::greater) {
    txn.compare.push_back(has_value(Compare::Result::greater, write.guard, write.than));
  }
  auto& puts = txn.compare.empty() ? txn.success : txn.failure;
  for (const EtcdPair& pair : write.puts) puts.push_back(put(pair, lease));
  return {std::move(txn)};
}

struct Child {
  std::string name;
  std::string next;
};

Child child_in(const std::string& folder, const std::string& key) {
  const std::size_t slash = key.find('/', folder.size());
  if (slash == std::string::npos) return {key.substr(folder.size()), key + std::string(kNext)};
  return {key.substr(folder.size(), slash - folder.size()), key.substr(0, slash) + kAfterSlash};
}

/// The etcd lease for keys with a time to live. To save requests, all writes within a tenth of the time to
/// live (at least 1 s, at most 60 s) use one lease. This lease lives for the time to live plus that tenth, so
/// that no key expires early. The client must outlive the object. Thread-safe.
class SharedLease {
 public:
  SharedLease(etcd::Client& client, seconds ttl)
      : client_(client), ttl_(ttl), shared_(std::clamp(ttl / 10, seconds(1), kLongestShared)) {}

  /// Returns 0 if writes use no lease. Errors: those of the client.
  Result<std::int64_t> current() {
    if (ttl_.count() == 0) return std::int64_t{0};
    const MutexLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (id_ != 0 && now < use_by_) return id_;
    Result<std::int64_t> granted = client_.lease_grant(ttl_ + shared_, write_deadline());
    if (!granted) return granted;
    id_ = *granted;
    use_by_ = now + shared_;
    return id_;
  }

  void forget(std::int64_t id) {
    const MutexLock lock(mutex_);
    if (id_ == id) id_ = 0;
  }

 private:
  etcd::Client& client_;
  const seconds ttl_;
  const seconds shared_;
  Mutex mutex_;
  std::int64_t id_ GUARDED_BY(mutex_) = 0;
  SteadyTime use_by_ GUARDED_BY(mutex_);
};

class StoreV3 : public EtcdStore {
 public:
  StoreV3(std::unique_ptr<etcd::Client> client, seconds ttl)
      : client_(std::move(client)), lease_(*client_, ttl) {}

  Result<std::vector<std::optional<std::string>>> get(const std::vector<std::string>& keys) override {
    std::vector<RangeRequest> requests;
    requests.reserve(keys.size());
    for (const std::string& key : keys) requests.push_back({.key = key});
    auto replies = ranges(requests);
    if (!replies) return std::move(replies).error();
    std::vector<std::optional<std::string>> values(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!(*replies)[i].kvs.empty()) values[i] = std::move((*replies)[i].kvs.front().value);
    }
    return values;
  }

  Result<void> visit(const std::string& folder, const Visitor& visitor) override {
    RangeRequest request{.key = folder, .range_end = etcd::prefix_end(folder), .limit = kFirstPage};
    for (bool more = true; more;) {
      const Result<etcd::RangeReply> page = client_->range(request, read_deadline());
      if (!page && page.error().kind == ErrorKind::internal && request.limit > 1) {
        request.limit = std::max<std::int64_t>(1, request.limit / 8);
        continue;
      }
      if (!page) return page.error();
      std::size_t bytes = 1;
      for (const etcd::KeyValue& kv : page->kvs) {
        visitor(kv.key, kv.value);
        bytes += kv.key.size() + kv.value.size();
      }
      more = page->more && !page->kvs.empty();
      if (!more) break;
      request.key = page->kvs.back().key + std::string(kNext);
      request.revision = page->header.revision;  // Reads the next pages as of the revision of the first page.
      const auto fit = static_cast<std::int64_t>(page->kvs.size() * kBytesOfPage / bytes);
      request.limit = std::clamp<std::int64_t>(fit, 1, std::min(kLargestPage, request.limit * 8));
    }
    return {};
  }

  Result<void> walk_loads(const EtcdLayout& layout, const EtcdWalk& walk,
                          const LoadVisitor& visitor) override;

  Result<void> write(const std::vector<EtcdWrite>& writes) override {
    const Result<etcd::TxnReply> reply = leased([&](std::int64_t lease) {
      TxnRequest txn;
      for (const EtcdWrite& write : writes) txn.success.push_back(guarded(write, lease));
      // etcd checks its quota only if the outer transaction has a put (`costTxn` in etcd). Adds a put to the
      // failure branch, which etcd never runs, because this transaction has no conditions.
      if (!writes.empty()) txn.failure.push_back(put({writes.front().puts.front().key, {}}, 0));
      return txn;
    });
    return reply ? Result<void>() : reply.error();
  }

  Result<bool> claim(const EtcdPair& claim, const std::string& taken_by, std::chrono::seconds ttl) override {
    const Result<std::int64_t> lease = client_->lease_grant(ttl, write_deadline());
    if (!lease) return lease.error();
    TxnRequest txn;
    txn.compare = {is_absent(claim.key), is_absent(taken_by)};
    txn.success.push_back(put(claim, *lease));
    txn.failure.push_back({etcd::RangeRequest{.key = claim.key}});
    const Result<etcd::TxnReply> reply = client_->txn(txn, write_deadline());
    if (!reply) return reply.error();
    if (reply->succeeded) return true;
    // The pair may exist because an earlier attempt put the pair and only the reply was lost.
    const std::vector<etcd::KeyValue>& found = reply->responses.front()->kvs;
    const bool is_ours = !found.empty() && found.front().value == claim.value;
    if (!is_ours) static_cast<void>(client_->lease_revoke(*lease, write_deadline()));
    return is_ours;
  }

  Result<bool> replace(const EtcdPair& pair, const std::string& before) override {
    const Result<etcd::TxnReply> reply = leased([&](std::int64_t lease) {
      TxnRequest txn;
      txn.compare.push_back(has_value(Compare::Result::equal, pair.key, before));
      txn.success.push_back(put(pair, lease));
      return txn;
    });
    return reply ? Result<bool>(reply->succeeded) : reply.error();
  }

  /// Sends several transactions at a time. Returns the replies in the order of the requests.
  Result<std::vector<etcd::RangeReply>> ranges(const std::vector<RangeRequest>& requests) {
    std::vector<etcd::RangeReply> replies(requests.size());
    const std::size_t count = (requests.size() + kMostRanges - 1) / kMostRanges;
    const Result<void> all = at_once(count, kMostReads, [&](std::size_t i) {
      return read(requests, i * kMostRanges, std::min(requests.size(), (i + 1) * kMostRanges), replies);
    });
    return all ? Result(std::move(replies)) : all.error();
  }

 private:
  /// Reads `requests[begin]` to `requests[end - 1]` in one transaction. If the reply is too large, reads each
  /// half separately.
  Result<void> read(const std::vector<RangeRequest>& requests, std::size_t begin, std::size_t end,
                    std::vector<etcd::RangeReply>& replies) {
    TxnRequest txn;
    for (std::size_t i = begin; i < end; ++i) txn.success.push_back({requests[i]});
    Result<etcd::TxnReply> reply = client_->txn(txn, read_deadline());
    if (!reply && reply.error().kind == ErrorKind::internal && end - begin > 1) {
      const std::size_t middle = begin + (end - begin) / 2;
      Result<void> half = read(requests, begin, middle, replies);
      return half ? read(requests, middle, end, replies) : half;
    }
    if (!reply) return std::move(reply).error();
    for (std::size_t i = begin; i < end; ++i) replies[i] = *std::move(reply->responses[i - begin]);
    return {};
  }

  /// Sends the transaction again with a new lease if the shared lease has expired.
  template <class MakeTxn>
  Result<etcd::TxnReply> leased(const MakeTxn& make_txn) {
    Result<etcd::TxnReply> reply = Error{};
    for (int tries = 0; tries < 2; ++tries) {
      const Result<std::int64_t> lease = lease_.current();
      if (!lease) return lease.error();
      reply = client_->txn(make_txn(*lease), write_deadline());
      if (reply || reply.error().kind != ErrorKind::not_found) return reply;
      lease_.forget(*lease);
    }
    return reply;
  }

  std::unique_ptr<etcd::Client> client_;
  SharedLease lease_;
};

std::uint64_t distance(JidKey from, JidKey to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

constexpr std::uint64_t kFirstWidth = 1'000'000;  // One second in microseconds.
constexpr std::uint64_t kMostWidth = std::numeric_limits<JidKey>::max();
// The largest number of loads in one time span. A time span with more loads is divided.
constexpr std::size_t kMostLoads = 512;

/// Visits the loads of jobs, one time span after another. The number of jobs in a time span determines the
/// length of the next time span. The walk divides a time span into many small parts, because old versions of
/// etcd read a whole range even with limit 1. One request reads the first key of each part. This key is
/// usually the load of a job.
class LoadWalk {
 public:
  LoadWalk(StoreV3& store, const EtcdLayout& layout, const EtcdWalk& walk,
           const EtcdStore::LoadVisitor& visitor)
      : store_(store), layout_(layout), walk_(walk), visitor_(visitor), jobs_(layout.jobs()) {}

  Result<void> run() {
    const auto [from, to] = walk_.keys;
    // Jids from the far future exist only if the clock of a host is wrong. Visits all of them in one time
    // span, because many short time spans would be empty.
    const JidKey tomorrow = nearest_key(jid_at(walk_.now + std::chrono::hours(24)));
    if (!walk_.newest_first || to <= tomorrow) return stretches(from, to, kFirstWidth);
    Result<void> walked = stretches(std::max(from, tomorrow + 1), to, kMostWidth);
    return walked ? stretches(from, tomorrow, kFirstWidth) : walked;
  }

 private:
  using Loads = std::map<std::string, std::optional<std::string>>;
  struct Part {
    std::string from;
    JidKey first;
    JidKey last;
  };

  Result<void> stretches(JidKey from, JidKey to, std::uint64_t width) {
    while (!done_ && from <= to) {
      JidKey first = from;
      JidKey last = to;
      if (distance(from, to) > width) {
        const auto span = static_cast<JidKey>(width);
        walk_.newest_first ? first = to - span : last = from + span;
      }
      Loads loads;
      const Result<bool> whole = scan(first, last, loads);
      if (!whole) return whole.error();
      if (!*whole) {
        width = std::min(width / 2, width_of_some(loads, walk_.newest_first ? last : first));
        continue;
      }
      if (loads.size() < kMostLoads / 4) width = std::min(width, kMostWidth / 8) * 8;
      if (Result<void> shown = show(loads); !shown) return shown;
      if (first == from && last == to) return {};
      walk_.newest_first ? to = first - 1 : from = last + 1;
    }
    return {};
  }

  /// Returns false and only some of the loads if there are too many.
  Result<bool> scan(JidKey first, JidKey last, Loads& loads) {
    std::vector<Part> parts{{jobs_ + jid_of(first), first, last}};
    while (!parts.empty()) {
      split(parts);
      std::vector<RangeRequest> requests;
      requests.reserve(parts.size());
      for (const Part& part : parts) {
        requests.push_back({.key = part.from, .range_end = end_of(part.last), .limit = 1});
      }
      const auto replies = store_.ranges(requests);
      if (!replies) return replies.error();
      std::vector<Part> rest;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if ((*replies)[i].kvs.empty()) continue;
        const etcd::KeyValue& found = (*replies)[i].kvs.front();
        Child child = child_in(jobs_, found.key);
        if (is_like_jid(child.name)) {
          const bool is_load = found.key == layout_.load(child.name);
          loads[child.name] = is_load ? std::optional(found.value) : std::nullopt;
        }
        const JidKey seen = std::clamp(nearest_key(child.name), parts[i].first, parts[i].last);
        if (child.next < end_of(parts[i].last)) rest.push_back({std::move(child.next), seen, parts[i].last});
      }
      parts = std::move(rest);
      if (loads.size() > kMostLoads && !parts.empty() && first < last) return false;
    }
    return true;
  }

  void split(std::vector<Part>& parts) const {
    for (bool can = true; can && parts.size() * 2 <= kMostRanges;) {
      can = false;
      for (std::size_t i = 0, count = parts.size(); i < count; ++i) {
        if (parts[i].first == parts[i].last) continue;
        can = true;
        const JidKey last = parts[i].last;
        const JidKey middle = parts[i].first + static_cast<JidKey>(distance(parts[i].first, last) / 2);
        parts[i].last = middle;
        parts.push_back({jobs_ + jid_of(middle + 1), middle + 1, last});
      }
    }
  }

  /// Returns the length of a time span with an eighth of `loads`. The time span begins at `end`, or ends
  /// there if the newest job comes first.
  [[nodiscard]] std::uint64_t width_of_some(const Loads& loads, JidKey end) const {
    const auto rank = static_cast<std::ptrdiff_t>(loads.size() / 8);
    if (!walk_.newest_first) {
      return distance(end, std::max(end, nearest_key(std::next(loads.begin(), rank)->first)));
    }
    return distance(std::min(end, nearest_key(std::next(loads.rbegin(), rank)->first)), end);
  }

  [[nodiscard]] std::string end_of(JidKey last) const { return jobs_ + jid_of(last) + kAfterSuffix; }

  Result<void> show(Loads& loads) {
    std::vector<Loads::iterator> missing;
    for (auto at = loads.begin(); at != loads.end(); ++at) {
      if (!at->second) missing.push_back(at);
    }
    Result<void> made = at_once(missing.size(), kMostReads, [&](std::size_t i) -> Result<void> {
      auto load = load_or_returned(store_, layout_, missing[i]->first);
      if (!load) return std::move(load).error();
      missing[i]->second = *std::move(load);
      return {};
    });
    if (!made) return made;
    const auto visit = [&](const auto& one) {
      if (!done_ && one.second) done_ = !visitor_(one.first, *one.second);
    };
    walk_.newest_first ? std::for_each(loads.rbegin(), loads.rend(), visit)
                       : std::for_each(loads.begin(), loads.end(), visit);
    return {};
  }

  StoreV3& store_;
  const EtcdLayout& layout_;
  const EtcdWalk& walk_;
  const EtcdStore::LoadVisitor& visitor_;
  const std::string jobs_;
  bool done_ = false;
};

Result<void> StoreV3::walk_loads(const EtcdLayout& layout, const EtcdWalk& walk, const LoadVisitor& visitor) {
  return LoadWalk(*this, layout, walk, visitor).run();
}

}  // namespace

Result<std::unique_ptr<EtcdStore>> make_etcd_store_v3(const etcd::Options& options, seconds ttl) {
  auto client = etcd::Client::make(options);
  if (!client) return std::move(client).error();
  return std::unique_ptr<EtcdStore>(std::make_unique<StoreV3>(*std::move(client), ttl));
}

}  // namespace rest_fcgi::returner

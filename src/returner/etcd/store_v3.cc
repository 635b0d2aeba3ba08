// SPDX-License-Identifier: MIT
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <variant>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/kv.h"
#include "returner/etcd/store.h"

namespace rest_fcgi::returner {
namespace {

using etcd::Compare;
using etcd::RangeRequest;
using etcd::RequestOp;
using etcd::TxnRequest;
using std::chrono::seconds;

constexpr seconds kLongestShared{60};
constexpr seconds kHeardTime{10};            // longer than a member takes to carry out late what timed out
constexpr std::size_t kMostRanges = 128;     // in one transaction, which is etcd's limit
constexpr std::size_t kReadsAtOnce = 4;      // requests
constexpr std::int64_t kFirstPage = 128;     // keys
constexpr std::int64_t kLargestPage = 4096;  // a busy member answers well within one try
constexpr std::size_t kBytesOfPage = 1024 * 1024;
constexpr char kAfterSlash = '/' + 1;       // begins what comes after all that lies in a folder
constexpr char kAfterSuffix = '~';          // is behind what Salt's `unique_jid` appends to a jid
constexpr std::string_view kNext{"\0", 1};  // makes the next key of a key

etcd::Deadline read_deadline() {
  return std::chrono::steady_clock::now() + seconds(5);
}

etcd::Deadline write_deadline() {
  return std::chrono::steady_clock::now() + seconds(4);
}

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
RequestOp guarded(const EtcdWrite& write, std::int64_t lease, std::int64_t heard) {
  TxnRequest txn;
  for (const EtcdPair& pair : write.puts) txn.failure.push_back(put(pair, lease));
  switch (write.unless) {
    case EtcdWrite::Unless::exists:
      txn.compare.push_back(is_there(write.guard));
      break;
    case EtcdWrite::Unless::greater:
      txn.compare.push_back(has_value(Compare::Result::greater, write.guard, write.than));
      break;
    case EtcdWrite::Unless::changed:
      txn.compare.push_back({.key = write.guard,
                             .target = Compare::Target::mod,
                             .result = Compare::Result::greater,
                             .number = heard});
      break;
  }
  return {std::move(txn)};
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

/// The lease of what is written with a time to live. What is written within a tenth of that time shares one,
/// which lives longer by as much, so that nothing goes too early. Thread-safe; borrows the client.
class SharedLease {
 public:
  /// `ttl` 0: for ever, without a lease.
  SharedLease(etcd::Client& client, seconds ttl)
      : client_(client), ttl_(ttl), shared_(std::clamp(ttl / 10, seconds(1), kLongestShared)) {}

  /// The one for what is written now; 0 where there is none. Errors: those of the client.
  [[nodiscard]] Result<std::int64_t> current() {
    if (ttl_.count() == 0) return std::int64_t{0};
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (id_ != 0 && now < use_by_) return id_;
    Result<etcd::Lease> granted = client_.lease_grant(ttl_ + shared_, 0, write_deadline());
    if (!granted) return std::move(granted).error();
    id_ = granted->id;
    use_by_ = now + shared_;
    return id_;
  }

  /// That one is gone: the next call gets another one.
  void forget(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    if (id_ == id) id_ = 0;
  }

 private:
  etcd::Client& client_;
  const seconds ttl_;
  const seconds shared_;
  std::mutex mutex_;
  std::int64_t id_ = 0;  // guarded by mutex_
  SteadyTime use_by_;    // guarded by mutex_
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
      if (!page && page.error().kind == ErrorKind::internal && request.limit > 1) {  // too large
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
      request.revision = page->header.revision;  // all pages of one moment
      const auto fit = static_cast<std::int64_t>(page->kvs.size() * kBytesOfPage / bytes);
      request.limit = std::clamp<std::int64_t>(fit, 1, std::min(kLargestPage, request.limit * 8));
    }
    return {};
  }

  Result<void> walk_loads(const EtcdLayout& layout, const EtcdWalk& walk,
                          const LoadVisitor& visitor) override;

  Result<void> write(const std::vector<EtcdWrite>& writes) override {
    const Result<std::int64_t> heard = writes.empty() ? 0 : last_heard(writes.front().guard);
    if (!heard) return heard.error();
    const Result<etcd::TxnReply> reply = leased([&](std::int64_t lease) {
      TxnRequest txn;
      for (const EtcdWrite& write : writes) txn.success.push_back(guarded(write, lease, *heard));
      // etcd holds only the puts of the outer transaction against its quota, also those of the branch that is
      // not taken (`costTxn`). This one is never carried out: there is nothing to compare that could fail.
      if (!writes.empty()) txn.failure.push_back(put({writes.front().puts.front().key, {}}, 0));
      return txn;
    });
    const std::lock_guard lock(mutex_);
    heard_at_ = reply ? std::chrono::steady_clock::now() : SteadyTime();
    if (!reply) return reply.error();
    heard_ = std::max(heard_, reply->header.revision);
    return {};
  }

  Result<bool> claim(const EtcdPair& claim, const std::string& taken_by, std::chrono::seconds ttl) override {
    const Result<etcd::Lease> lease = client_->lease_grant(ttl, 0, write_deadline());
    if (!lease) return lease.error();
    TxnRequest txn;
    txn.compare = {is_absent(claim.key), is_absent(taken_by)};
    txn.success.push_back(put(claim, lease->id));
    txn.failure.push_back({etcd::RangeRequest{.key = claim.key}});
    const Result<etcd::TxnReply> reply = client_->txn(txn, write_deadline(), etcd::Repeat::yes);
    if (!reply) return reply.error();
    if (reply->succeeded) return true;
    // A try whose answer was lost may have put it.
    const auto* found =
        reply->responses.empty() ? nullptr : std::get_if<etcd::RangeReply>(&reply->responses[0].response);
    const bool ours = found != nullptr && !found->kvs.empty() && found->kvs.front().value == claim.value;
    if (!ours) static_cast<void>(client_->lease_revoke(lease->id, write_deadline()));
    return ours;
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

  /// What the ranges hold, in their order, asked for in several transactions at once.
  [[nodiscard]] Result<std::vector<etcd::RangeReply>> ranges(const std::vector<RangeRequest>& requests) {
    std::vector<etcd::RangeReply> replies(requests.size());
    const std::size_t count = (requests.size() + kMostRanges - 1) / kMostRanges;
    const Result<void> all = at_once(count, kReadsAtOnce, [&](std::size_t i) {
      return read(requests, i * kMostRanges, std::min(requests.size(), (i + 1) * kMostRanges), replies);
    });
    return all ? Result(std::move(replies)) : all.error();
  }

 private:
  /// The ranges from `begin` to `end`, in one transaction, or in more where the answer would be too large.
  [[nodiscard]] Result<void> read(const std::vector<RangeRequest>& requests, std::size_t begin,
                                  std::size_t end, std::vector<etcd::RangeReply>& replies) {
    TxnRequest txn;
    for (std::size_t i = begin; i < end; ++i) txn.success.push_back({requests[i]});
    Result<etcd::TxnReply> reply = client_->txn(txn, read_deadline(), etcd::Repeat::yes);
    if (!reply && reply.error().kind == ErrorKind::internal && end - begin > 1) {
      const std::size_t middle = begin + (end - begin) / 2;
      Result<void> half = read(requests, begin, middle, replies);
      return half ? read(requests, middle, end, replies) : half;
    }
    if (!reply) return std::move(reply).error();
    if (reply->responses.size() != end - begin) {
      return Error{ErrorKind::internal, "etcd answered a transaction with another number of answers"};
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (auto* range = std::get_if<etcd::RangeReply>(&reply->responses[i - begin].response)) {
        replies[i] = std::move(*range);
        replies[i].header.revision = reply->header.revision;
      }
    }
    return {};
  }

  /// The revision of the cluster when it was last heard of, which is not long ago, and after any failure.
  [[nodiscard]] Result<std::int64_t> last_heard(const std::string& any_key) {
    {
      const std::lock_guard lock(mutex_);
      if (std::chrono::steady_clock::now() < heard_at_ + kHeardTime) return heard_;
    }
    const auto reply = client_->range({.key = any_key, .count_only = true}, write_deadline());
    if (!reply) return reply.error();
    const std::lock_guard lock(mutex_);
    heard_ = std::max(heard_, reply->header.revision);
    heard_at_ = std::chrono::steady_clock::now();
    return heard_;
  }

  /// Sends a transaction that names a lease: where that lease is gone meanwhile, again with another one.
  template <class MakeTxn>
  Result<etcd::TxnReply> leased(const MakeTxn& make_txn) {
    Result<etcd::TxnReply> reply = Error{};
    for (int tries = 0; tries < 2; ++tries) {
      const Result<std::int64_t> lease = lease_.current();
      if (!lease) return lease.error();
      reply = client_->txn(make_txn(*lease), write_deadline(), etcd::Repeat::yes);
      if (reply || reply.error().kind != ErrorKind::not_found) return reply;
      lease_.forget(*lease);
    }
    return reply;
  }

  std::unique_ptr<etcd::Client> client_;
  SharedLease lease_;
  std::mutex mutex_;
  std::int64_t heard_ = 0;  // guarded by mutex_
  SteadyTime heard_at_;     // guarded by mutex_
};

/// The key of the last jid of the day after that time: hosts need not agree about time zones.
JidKey key_after(WallTime time) {
  const std::time_t whole = std::chrono::system_clock::to_time_t(time + std::chrono::hours(24));
  std::tm utc{};
  ::gmtime_r(&whole, &utc);
  return greatest_key(format("{:04}{:02}{:02}235959999999", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday));
}

/// How far apart they are; as far as 64 bits without a sign hold, which is all that can be.
std::uint64_t distance(JidKey from, JidKey to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

constexpr std::uint64_t kFirstWidth = 100'000'000;  // jids of one minute
constexpr std::uint64_t kAnyWidth = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kFewLoads = 128;    // of the first stretch, since most want no more than some
constexpr std::size_t kManyLoads = 4096;  // of a later one

/// Walks over loads in stretches of time, one after the other, each of them with many seeks at once: what
/// stands first in a job's folder is its load, in most cases, so that one seek finds a job together with its
/// load.
class LoadWalk {
 public:
  LoadWalk(StoreV3& store, const EtcdLayout& layout, const EtcdWalk& walk,
           const EtcdStore::LoadVisitor& visitor)
      : store_(store), layout_(layout), walk_(walk), visitor_(visitor), jobs_(layout.jobs()) {}

  Result<void> run() {
    const auto [from, to] = walk_.keys;
    const JidKey today = key_after(walk_.now);
    if (from > to) return {};
    if (!walk_.newest_first) return stretches(from, to, kFirstWidth);
    if (today < to) {  // hardly anything lies there: of a host whose clock is ahead
      if (Result<void> walked = stretches(std::max(from, today + 1), to, kAnyWidth); !walked) return walked;
    }
    return stretches(from, std::min(to, today), kFirstWidth);
  }

 private:
  struct Found {
    std::optional<std::string> load;  ///< absent: not read so far
    std::string first_key;            ///< in the job's folder
  };
  using Loads = std::map<std::string, Found>;  // by jid
  /// Keys that were not looked at: from `from` on, up to those of `last`.
  struct Part {
    std::string from;
    JidKey first;
    JidKey last;
  };

  Result<void> stretches(JidKey from, JidKey to, std::uint64_t width) {
    bool nothing_near = true;
    for (std::size_t most = kFewLoads; !done_ && from <= to;) {
      JidKey first = from;
      JidKey last = to;
      if (!walk_.newest_first && nothing_near) {
        const auto found = first_from(from, to);
        if (!found) return found.error();
        if (!*found) return {};
        first = from = **found;
        nothing_near = false;
      }
      if (distance(from, to) > width) {
        walk_.newest_first ? first = to - static_cast<JidKey>(width)
                           : last = from + static_cast<JidKey>(width);
      }
      Loads loads;
      const Result<bool> whole = scan(first, last, most, loads);
      if (!whole) return whole.error();
      if (!*whole) {
        // The first look finds one load in each part, wherever it lies: the next to it tells where many are.
        const std::size_t some = loads.size() > most ? most / 4 : 1;
        width = width_of_some(loads, some, walk_.newest_first ? last : first);
        continue;
      }
      const std::size_t count = loads.size();
      nothing_near = count == 0;
      if (Result<void> shown = show(loads); !shown) return shown;
      if (first == from && last == to) return {};
      walk_.newest_first ? to = first - 1 : from = last + 1;
      if (count > 0) most = std::min(most * 2, kManyLoads);
      const double wider =
          static_cast<double>(most) / 2 / static_cast<double>(std::max<std::size_t>(count, 1));
      constexpr double kWidest = 9e18;
      width = static_cast<std::uint64_t>(
          std::clamp(static_cast<double>(width) * std::clamp(wider, 0.25, 8.0), 1.0, kWidest));
    }
    return {};
  }

  /// Where the first job is of those from that one on; absent where there is none.
  [[nodiscard]] Result<std::optional<JidKey>> first_from(JidKey from, JidKey to) {
    Part part{jobs_ + jid_of(from), from, to};
    while (true) {
      const auto replies = ask({part});
      if (!replies) return replies.error();
      const std::vector<etcd::KeyValue>& kvs = replies->front().kvs;
      if (kvs.empty()) return std::optional<JidKey>();
      Child child = child_in(jobs_, kvs.front().key);
      if (is_like_jid(child.name)) return std::optional(std::clamp(least_key(child.name), from, to));
      part.from = std::move(child.next);
    }
  }

  /// All loads between two jids. False where they are, or seem to be, more than `most`, and some are missing.
  /// An etcd before 3.5 looks at every key of a range, however few it is asked for: so the ranges are many
  /// and small from the start, and what proves to be a lot is not looked at again.
  [[nodiscard]] Result<bool> scan(JidKey first, JidKey last, std::size_t most, Loads& loads) {
    std::vector<Part> parts{{jobs_ + jid_of(first), first, last}};
    split(parts, kMostRanges);
    for (std::size_t enough = most / 4; !parts.empty(); enough = most) {
      const auto replies = ask(parts);
      if (!replies) return replies.error();
      std::vector<Part> rest;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::vector<etcd::KeyValue>& kvs = (*replies)[i].kvs;
        if (kvs.empty()) continue;
        Child child = child_in(jobs_, kvs.front().key);
        if (is_like_jid(child.name)) {
          const bool is_load = kvs.front().key == layout_.load(child.name);
          loads[child.name] = {is_load ? std::optional(kvs.front().value) : std::nullopt, kvs.front().key};
        }
        const JidKey seen = std::clamp(least_key(child.name), parts[i].first, parts[i].last);
        if (child.next < end_of(parts[i].last)) rest.push_back({std::move(child.next), seen, parts[i].last});
      }
      if (loads.size() > enough && !rest.empty() && first < last) return false;
      parts = std::move(rest);
      // Where hardly any are left, one request more is better than several that find little.
      const bool dense = loads.size() > kMostRanges / 2 && most > kFewLoads * 4;
      split(parts, dense ? kReadsAtOnce * kMostRanges : kMostRanges);
    }
    return true;
  }

  void split(std::vector<Part>& parts, std::size_t wanted) const {
    for (bool can = !parts.empty(); can && parts.size() * 2 <= wanted;) {
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

  /// How far from `end` so many of these loads lie; more that were not found so far may lie there.
  [[nodiscard]] std::uint64_t width_of_some(const Loads& loads, std::size_t some, JidKey end) const;
  [[nodiscard]] RangeRequest seek(const Part& part) const {
    return {.key = part.from,
            .range_end = end_of(part.last),
            .limit = 1,
            .revision = revision_,
            .serializable = revision_ != 0};
  }

  [[nodiscard]] std::string end_of(JidKey last) const { return jobs_ + jid_of(last) + kAfterSuffix; }
  [[nodiscard]] Result<std::vector<etcd::RangeReply>> ask(const std::vector<Part>& parts) {
    for (int tries = 0;; ++tries) {
      std::vector<RangeRequest> requests;
      requests.reserve(parts.size());
      for (const Part& part : parts) requests.push_back(seek(part));
      auto replies = store_.ranges(requests);
      if (replies) {
        if (revision_ == 0) revision_ = replies->front().header.revision;
        return replies;
      }
      // Another member that has not come so far, or a moment that is compacted away: as of another one, then.
      if (replies.error().kind != ErrorKind::invocation || revision_ == 0 || tries > 0) return replies;
      revision_ = 0;
    }
  }

  /// Gives jobs of which there are only returns a load, of the return that stands first.
  [[nodiscard]] Result<void> make_loads(Loads& loads) {
    std::vector<std::string> keys;
    std::vector<std::pair<Loads::iterator, std::string>> jobs;  // and the minion of that return
    for (auto at = loads.begin(); at != loads.end(); ++at) {
      const auto& [jid, found] = *at;
      if (found.load) continue;
      const auto field = field_in(std::string_view(found.first_key).substr(layout_.job(jid).size()));
      if (!field) continue;
      keys.push_back(layout_.field(jid, field->minion, "fun"));
      keys.push_back(layout_.field(jid, field->minion, "fun_args"));
      jobs.emplace_back(at, field->minion);
    }
    const auto values = store_.get(keys);
    if (!values) return values.error();
    auto value = values->begin();
    for (const auto& [at, minion] : jobs) {
      const std::string fun(decoded(value[0].value_or("")));
      const std::string arg(decoded(value[1].value_or("")));
      if (!fun.empty()) at->second.load = load_of_return(at->first, fun, arg, {minion});
      value += 2;
    }
    return {};
  }

  /// Sets `done_` where the visitor has enough.
  [[nodiscard]] Result<void> show(Loads& loads) {
    std::vector<std::string> keys;
    for (const auto& [jid, found] : loads) {
      if (!found.load) keys.push_back(layout_.load(jid));
    }
    auto missing = store_.get(keys);
    if (!missing) return std::move(missing).error();
    auto next = missing->begin();
    for (auto& [jid, found] : loads) {
      if (!found.load) found.load = std::move(*next++);
    }
    if (Result<void> made = make_loads(loads); !made) return made;
    const auto visit = [&](const auto& one) {
      if (!done_ && one.second.load) done_ = !visitor_(one.first, *one.second.load);
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
  std::int64_t revision_ = 0;  // of the moment that all of it is of; 0: nothing was read so far
  bool done_ = false;
};

std::uint64_t LoadWalk::width_of_some(const Loads& loads, std::size_t some, JidKey end) const {
  const auto rank = static_cast<std::ptrdiff_t>(some);
  const std::string& jid =
      walk_.newest_first ? std::next(loads.rbegin(), rank)->first : std::next(loads.begin(), rank)->first;
  const JidKey there = least_key(jid);
  return walk_.newest_first ? distance(there, std::max(there, end)) : distance(std::min(there, end), there);
}

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

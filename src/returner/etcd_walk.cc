// SPDX-License-Identifier: MIT
#include "returner/etcd_walk.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "rest_fcgi/core/format.h"
#include "returner/etcd_json.h"
#include "returner/jid_key.h"

namespace rest_fcgi::returner {
namespace {

using Jids = std::vector<std::string>;

constexpr std::chrono::seconds kReadTime{5};
constexpr std::size_t kAtOnce = 32;                  // loads
constexpr std::size_t kMostInWindow = 128;           // jobs
constexpr std::size_t kFewInWindow = 16;             // the same
constexpr std::uint64_t kFirstWindow = 100'000'000;  // jids of one minute
constexpr std::uint64_t kWider = 8;
constexpr char kAfterSuffix = '~';  // behind what Salt's `unique_jid` appends to a jid

/// The key of the last jid of the day after that time: hosts need not agree about time zones.
JidKey key_after(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time + std::chrono::hours(24));
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return greatest_key(format("{:04}{:02}{:02}235959999999", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday));
}

/// How far apart they are; as far as 64 bits without a sign hold, which is all that can be.
std::uint64_t distance(JidKey from, JidKey to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

class Walk {
 public:
  Walk(EtcdStore& store, const EtcdOptions& options, const JobQuery& query, const LoadVisitor& visit)
      : store_(store),
        options_(options),
        layout_(options),
        query_(query),
        visit_(visit),
        fun_(query.fun.empty() ? std::string() : Json::string(query.fun).text()) {}

  Result<void> oldest_first();
  Result<void> newest_first(WallTime now);

 private:
  /// From one jid to another, newest first; in windows, since etcd sorts backwards only after it has read
  /// all.
  Result<void> backwards(JidKey from, JidKey to, std::uint64_t width);
  /// Where the last one is, of those from a known one on: by halves.
  [[nodiscard]] Result<JidKey> newest_between(JidKey known, JidKey to) const;
  [[nodiscard]] Result<Jids> jids(const EtcdStore::Names& wanted) const;
  /// Sets `done_` where the visitor has enough.
  Result<void> show(const Jids& jids);

  EtcdStore& store_;
  const EtcdOptions& options_;
  const EtcdLayout layout_;
  const JobQuery& query_;
  const LoadVisitor& visit_;
  const std::string fun_;
  bool done_ = false;
};

Result<void> Walk::oldest_first() {
  EtcdStore::Names wanted{std::max(query_.first, query_.after), query_.last, kAtOnce};
  while (!done_) {
    const Result<Jids> found = jids(wanted);
    if (!found) return found.error();
    if (Result<void> shown = show(*found); !shown) return shown;
    if (found->size() < kAtOnce) break;
    wanted.first = found->back() + '0';  // before all that follows a jid, and behind what lies in its folder
  }
  return {};
}

Result<void> Walk::newest_first(WallTime now) {
  const auto [from, to] = keys_of(query_);
  const JidKey today = key_after(now);
  if (from > to) return {};
  if (today < to) {  // hardly anything lies there: of a host whose clock is ahead
    constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
    if (Result<void> walked = backwards(std::max(from, today + 1), to, kAll); !walked) return walked;
  }
  return backwards(from, std::min(to, today), kFirstWindow);
}

Result<void> Walk::backwards(JidKey from, JidKey to, std::uint64_t width) {
  while (!done_ && from <= to) {
    const JidKey first = distance(from, to) <= width ? from : to - static_cast<JidKey>(width);
    Result<Jids> found = jids({jid_of(first), jid_of(to) + kAfterSuffix, kMostInWindow});
    if (!found) return std::move(found).error();
    if (found->size() == kMostInWindow && first < to) {
      const Result<JidKey> newest = newest_between(least_key(found->back()), to);
      if (!newest) return newest.error();
      to = *newest;
      width = std::min(width, distance(least_key(found->front()), least_key(found->back()))) / 2;
      continue;
    }
    std::reverse(found->begin(), found->end());
    if (Result<void> shown = show(*found); !shown) return shown;
    if (first == from) return {};
    to = first - 1;
    constexpr std::uint64_t kWidest = std::numeric_limits<JidKey>::max() / kWider;
    if (found->size() < kFewInWindow) width = std::clamp<std::uint64_t>(width, 1, kWidest) * kWider;
  }
  return {};
}

Result<JidKey> Walk::newest_between(JidKey known, JidKey to) const {
  while (known < to) {
    const JidKey middle = to - static_cast<JidKey>(distance(known, to) / 2);
    const Result<Jids> found = jids({jid_of(middle), jid_of(to) + kAfterSuffix, 1});
    if (!found) return found.error();
    if (found->empty()) {
      to = middle - 1;
    } else {
      known = std::max(middle, std::min(to, least_key(found->front())));
    }
  }
  return known;
}

Result<Jids> Walk::jids(const EtcdStore::Names& wanted) const {
  return store_.names(layout_.jobs(), wanted, read_deadline());
}

Result<void> Walk::show(const Jids& jids) {
  for (std::size_t begin = 0; begin < jids.size() && !done_; begin += kAtOnce) {
    const std::size_t end = std::min(jids.size(), begin + kAtOnce);
    std::vector<std::string> keys;
    for (std::size_t i = begin; i < end; ++i) keys.push_back(layout_.load(jids[i]));
    const auto values = store_.get(keys, read_deadline());
    if (!values) return values.error();
    for (std::size_t i = begin; i < end && !done_; ++i) {
      const std::string& jid = jids[i];
      const std::optional<std::string>& stored = (*values)[i - begin];
      if (!stored || !is_like_jid(jid)) continue;
      if (!means(query_, jid)) continue;
      const auto load = load_in(jid, decoded(*stored), options_.unicode_errors);
      if (load && (fun_.empty() || load->fun.text() == fun_)) done_ = !visit_(*load);
    }
  }
  return {};
}

}  // namespace

EtcdStore::Deadline read_deadline() {
  return std::chrono::steady_clock::now() + kReadTime;
}

Result<void> walk_loads(EtcdStore& store, const EtcdOptions& options, WallTime now, const JobQuery& query,
                        const LoadVisitor& visit) {
  Walk walk(store, options, query, visit);
  return query.newest_first ? walk.newest_first(now) : walk.oldest_first();
}

}  // namespace rest_fcgi::returner

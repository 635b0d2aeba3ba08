// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstddef>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "returner/etcd/watch.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kFieldsOfReturn = 9;
constexpr milliseconds kSettleEvery{100};
constexpr seconds kQuiet{1};        // A return counts as complete if no field has arrived for `kQuiet`.
constexpr seconds kLoadIsLate{10};  // A return waits for the load of its job for at most `kLoadIsLate`.

std::size_t bytes_of(const Load& load) {
  std::size_t bytes = load.arg.text().size() + load.tgt.text().size() + load.user.size();
  for (const std::string& minion : load.minions) bytes += minion.size() + sizeof(std::string);
  return bytes + (load.metadata ? load.metadata->text().size() : 0);
}

}  // namespace

WatchedJobs::WatchedJobs(const EtcdOptions& options, ClusterListener& listener, LookUp look_up)
    : layout_(options), listener_(listener), look_up_(std::move(look_up)) {}

void WatchedJobs::take(const std::vector<EtcdChange>& changes, SteadyTime now) {
  jobs_.trim();
  const std::string jobs = layout_.jobs();
  std::map<Place, std::size_t> touched;
  for (const EtcdChange& change : changes) {
    if (!change.key.starts_with(jobs)) continue;
    const std::size_t slash = change.key.find('/', jobs.size());
    if (slash == std::string::npos) continue;
    const std::string jid = change.key.substr(jobs.size(), slash - jobs.size());
    if (!is_like_jid(jid)) continue;
    if (change.key == layout_.load(jid)) {
      take_load(jid, change);
    } else if (const auto field = field_in(std::string_view(change.key).substr(slash + 1))) {
      Place place(jid, field->minion);
      Pending& pending = pending_.try_emplace(place, Pending{.first = now}).first->second;
      pending.fields.insert_or_assign(std::string(field->name), decoded(change.value));
      pending.differs = pending.differs || !change.is_same;
      pending.revision = change.revision;
      pending.last = now;
      ++touched[std::move(place)];
    }
  }
  for (const auto& [place, count] : touched) {
    const auto pending = pending_.find(place);
    const auto& fields = pending->second.fields;
    if (!fields.contains("return")) continue;
    if (count == 1 && (fields.size() < kFieldsOfReturn || !fields.contains("_stamp"))) continue;
    pending->second.is_whole = true;
    pass_on(pending, false);
  }
}

void WatchedJobs::settle(SteadyTime now) {
  if (now < settled_at_ + kSettleEvery) return;
  settled_at_ = now;
  for (auto at = pending_.begin(); at != pending_.end();) {
    Pending& pending = at->second;
    if (!pending.is_whole && now >= pending.last + kQuiet) {
      pending.is_whole = pending.fields.contains("return");
      at = pending.is_whole ? pass_on(at, false) : pending_.erase(at);
    } else {
      at = pending.is_whole && now >= pending.first + kLoadIsLate ? pass_on(at, true) : std::next(at);
    }
  }
  if (!look_up_error_.empty()) listener_.lost(std::exchange(look_up_error_, {}));
}

void WatchedJobs::take_load(const std::string& jid, const EtcdChange& change) {
  // Only a new load is a new job. Otherwise the change has added minions, or a Salt master has replaced the
  // load by a return.
  if (!change.is_new) return;
  std::optional<Load> load = load_in(jid, decoded(change.value));
  if (!load) return;
  const std::size_t bytes = bytes_of(*load);
  listener_.job(jobs_.put(jid, *std::move(load), bytes));
  for (auto at = pending_.lower_bound({jid, {}}); at != pending_.end() && at->first.first == jid;) {
    at = at->second.is_whole ? pass_on(at, false) : std::next(at);
  }
}

WatchedJobs::Returns::iterator WatchedJobs::pass_on(Returns::iterator pending, bool needs_no_load) {
  const auto& [jid, minion] = pending->first;
  if (!pending->second.differs) return pending_.erase(pending);
  const Result<const Load*> stored = find(jid, needs_no_load ? 0 : pending->second.revision);
  const Load* load = stored ? *stored : nullptr;
  if (load == nullptr && !needs_no_load) return std::next(pending);
  if (!stored) look_up_error_ = format("the load of job {} cannot be read: {}", jid, stored.error().message);
  const auto& fields = pending->second.fields;
  JobReturn ret{.minion = minion};
  for (const auto& [name, text] : fields) read_field(ret, name, text);
  Load unknown{.jid = jid};
  if (load == nullptr) {
    const auto value = [&](std::string_view name, const char* otherwise) {
      const auto found = fields.find(name);
      return found == fields.end() ? Json::trusted(otherwise) : json_in(found->second);
    };
    unknown.fun = value("fun", R"("unknown-function")");
    unknown.arg = value("fun_args", "[]");
  }
  listener_.returned(load == nullptr ? unknown : *load, ret);
  return pending_.erase(pending);
}

Result<const Load*> WatchedJobs::find(const std::string& jid, std::int64_t revision) {
  if (const Load* const known = jobs_.find(jid)) return known;
  // A load that is written after `revision` arrives as a change, and `take_load` passes the load on.
  const auto stored = look_up_(layout_.load(jid), revision);
  if (!stored) return stored.error();
  std::optional<Load> load;
  if (*stored) load = load_in(jid, decoded(**stored));
  if (!load) return static_cast<const Load*>(nullptr);
  const std::size_t bytes = bytes_of(*load);
  return &jobs_.put(jid, *std::move(load), bytes);
}

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/log.h"
#include "returner/etcd/layout.h"
#include "returner/etcd/outbox.h"
#include "returner/etcd/store.h"
#include "returner/stored.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kMostSends = 8;
constexpr std::size_t kMostPutsOfBatch = 32;
constexpr std::size_t kMostBytesOfBatch = 512 * 1024;
// The largest number of attempts to change a load that other processes also change.
constexpr int kMostTries = 8;

/// The write of one job's load, or of one minion's return, into etcd.
struct Item {
  std::string what;
  EtcdWrite write;
  std::optional<EtcdPair> last;

  /// The key of the first put identifies the load or return.
  [[nodiscard]] const std::string& place() const { return write.puts.front().key; }
  [[nodiscard]] std::size_t puts() const noexcept { return write.puts.size() + (last ? 1 : 0); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t bytes = last ? last->key.size() + last->value.size() : 0;
    for (const EtcdPair& put : write.puts) bytes += put.key.size() + put.value.size();
    return bytes;
  }
};

class Batch {
 public:
  /// Returns false if the batch is full. An empty batch accepts an item of any size.
  bool add(Item& item) {
    const std::size_t puts = puts_ + item.puts();
    const std::size_t bytes = bytes_ + item.bytes();
    if (!items_.empty() && (puts > kMostPutsOfBatch || bytes > kMostBytesOfBatch)) return false;
    puts_ = puts;
    bytes_ = bytes;
    items_.push_back(std::move(item));
    return true;
  }

  [[nodiscard]] const std::vector<Item>& items() const noexcept { return items_; }

  /// Returns the writes in Salt's order: first the loads, then the last jid of each minion, then the returns.
  [[nodiscard]] std::vector<EtcdWrite> writes() const {
    std::vector<EtcdWrite> all;
    std::map<std::string_view, std::string_view> last;
    for (const Item& item : items_) {
      if (!item.last) continue;
      std::string_view& jid = last[item.last->key];
      if (jid < item.last->value) jid = item.last->value;
    }
    const auto add = [&](bool loads) {
      for (const Item& item : items_) {
        if ((item.write.unless == EtcdWrite::Unless::never) == loads) all.push_back(item.write);
      }
    };
    add(true);
    for (const auto& [key, jid] : last) {
      const EtcdPair pair{std::string(key), std::string(jid)};
      all.push_back({EtcdWrite::Unless::greater, pair.key, pair.value, {pair}});
    }
    add(false);
    return all;
  }

 private:
  std::vector<Item> items_;
  std::size_t puts_ = 0;
  std::size_t bytes_ = 0;
};

class Group {
 public:
  /// Returns false if the group already has an item with this key, because the batches of a group are written
  /// at the same time and in any order.
  bool add(Item& item) {
    if (!places_.insert(item.place()).second) return false;
    if (batches_.empty() || !batches_.back().add(item)) batches_.emplace_back().add(item);
    return true;
  }
  [[nodiscard]] const std::vector<Batch>& batches() const noexcept { return batches_; }

 private:
  std::vector<Batch> batches_;
  std::set<std::string> places_;
};

class Delivery {
 public:
  Delivery(EtcdStore& store, const EtcdOptions& options, std::function<void()> lost)
      : store_(store), layout_(options), lost_(std::move(lost)) {}

  Result<void> deliver(const std::vector<OutboxRow>& rows) {
    // Trims the cache before `look_up_jobs`, because a later trim could remove facts that this delivery
    // needs.
    recent_.trim();
    if (Result<void> found = look_up_jobs(rows); !found) return found;
    Group group;
    for (const OutboxRow& row : rows) {
      if (!row.minions.empty()) {
        if (Result<void> sent = send(group); !sent) return sent;
        if (Result<void> added = add_minions(row); !added) return added;
        continue;
      }
      for (Item& item : items_of(row)) {
        if (group.add(item)) continue;
        if (Result<void> sent = send(group); !sent) return sent;
        group.add(item);
      }
    }
    return send(group);
  }

 private:
  /// A return in etcd contains the function and the arguments of its job. Reads both from the job's load,
  /// unless `rows` has the load or `recent_` has the facts.
  Result<void> look_up_jobs(const std::vector<OutboxRow>& rows) {
    std::set<JidKey> here;
    std::set<JidKey> missing;
    for (const OutboxRow& row : rows) {
      if (!row.load.empty()) {
        here.insert(row.key);
      } else if (!row.returns.empty() && !here.contains(row.key) && recent_.find(row.key) == nullptr) {
        missing.insert(row.key);
      }
    }
    if (missing.empty()) return {};
    std::vector<std::string> keys;
    keys.reserve(missing.size());
    for (const JidKey key : missing) keys.push_back(layout_.load(jid_of(key)));
    const auto values = store_.get(keys);
    if (!values) return values.error();
    auto value = values->begin();
    for (const JidKey key : missing) {
      if (const std::optional<std::string>& stored = *value++) remember(key, decoded(*stored));
    }
    return {};
  }

  void remember(JidKey key, std::string_view load_text) {
    const std::optional<Load> load = load_in(jid_of(key), load_text);
    if (!load) return;
    const std::size_t bytes = load->fun.text().size() + load->arg.text().size();
    recent_.put(key, {load->fun.text(), load->arg.text()}, bytes);
  }

  [[nodiscard]] std::vector<Item> items_of(const OutboxRow& row) {
    std::vector<Item> items;
    const std::string jid = jid_of(row.key);
    if (!row.load.empty()) {
      remember(row.key, row.load);
      const std::string key = layout_.load(jid);
      items.push_back({format("the load of job {}", jid),
                       {EtcdWrite::Unless::never, {}, {}, {{key, layout_.encoded(row.load)}}},
                       {}});
    }
    const JobFacts* const facts = recent_.find(row.key);
    if (facts == nullptr || row.returns.empty()) return items;
    for (const JobReturn& ret : returns_in(row.returns)) items.push_back(return_item(row, ret, *facts));
    return items;
  }

  [[nodiscard]] Item return_item(const OutboxRow& row, const JobReturn& ret, const JobFacts& facts) const {
    const std::string jid = jid_of(row.key);
    const auto key_of_field = [&](std::string_view name) { return layout_.field(jid, ret.minion, name); };
    Item item{format("the return of {} to job {}", ret.minion, jid), {}, {}};
    // A return does not replace a return with a greater stamp. A placeholder has an empty stamp, so every
    // return can replace it.
    std::string stamp;
    if (row.is_placeholder) {
      item.write = {EtcdWrite::Unless::exists, key_of_field("return"), {}, {}};
    } else {
      stamp = iso_stamp(row.stamp);
      item.write = {EtcdWrite::Unless::greater,
                    key_of_field("_stamp"),
                    layout_.encoded(Json::string(stamp).text()),
                    {}};
      item.last = EtcdPair{layout_.minion(ret.minion), layout_.encoded(jid)};
    }
    for (const auto& [name, text] : return_fields(jid, ret, facts, stamp)) {
      item.write.puts.push_back({key_of_field(name), layout_.encoded(text)});
    }
    return item;
  }

  Result<void> add_minions(const OutboxRow& row) {
    const std::string key = layout_.load(jid_of(row.key));
    for (int tries = 0; tries < kMostTries; ++tries) {
      const auto found = store_.get({key});
      if (!found) return found.error();
      const std::optional<std::string>& before = found->front();
      const auto merged = before ? with_minions(decoded(*before), strings_in(row.minions)) : std::nullopt;
      if (!merged) return {};
      const std::string after = layout_.encoded(*merged);
      if (after == *before) return {};
      const Result<bool> done = store_.replace({key, after}, *before);
      if (!done && done.error().kind != ErrorKind::invocation) return done.error();
      if (!done) note_refused(format("the minions of job {}", jid_of(row.key)), done.error());
      if (!done || *done) return {};
    }
    return Error{ErrorKind::unavailable,
                 format("{}: other writers changed the key {} times", key, kMostTries)};
  }

  Result<void> send(Group& group) {
    const Group now = std::exchange(group, {});
    const std::vector<Batch>& batches = now.batches();
    return at_once(batches.size(), kMostSends, [&](std::size_t i) { return send(batches[i]); });
  }

  Result<void> send(const Batch& batch) {
    Result<void> written = store_.write(batch.writes());
    if (written || written.error().kind != ErrorKind::invocation) return written;
    if (batch.items().size() == 1) {
      note_refused(batch.items().front().what, written.error());
      return {};
    }
    // etcd refused at least one item. Sends each item alone, so that etcd accepts the others.
    for (Item item : batch.items()) {
      Batch alone;
      alone.add(item);
      if (Result<void> sent = send(alone); !sent) return sent;
    }
    return {};
  }

  void note_refused(std::string_view what, const Error& why) const {
    lost_();
    log::error(format("etcd: {} is lost: {}", what, why.message));
  }

  EtcdStore& store_;
  const EtcdLayout layout_;
  const std::function<void()> lost_;
  RecentJobs<JidKey, JobFacts> recent_;
};

}  // namespace

std::function<Result<void>(const std::vector<OutboxRow>&)> make_etcd_delivery(EtcdStore& store,
                                                                              const EtcdOptions& options,
                                                                              std::function<void()> lost) {
  const auto delivery = std::make_shared<Delivery>(store, options, std::move(lost));
  return [delivery](const std::vector<OutboxRow>& rows) { return delivery->deliver(rows); };
}

}  // namespace rest_fcgi::returner

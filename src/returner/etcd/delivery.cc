// SPDX-License-Identifier: MIT
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "returner/etcd/layout.h"
#include "returner/etcd/store.h"
#include "returner/spool/spooled_writer.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kMostRecords = 512;  // looked at together
constexpr std::size_t kMostBytesOfRecords = 4 * 1024 * 1024;
constexpr std::size_t kSendsAtOnce = 8;  // transactions under way
constexpr std::size_t kMostPutsOfBatch = 32;
constexpr std::size_t kMostBytesOfBatch = 512 * 1024;
constexpr int kMostChanges = 8;  // of a load that others change at the same time

/// A record as it waits in the spool.
struct Stamped {
  WallTime stamp;
  RecordView record;
};

/// What one record becomes in etcd.
struct Item {
  std::string what;              ///< for the log: the load or return, and of which job
  EtcdWrite write;               ///< the load, or the fields of the return
  std::optional<EtcdPair> last;  ///< that this is the minion's last job; of a return

  /// What it is written to. Two items of one place must not be under way together.
  [[nodiscard]] const std::string& place() const { return write.puts.front().key; }
  [[nodiscard]] std::size_t puts() const noexcept { return write.puts.size() + (last ? 1 : 0); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t bytes = last ? last->key.size() + last->value.size() : 0;
    for (const EtcdPair& put : write.puts) bytes += put.key.size() + put.value.size();
    return bytes;
  }
};

/// Items of one transaction, within what etcd takes.
class Batch {
 public:
  /// False where it is full. An empty one takes any.
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

  /// Loads, then the minions' last jobs, each of them once, then returns, as Salt orders them.
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
        if ((item.write.unless == EtcdWrite::Unless::changed) == loads) all.push_back(item.write);
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

/// Batches that may be under way together.
class Flight {
 public:
  /// False where an item of the same place has to land before.
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

/// What etcd refused of some records. It is told of when all of them are through: until then they may be
/// delivered again, and it is refused again. Thread-safe.
class Refusals {
 public:
  void add(std::string what, std::string why) {
    const std::lock_guard lock(mutex_);
    all_.emplace_back(std::move(what), std::move(why));
  }
  void tell(Trouble& trouble) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [what, why] : all_) trouble.refuse(what, why);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> all_;  // guarded by mutex_
};

/// Used by the writer's thread alone.
class EtcdSink : public SpoolSink {
 public:
  EtcdSink(EtcdStore& store, const EtcdOptions& options) : store_(store), layout_(options) {}

  Result<void> write(const SpooledWork& work, Trouble& trouble) override {
    while (true) {
      std::vector<std::string_view> records;
      std::size_t bytes = 0;
      const Spool::Taken taken = work.spool.take(work.end, [&](std::string_view record) {
        if (!records.empty() &&
            (records.size() == kMostRecords || bytes + record.size() > kMostBytesOfRecords)) {
          return false;
        }
        records.push_back(record);
        bytes += record.size();
        return true;
      });
      Refusals refusals;
      if (Result<void> written = deliver(records, refusals); !written) return written;
      refusals.tell(trouble);
      trouble.tell_of_unreadable(taken.unreadable, work.spool.file().path());
      if (taken.end >= work.end) return {};
      work.written(taken.end);
    }
  }

  [[nodiscard]] std::optional<RecordView> view(std::string_view record) const override {
    return view_of(unstamped(record).record);
  }

 private:
  [[nodiscard]] Result<void> deliver(const std::vector<std::string_view>& records, Refusals& refusals) {
    recent_.trim();  // only now: the items of a delivery need all that its look-up found
    std::vector<Stamped> all;
    for (const std::string_view record : records) {
      const StampedRecord stamped = unstamped(record);
      if (const auto view = view_of(stamped.record)) {
        all.push_back({stamped.stamp, *view});
      } else {
        refusals.add("a record of its spool", "it cannot be read");
      }
    }
    if (Result<void> found = look_up_jobs(all); !found) return found;
    Flight flight;
    for (const Stamped& one : all) {
      if (one.record.kind == RecordView::Kind::minions) {
        if (Result<void> sent = send(flight, refusals); !sent) return sent;
        if (Result<void> added = add_minions(one.record, refusals); !added) return added;
        continue;
      }
      std::optional<Item> item = item_of(one);
      if (!item || flight.add(*item)) continue;
      if (Result<void> sent = send(flight, refusals); !sent) return sent;
      flight.add(*item);
    }
    return send(flight, refusals);
  }

  /// The jobs of returns whose loads are not among the records, and were not seen lately.
  [[nodiscard]] Result<void> look_up_jobs(const std::vector<Stamped>& all) {
    std::set<JidKey> here;
    std::set<JidKey> missing;
    for (const Stamped& one : all) {
      const JidKey key = one.record.key;
      if (one.record.kind == RecordView::Kind::load) here.insert(key);
      const bool is_return = !one.record.packed.empty();
      if (is_return && !here.contains(key) && recent_.find(key) == nullptr) missing.insert(key);
    }
    if (missing.empty()) return {};
    std::vector<std::string> keys;
    keys.reserve(missing.size());
    for (const JidKey key : missing) keys.push_back(layout_.load(jid_of(key)));
    const auto values = store_.get(keys);
    if (!values) return values.error();
    auto value = values->begin();
    for (const JidKey key : missing) {
      const std::optional<std::string>& stored = *value++;
      const auto load =
          stored ? load_in(jid_of(key), decoded(*stored), UnicodeErrors::replace) : std::nullopt;
      if (load) remember(key, {load->fun.text(), load->arg.text()});
    }
    return {};
  }

  void remember(JidKey key, JobFacts facts) {
    const std::size_t bytes = facts.fun.size() + facts.arg.size();
    recent_.put(key, std::move(facts), bytes);
  }

  [[nodiscard]] std::optional<Item> item_of(const Stamped& stamped) {
    const RecordView& record = stamped.record;
    if (record.kind == RecordView::Kind::load) {
      remember(record.key, {std::string(record.load.fun), std::string(record.load.arg)});
      return load_item(record);
    }
    const JobFacts* const facts = recent_.find(record.key);
    return facts == nullptr ? std::nullopt : return_item(stamped, *facts);
  }

  [[nodiscard]] Item load_item(const RecordView& record) const {
    const std::string jid = jid_of(record.key);
    const std::string key = layout_.load(jid);
    return {format("the load of job {}", jid),
            {EtcdWrite::Unless::changed, key, {}, {{key, layout_.encoded(load_text(jid, record.load))}}},
            {}};
  }

  [[nodiscard]] std::optional<Item> return_item(const Stamped& stamped, const JobFacts& facts) const {
    const RecordView& record = stamped.record;
    const std::string jid = jid_of(record.key);
    const JobReturn ret = record.ret.copy();
    if (!is_key_part(ret.minion)) return std::nullopt;
    const auto key_of_field = [&](std::string_view name) { return layout_.field(jid, ret.minion, name); };
    Item item{format("the return of {} to job {}", ret.minion, jid), {}, {}};
    std::string stamp;  // of one that stands in: none, so that any that comes is later
    if (record.kind == RecordView::Kind::stand_in) {
      item.write = {EtcdWrite::Unless::exists, key_of_field("return"), {}, {}};
    } else {
      stamp = stamp_text(stamped.stamp);
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

  [[nodiscard]] Result<void> add_minions(const RecordView& record, Refusals& refusals) {
    const std::string key = layout_.load(jid_of(record.key));
    for (int tries = 0; tries < kMostChanges; ++tries) {
      const auto found = store_.get({key});
      if (!found) return found.error();
      const std::optional<std::string>& before = found->front();
      const auto merged =
          before ? with_minions(decoded(*before), minions_in(record.minions, record.packing)) : std::nullopt;
      if (!merged) return {};
      const std::string after = layout_.encoded(*merged);
      if (after == *before) return {};
      const Result<bool> done = store_.replace({key, after}, *before);
      if (!done && done.error().kind != ErrorKind::invocation) return done.error();
      if (!done) refusals.add(format("minions of job {}", jid_of(record.key)), done.error().message);
      if (!done || *done) return {};
    }
    return Error{ErrorKind::unavailable, format("others write {} again and again", key)};
  }

  [[nodiscard]] Result<void> send(Flight& flight, Refusals& refusals) {
    const Flight now = std::exchange(flight, {});
    const std::vector<Batch>& batches = now.batches();
    return at_once(batches.size(), kSendsAtOnce, [&](std::size_t i) { return send(batches[i], refusals); });
  }

  [[nodiscard]] Result<void> send(const Batch& batch, Refusals& refusals) {
    Result<void> written = store_.write(batch.writes());
    const auto failed_as = [&](ErrorKind kind) { return !written && written.error().kind == kind; };
    const bool is_there = failed_as(ErrorKind::internal) && takes_another();
    if (is_there) written = store_.write(batch.writes());  // it may have recovered between the two
    const bool is_refused = failed_as(ErrorKind::invocation) || (is_there && failed_as(ErrorKind::internal));
    if (!is_refused) return written;
    if (batch.items().size() == 1) {
      refusals.add(batch.items().front().what, written.error().message);
      return {};
    }
    // One of them is refused, and the others need not suffer for that.
    for (Item item : batch.items()) {
      Batch alone;
      alone.add(item);
      if (Result<void> sent = send(alone, refusals); !sent) return sent;
    }
    return {};
  }

  /// Does the cluster take a small write now? Then what it answers to another one with nonsense is at fault
  /// itself.
  [[nodiscard]] bool takes_another() {
    constexpr std::chrono::seconds kProbeTime{60};
    return store_.claim({layout_.claim("probe"), "probe"}, layout_.claim("probe"), kProbeTime).ok();
  }

  EtcdStore& store_;
  const EtcdLayout layout_;
  RecentJobs<JidKey, JobFacts> recent_;  // what returns need to know
};

}  // namespace

std::unique_ptr<SpoolSink> make_etcd_sink(EtcdStore& store, const EtcdOptions& options) {
  return std::make_unique<EtcdSink>(store, options);
}

}  // namespace rest_fcgi::returner

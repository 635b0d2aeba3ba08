// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "returner/etcd/layout.h"
#include "returner/etcd/store.h"
#include "returner/etcd/watch.h"
#include "returner/record.h"
#include "returner/spool/spooled_writer.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kGroupTime{10};     // in which a load and its first returns come together
constexpr milliseconds kMostPause{5000};   // between tries
constexpr milliseconds kFailureTime{500};  // one that is older is worth another try
constexpr std::chrono::hours kClaimOfJid{1};

std::string random_name() {
  std::random_device device;
  return format("{:08x}{:08x}{:08x}", device(), device(), device());
}

std::string where_of(const EtcdOptions& options) {
  std::string endpoints;
  for (const std::string& endpoint : options.writing.endpoints) {
    endpoints.append(endpoints.empty() ? "" : ", ").append(endpoint);
  }
  return format("etcd.host: {}", endpoints);
}

class EtcdReturner : public Returner {
 public:
  EtcdReturner(const Options& options, const Clock& clock, std::unique_ptr<EtcdStore> writing,
               std::unique_ptr<EtcdStore> reading)
      : options_(options.etcd),
        clock_(clock),
        layout_(options.etcd),
        writing_(std::move(writing)),
        reading_(std::move(reading)) {}

  Result<void> start(std::size_t spool_bytes) {
    auto writer = SpooledWriter::start({.name = "etcd",
                                        .where = where_of(options_),
                                        .prefix = options_.spool,
                                        .spool_bytes = spool_bytes,
                                        .group_time = kGroupTime,
                                        .most_pause = kMostPause,
                                        .failure_counts = kFailureTime,
                                        .on_loss = [losses = losses_] { losses->tell(); }},
                                       clock_, make_etcd_sink(*writing_, options_));
    if (!writer) return std::move(writer).error();
    writer_ = *std::move(writer);
    return {};
  }

  Result<bool> prep_jid(std::string_view passed_jid) override {
    if (!key_of(passed_jid)) return no_key_of(passed_jid, "etcd");
    if (Result<void> flushed = writer_->flush(); !flushed) return std::move(flushed).error();
    const EtcdPair claim{layout_.claim(passed_jid), format("{}-{}", claimant_, claims_++)};
    const Result<bool> claimed = writing_->claim(claim, layout_.load(passed_jid), kClaimOfJid);
    return claimed ? claimed : failure(claimed.error());
  }

  Result<void> save_load(Load load, Durability durability) override {
    const std::optional<JidKey> key = key_of(load.jid);
    if (!key) return no_key_of(load.jid, "etcd");
    return append(load_record(*key, load, clock_.wall()), durability);
  }

  Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) override {
    const std::optional<JidKey> key = key_of(jid);
    return key ? append(minions_record(*key, minions), Durability::grouped) : Result<void>();
  }

  Result<void> returner(std::string_view jid, JobReturn ret) override {
    const std::optional<JidKey> key = key_of(jid);
    if (!key) return {};
    if (is_key_part(ret.minion)) return append(return_record(*key, ret), Durability::grouped);
    return Error{ErrorKind::invocation,
                 format("The job cache etcd keeps no return of minion {}: its id cannot be part of a key.",
                        rest_fcgi::quoted(std::string_view(ret.minion)))};
  }

  [[nodiscard]] Result<std::optional<Load>> get_load(std::string_view jid) const override {
    if (!is_like_jid(jid)) return std::optional<Load>();
    if (Result<void> flushed = writer_->flush(); !flushed) return std::move(flushed).error();
    const auto values = get({layout_.load(jid)});
    if (!values) return values.error();
    if (const auto& stored = values->front()) return load_in(jid, decoded(*stored), options_.unicode_errors);
    const auto made = returned_load(*reading_, layout_, std::string(jid));
    if (!made) return failure(made.error());
    return *made ? load_in(jid, **made, options_.unicode_errors) : std::nullopt;
  }

  [[nodiscard]] Result<std::vector<JobReturn>> get_jid(std::string_view jid) const override;
  [[nodiscard]] Result<std::vector<FunctionReturn>> get_fun(std::string_view fun) const override;

  [[nodiscard]] Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const override {
    if (Result<void> flushed = writer_->flush(); !flushed) return flushed;
    const EtcdStore::LoadVisitor visitor = [&](const std::string& jid, const std::string& stored) {
      const auto load = load_in(jid, decoded(stored), options_.unicode_errors);
      return !load || !means(query, *load) || visit(*load);
    };
    const Result<void> walked =
        reading_->walk_loads(layout_, {keys_of(query), query.newest_first, clock_.wall()}, visitor);
    return walked ? walked : failure(walked.error());
  }

  [[nodiscard]] Result<std::vector<std::string>> get_minions() const override {
    std::vector<std::string> names;
    const Result<void> read = visit_below(
        layout_.minions(), [&](std::string_view name, std::string_view) { names.emplace_back(name); });
    std::sort(names.begin(), names.end());
    return read ? Result(std::move(names)) : read.error();
  }

  Result<void> flush() override { return writer_->settle(); }
  /// Nothing: `etcd.ttl` says how long jobs are kept, and etcd itself drops them.
  Result<std::size_t> clean_old_jobs() override { return std::size_t{0}; }

  Result<std::unique_ptr<Watch>> watch(ClusterListener& listener) override {
    if (options_.require_v2) return std::unique_ptr<Watch>();
    auto changes = make_etcd_changes(options_.reading, layout_.all());
    if (!changes) return std::move(changes).error();
    auto events = make_etcd_store_v3(options_.writing, kListeningTtl);
    if (!events) return std::move(events).error();
    return make_etcd_watch(options_, claimant_, *std::move(changes), *std::move(events), losses_, listener);
  }

 private:
  Result<void> append(std::string_view record, Durability durability) {
    const std::string stamped = stamped_record(next_stamp(), record);
    if (durability == Durability::durable) return writer_->append_durably(stamped);
    writer_->append(stamped);
    return {};
  }

  /// Later than any before, however often the clock is asked, or set back.
  [[nodiscard]] WallTime next_stamp() {
    const std::int64_t now = clock_.wall().time_since_epoch().count();
    std::int64_t last = last_stamp_.load();
    while (!last_stamp_.compare_exchange_weak(last, std::max(now, last + 1))) {
    }
    return WallTime(WallTime::duration(std::max(now, last + 1)));
  }

  [[nodiscard]] Error failure(const Error& cause) const { return writer_->failure(cause); }

  [[nodiscard]] Result<std::vector<std::optional<std::string>>> get(
      const std::vector<std::string>& keys) const {
    auto values = reading_->get(keys);
    if (values) return values;
    return failure(values.error());
  }

  /// Visits what is below a folder by now: the rest of each key, and its value as it was before it was
  /// encoded.
  template <class Visit>
  [[nodiscard]] Result<void> visit_below(const std::string& folder, const Visit& visit) const {
    if (Result<void> flushed = writer_->flush(); !flushed) return flushed;
    const Result<void> read = reading_->visit(folder, [&](const std::string& key, const std::string& value) {
      visit(std::string_view(key).substr(folder.size()), decoded(value));
    });
    return read ? read : failure(read.error());
  }

  [[nodiscard]] Result<std::vector<FunctionReturn>> returns_of(std::vector<FunctionReturn> wanted) const;

  const EtcdOptions options_;
  const Clock& clock_;
  const EtcdLayout layout_;
  const std::string claimant_ = random_name();  // nobody else's
  std::atomic<std::uint64_t> claims_{0};
  std::atomic<std::int64_t> last_stamp_{0};
  const std::shared_ptr<EtcdLosses> losses_ = std::make_shared<EtcdLosses>();
  const std::unique_ptr<EtcdStore> writing_;
  const std::unique_ptr<EtcdStore> reading_;
  std::unique_ptr<SpooledWriter> writer_;  // uses writing_
};

Result<std::vector<JobReturn>> EtcdReturner::get_jid(std::string_view jid) const {
  std::vector<JobReturn> returns;
  if (!is_like_jid(jid)) return returns;
  std::map<std::string, std::pair<JobReturn, bool>, std::less<>> by_minion;
  const Result<void> read = visit_below(layout_.job(jid), [&](std::string_view rest, std::string_view text) {
    const auto field = field_in(rest);
    if (!field) return;
    auto& [ret, is_whole] = by_minion[std::string(field->minion)];
    is_whole = read_field(ret, field->name, text, options_.unicode_errors) || is_whole;
  });
  if (!read) return read.error();
  for (auto& [minion, entry] : by_minion) {
    auto& [ret, is_whole] = entry;
    if (!is_whole) continue;  // another responder is just writing it, key by key, with API v2
    ret.minion = minion;
    returns.push_back(std::move(ret));
  }
  return returns;
}

Result<std::vector<FunctionReturn>> EtcdReturner::get_fun(std::string_view fun) const {
  std::vector<FunctionReturn> last;
  std::vector<std::string> keys;
  const auto visit = [&](std::string_view minion, std::string_view jid) {
    if (!is_key_part(minion) || !is_like_jid(jid)) return;
    keys.push_back(layout_.field(jid, minion, "fun"));
    last.push_back({std::string(jid), {.minion = std::string(minion)}});
  };
  if (const Result<void> read = visit_below(layout_.minions(), visit); !read) return read.error();
  const auto funs = get(keys);
  if (!funs) return funs.error();
  const Json wanted = Json::string(fun);
  std::vector<FunctionReturn> of_fun;
  for (std::size_t i = 0; i < last.size(); ++i) {
    const std::optional<std::string>& stored = (*funs)[i];
    if (!stored || json_in(decoded(*stored), options_.unicode_errors) != wanted) continue;
    of_fun.push_back(std::move(last[i]));
  }
  return returns_of(std::move(of_fun));
}

Result<std::vector<FunctionReturn>> EtcdReturner::returns_of(std::vector<FunctionReturn> wanted) const {
  constexpr std::string_view kFields[] = {"return", "retcode", "success", "out"};
  std::vector<std::string> keys;
  for (const FunctionReturn& one : wanted) {
    for (const std::string_view name : kFields) keys.push_back(layout_.field(one.jid, one.ret.minion, name));
  }
  const auto values = get(keys);
  if (!values) return values.error();
  auto value = values->begin();
  for (FunctionReturn& one : wanted) {
    for (const std::string_view name : kFields) {
      if (*value) read_field(one.ret, name, decoded(**value), options_.unicode_errors);
      ++value;
    }
  }
  return wanted;
}

}  // namespace

Result<std::optional<std::string>> returned_load(EtcdStore& store, const EtcdLayout& layout,
                                                 const std::string& jid) {
  const std::string folder = layout.job(jid);
  std::vector<std::string> minions;
  std::map<std::string, std::string, std::less<>> first;  // fields of the first minion's return
  std::string first_minion;
  const Result<void> read = store.visit(folder, [&](const std::string& key, const std::string& value) {
    const auto field = field_in(std::string_view(key).substr(folder.size()));
    if (!field) return;
    if (field->name == "return") minions.emplace_back(field->minion);
    if (first_minion.empty()) first_minion = field->minion;
    const bool is_told = field->name == "fun" || field->name == "fun_args";
    if (is_told && field->minion == first_minion) first.emplace(field->name, decoded(value));
  });
  if (!read) return read.error();
  if (minions.empty()) return std::optional<std::string>();
  return std::optional(load_of_return(jid, first["fun"], first["fun_args"], minions));
}

Result<std::unique_ptr<Returner>> open_etcd_returner(const Options& options, const Clock& clock) {
  const auto make = options.etcd.require_v2 ? make_etcd_store_v2 : make_etcd_store_v3;
  auto writing = make(options.etcd.writing, options.etcd.ttl);
  if (!writing) return std::move(writing).error();
  auto reading = make(options.etcd.reading, options.etcd.ttl);
  if (!reading) return std::move(reading).error();
  return open_etcd_returner_over(options, clock, *std::move(writing), *std::move(reading));
}

Result<std::unique_ptr<Returner>> open_etcd_returner_over(const Options& options, const Clock& clock,
                                                          std::unique_ptr<EtcdStore> writing,
                                                          std::unique_ptr<EtcdStore> reading) {
  const std::string directory = options.etcd.spool.substr(0, options.etcd.spool.rfind('/'));
  if (auto folder = open_private_folder(directory); !folder) {
    return Error{ErrorKind::unavailable, format("its folder {} {}", directory, folder.error().message)};
  }
  auto returner = std::make_unique<EtcdReturner>(options, clock, std::move(writing), std::move(reading));
  if (auto started = returner->start(options.spool_bytes); !started) return std::move(started).error();
  return std::unique_ptr<Returner>(std::move(returner));
}

}  // namespace rest_fcgi::returner

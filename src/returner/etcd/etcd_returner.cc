// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/returner/returners.h"
#include "returner/etcd/layout.h"
#include "returner/etcd/outbox.h"
#include "returner/etcd/store.h"
#include "returner/etcd/watch.h"
#include "returner/stored.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::chrono::hours kReservation{1};
constexpr std::string_view kWhatHasApiV3 = "use etcd 3.3 or later with its gateway (--enable-grpc-gateway)";

std::string random_name() {
  std::random_device device;
  return format("{:08x}{:08x}{:08x}", device(), device(), device());
}

class EtcdReturner : public Returner {
 public:
  EtcdReturner(const EtcdOptions& options, std::shared_ptr<store::Store> store, const Clock& clock,
               std::unique_ptr<EtcdStore> writing, std::unique_ptr<EtcdStore> reading)
      : options_(options),
        store_(std::move(store)),
        clock_(clock),
        layout_(options),
        writing_(std::move(writing)),
        reading_(std::move(reading)) {}

  Result<void> start() {
    const auto lost = [losses = losses_] { losses->report(); };
    auto outbox = Outbox::start(store_, {.name = name_,
                                         .max_bytes = options_.outbox_bytes,
                                         .lost = lost,
                                         .deliver = make_etcd_delivery(*writing_, options_, lost)});
    if (!outbox) return std::move(outbox).error();
    outbox_ = *std::move(outbox);
    return {};
  }

  Result<bool> prep_jid(std::string_view passed_jid) override {
    if (!key_of(passed_jid)) return no_key_of(passed_jid, "etcd");
    if (Result<void> flushed = flush_outbox(); !flushed) return std::move(flushed).error();
    const EtcdPair claim{layout_.claim(passed_jid), format("{}-{}", name_, claims_++)};
    const Result<bool> claimed = writing_->claim(claim, layout_.load(passed_jid), kReservation);
    return claimed ? claimed : failure(claimed.error());
  }

  Result<void> save_load(Load load, Durability durability) override {
    const std::optional<JidKey> key = key_of(load.jid);
    if (!key) return no_key_of(load.jid, "etcd");
    const Result<bool> appended = outbox_->append({clock_.wall(), *key, load_text(load)});
    if (!appended) return appended.error();
    if (durability != Durability::durable) return {};
    if (*appended) return store_->sync();
    return failure({ErrorKind::unavailable, "the outbox is full (etcd_outbox_bytes)"});
  }

  Result<void> save_job(const Load& load, std::span<const ReturnView> returns) override {
    const std::optional<JidKey> key = key_of(load.jid);
    if (!key) return no_key_of(load.jid, "etcd");
    for (const ReturnView& ret : returns) {
      if (Result<void> checked = check_id(ret.minion); !checked) return checked;
    }
    return append({clock_.wall(), *key, load_text(load), returns_json(returns)});
  }

  Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) override {
    const std::optional<JidKey> key = key_of(jid);
    return key ? append({.stamp = clock_.wall(), .key = *key, .minions = strings_json(minions)})
               : Result<void>();
  }

  Result<void> returner(std::string_view jid, JobReturn ret) override {
    const std::optional<JidKey> key = key_of(jid);
    if (!key) return {};
    if (Result<void> checked = check_id(ret.minion); !checked) return checked;
    const ReturnView view = view_of(ret);
    return append({.stamp = clock_.wall(),
                   .key = *key,
                   .returns = returns_json({&view, 1}),
                   .is_placeholder = ret.is_placeholder});
  }

  Result<std::optional<Load>> get_load(std::string_view jid) const override {
    if (!is_like_jid(jid)) return std::optional<Load>();
    if (Result<void> flushed = flush_outbox(); !flushed) return std::move(flushed).error();
    const auto stored = load_or_returned(*reading_, layout_, std::string(jid));
    if (!stored) return failure(stored.error());
    return *stored ? load_in(jid, decoded(**stored)) : std::nullopt;
  }

  Result<std::vector<JobReturn>> get_jid(std::string_view jid) const override;
  Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const override {
    if (Result<void> flushed = flush_outbox(); !flushed) return flushed;
    const EtcdStore::LoadVisitor visitor = [&](const std::string& jid, const std::string& stored) {
      const auto load = load_in(jid, decoded(stored));
      return !load || !selects(query, load->jid) || visit(*load);
    };
    const Result<void> walked =
        reading_->walk_loads(layout_, {keys_of(query), query.newest_first, clock_.wall()}, visitor);
    return walked ? walked : failure(walked.error());
  }

  Result<void> flush() override { return store_->sync(); }

  Result<std::unique_ptr<Watch>> watch(ClusterListener& listener) override {
    if (options_.require_v2) return std::unique_ptr<Watch>();
    auto changes = make_etcd_changes(options_.reading, layout_.all());
    if (!changes) return std::move(changes).error();
    auto events = make_etcd_store_v3(options_.writing, kListeningTtl);
    if (!events) return std::move(events).error();
    return make_etcd_watch(options_, name_, *std::move(changes), *std::move(events), losses_, listener);
  }

 private:
  static Result<void> check_id(std::string_view minion) {
    if (is_key_part(minion)) return {};
    return Error{ErrorKind::invocation, format("The job cache etcd: found the minion id {}, expected an id "
                                               "without slashes and control characters.",
                                               quoted_excerpt(minion))};
  }

  Result<void> append(const OutboxRow& row) { return outbox_->append(row).without_value(); }

  Result<void> flush_outbox() const {
    Result<void> flushed = outbox_->flush();
    return flushed ? flushed : failure(flushed.error());
  }

  [[nodiscard]] static Error failure(const Error& cause) {
    return {ErrorKind::unavailable, format("The job cache etcd is unavailable: {}.", cause.message)};
  }

  const EtcdOptions options_;
  const std::shared_ptr<store::Store> store_;
  const Clock& clock_;
  const EtcdLayout layout_;
  const std::string name_ = random_name();
  std::atomic<std::uint64_t> claims_{0};
  const std::shared_ptr<EtcdLosses> losses_ = std::make_shared<EtcdLosses>();
  const std::unique_ptr<EtcdStore> writing_;
  const std::unique_ptr<EtcdStore> reading_;
  std::unique_ptr<Outbox> outbox_;
};

Result<std::vector<JobReturn>> EtcdReturner::get_jid(std::string_view jid) const {
  std::vector<JobReturn> returns;
  if (!is_like_jid(jid)) return returns;
  std::map<std::string, std::pair<JobReturn, bool>, std::less<>> by_minion;
  if (Result<void> flushed = flush_outbox(); !flushed) return std::move(flushed).error();
  const std::string folder = layout_.job(jid);
  const Result<void> read = reading_->visit(folder, [&](const std::string& key, const std::string& value) {
    const auto field = field_in(std::string_view(key).substr(folder.size()));
    if (!field) return;
    auto& [ret, is_whole] = by_minion[std::string(field->minion)];
    is_whole = read_field(ret, field->name, decoded(value)) || is_whole;
  });
  if (!read) return failure(read.error());
  for (auto& [minion, entry] : by_minion) {
    auto& [ret, is_whole] = entry;
    // Skips a return whose field `return` is not written yet. API v2 writes the fields of a return one after
    // another.
    if (!is_whole) continue;
    ret.minion = minion;
    returns.push_back(std::move(ret));
  }
  return returns;
}

}  // namespace

Result<std::optional<std::string>> load_or_returned(EtcdStore& store, const EtcdLayout& layout,
                                                    const std::string& jid) {
  auto loads = store.get({layout.load(jid)});
  if (!loads) return std::move(loads).error();
  if (loads->front()) return std::move(loads->front());
  const std::string folder = layout.job(jid);
  std::vector<std::string> minions;
  std::map<std::string, std::string, std::less<>> first;
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

Result<std::unique_ptr<Returner>> open_etcd_returner(const EtcdOptions& options,
                                                     std::shared_ptr<store::Store> store,
                                                     const Clock& clock) {
  const auto make = options.require_v2 ? make_etcd_store_v2 : make_etcd_store_v3;
  auto writing = make(options.writing, options.ttl);
  if (!writing) return std::move(writing).error();
  auto reading = make(options.reading, options.ttl);
  if (!reading) return std::move(reading).error();
  return open_etcd_returner_over(options, std::move(store), clock, *std::move(writing), *std::move(reading));
}

Result<std::unique_ptr<Returner>> open_etcd_returner_over(const EtcdOptions& options,
                                                          std::shared_ptr<store::Store> store,
                                                          const Clock& clock,
                                                          std::unique_ptr<EtcdStore> writing,
                                                          std::unique_ptr<EtcdStore> reading) {
  auto returner = std::make_unique<EtcdReturner>(options, std::move(store), clock, std::move(writing),
                                                 std::move(reading));
  if (auto started = returner->start(); !started) return std::move(started).error();
  return std::unique_ptr<Returner>(std::move(returner));
}

std::optional<Error> missing_etcd_api(const EtcdOptions& options, SteadyTime deadline) {
  if (!options.is_chosen) return std::nullopt;
  const auto client = etcd::Client::make(options.writing);
  if (!client) return client.error();
  if (!options.require_v2) {
    const auto missing = etcd::missing_api_v3(options.writing, deadline);
    if (!missing) return std::nullopt;
    return wrong_setting(
        "etcd.require_v2",
        format("false, but API v3 is missing: {}; {}, or use API v2 with etcd.require_v2: true", *missing,
               kWhatHasApiV3));
  }
  const auto root = (*client)->get_v2("/", false, deadline);
  if (root || root.error().kind != ErrorKind::configuration) return std::nullopt;
  return wrong_setting(
      "etcd.require_v2",
      format("true (the default), but API v2 is missing: {}; use API v3 with etcd.require_v2: false",
             root.error().message));
}

std::optional<Error> missing_etcd_api_of_tokens(const etcd::Options& options, SteadyTime deadline) {
  const auto missing = etcd::missing_api_v3(options, deadline);
  if (!missing) return std::nullopt;
  return wrong_setting(
      "eauth_tokens",
      format("etcd, but API v3 is missing: {}; {}, or use eauth_tokens: localfs", *missing, kWhatHasApiV3));
}

std::function<Result<void>(SteadyTime deadline)> make_etcd_probe(etcd::Options options, bool uses_v2,
                                                                 std::string root) {
  return [options = std::move(options), uses_v2, key = std::move(root) + "/health",
          client = std::shared_ptr<etcd::Client>()](SteadyTime deadline) mutable -> Result<void> {
    if (!client) {
      auto made = etcd::Client::make(options);
      if (!made) return std::move(made).error();
      client = *std::move(made);
    }
    if (uses_v2) {
      return client->get_v2("/", false, deadline).without_value();
    }
    using etcd::Compare;
    // No client puts this key, so the condition that it exists is false.
    etcd::TxnRequest request;
    request.compare.push_back(
        {.key = key, .target = Compare::Target::version, .result = Compare::Result::greater});
    request.success.push_back({etcd::PutRequest{.key = key, .value = "1"}});
    return client->txn(request, deadline).without_value();
  };
}

}  // namespace rest_fcgi::returner

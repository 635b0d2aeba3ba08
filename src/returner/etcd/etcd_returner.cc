// SPDX-License-Identifier: MIT
#include "returner/etcd/etcd_returner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "returner/record.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kGroupTime{10};     // in which a load and its first returns come together
constexpr milliseconds kMostPause{5000};   // between tries
constexpr milliseconds kFailureTime{500};  // one that is older is worth another try
constexpr std::chrono::hours kClaimOfJid{1};

Error not_in_etcd(std::string_view jid) {
  return {
      ErrorKind::invocation,
      format("The job cache etcd keeps no job {}: a jid is 20 digits, and begins with a year from 1100 to "
             "2899.",
             quoted(jid))};
}

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

Result<std::unique_ptr<EtcdStore>> store_for(const EtcdOptions& options, const etcd::Options& profile) {
  return options.require_v2 ? make_etcd_store_v2(profile, options.ttl)
                            : make_etcd_store_v3(profile, options.ttl);
}

}  // namespace

Result<std::unique_ptr<Returner>> EtcdReturner::open(const Options& options, const Clock& clock) {
  auto writing = store_for(options.etcd, options.etcd.writing);
  if (!writing) return std::move(writing).error();
  auto reading = store_for(options.etcd, options.etcd.reading);
  if (!reading) return std::move(reading).error();
  return over(options, clock, *std::move(writing), *std::move(reading));
}

Result<std::unique_ptr<Returner>> EtcdReturner::over(const Options& options, const Clock& clock,
                                                     std::unique_ptr<EtcdStore> writing,
                                                     std::unique_ptr<EtcdStore> reading) {
  const std::string& prefix = options.etcd.spool;
  const std::string directory = prefix.substr(0, prefix.rfind('/'));
  if (auto folder = open_private_folder(directory); !folder) {
    return Error{ErrorKind::unavailable, format("its folder {} {}", directory, folder.error().message)};
  }
  std::unique_ptr<EtcdReturner> returner(new EtcdReturner(options, clock, std::move(reading)));
  returner->claimant_ = random_name();
  auto sink = std::make_unique<EtcdSink>(std::move(writing), options.etcd);
  returner->sink_ = sink.get();
  auto writer = SpooledWriter::start({.name = "etcd",
                                      .where = where_of(options.etcd),
                                      .prefix = prefix,
                                      .spool_bytes = options.spool_bytes,
                                      .group_time = kGroupTime,
                                      .most_pause = kMostPause,
                                      .failure_counts = kFailureTime},
                                     clock, std::move(sink));
  if (!writer) return std::move(writer).error();
  returner->writer_ = *std::move(writer);
  return std::unique_ptr<Returner>(std::move(returner));
}

WallTime EtcdReturner::next_stamp() {
  const std::int64_t now = clock_.wall().time_since_epoch().count();
  std::int64_t last = last_stamp_.load();
  while (!last_stamp_.compare_exchange_weak(last, std::max(now, last + 1))) {
  }
  return WallTime(WallTime::duration(std::max(now, last + 1)));
}

Result<void> EtcdReturner::append(std::string_view record, Durability durability) {
  const std::string stamped = stamped_record(next_stamp(), record);
  if (durability == Durability::durable) return writer_->append_durably(stamped);
  writer_->append(stamped);
  return {};
}

Result<bool> EtcdReturner::prep_jid(std::string_view passed_jid) {
  if (!key_of(passed_jid)) return not_in_etcd(passed_jid);
  if (Result<void> flushed = writer_->flush(); !flushed) return std::move(flushed).error();
  const EtcdPair claim{layout_.claim(passed_jid), format("{}-{}", claimant_, claims_++)};
  Result<bool> claimed = sink_->store().claim(claim, layout_.load(passed_jid), kClaimOfJid);
  return claimed ? claimed : failure(claimed.error());
}

Result<void> EtcdReturner::save_load(Load load, Durability durability) {
  const std::optional<JidKey> key = key_of(load.jid);
  if (!key) return not_in_etcd(load.jid);
  return append(load_record(*key, load, clock_.wall()), durability);
}

Result<void> EtcdReturner::save_minions(std::string_view jid, const std::vector<std::string>& minions) {
  const std::optional<JidKey> key = key_of(jid);
  return key ? append(minions_record(*key, minions), Durability::grouped) : Result<void>();
}

Result<void> EtcdReturner::returner(std::string_view jid, JobReturn ret) {
  const std::optional<JidKey> key = key_of(jid);
  if (!key) return {};
  if (!is_key_part(ret.minion)) {
    return Error{ErrorKind::invocation,
                 format("The job cache etcd keeps no return of minion {}: its id cannot be part of a key.",
                        rest_fcgi::quoted(std::string_view(ret.minion)))};
  }
  return append(return_record(*key, ret), Durability::grouped);
}

Result<std::optional<Load>> EtcdReturner::get_load(std::string_view jid) const {
  if (!is_like_jid(jid)) return std::optional<Load>();
  if (Result<void> flushed = writer_->flush(); !flushed) return std::move(flushed).error();
  const auto values = reading_->get({layout_.load(jid)});
  if (!values) return failure(values.error());
  const std::optional<std::string>& stored = values->front();
  return stored ? load_in(jid, decoded(*stored), options_.unicode_errors) : std::nullopt;
}

Result<std::vector<JobReturn>> EtcdReturner::get_jid(std::string_view jid) const {
  std::vector<JobReturn> returns;
  if (!is_like_jid(jid)) return returns;
  if (Result<void> flushed = writer_->flush(); !flushed) return std::move(flushed).error();
  const std::string folder = layout_.job(jid);
  std::map<std::string, std::pair<JobReturn, bool>, std::less<>> by_minion;
  const EtcdStore::Visitor visitor = [&](const std::string& key, const std::string& value) {
    const auto field = field_in(std::string_view(key).substr(folder.size()));
    if (!field) return;
    auto& [ret, is_whole] = by_minion[std::string(field->minion)];
    is_whole = read_field(ret, field->name, decoded(value), options_.unicode_errors) || is_whole;
  };
  const Result<void> read = reading_->visit(folder, visitor);
  if (!read) return failure(read.error());
  for (auto& [minion, entry] : by_minion) {
    auto& [ret, is_whole] = entry;
    if (!is_whole) continue;  // of one that another's API v2 just writes
    ret.minion = minion;
    returns.push_back(std::move(ret));
  }
  return returns;
}

Result<std::vector<FunctionReturn>> EtcdReturner::get_fun(std::string_view fun) const {
  if (Result<void> flushed = writer_->flush(); !flushed) return std::move(flushed).error();
  const std::string folder = layout_.minions();
  std::vector<FunctionReturn> last;
  std::vector<std::string> keys;
  const EtcdStore::Visitor visitor = [&](const std::string& key, const std::string& value) {
    const std::string minion = key.substr(folder.size());
    const std::string jid(decoded(value));
    if (!is_key_part(minion) || !is_like_jid(jid)) return;
    keys.push_back(layout_.field(jid, minion, "fun"));
    last.push_back({jid, {.minion = minion}});
  };
  const Result<void> read = reading_->visit(folder, visitor);
  if (!read) return failure(read.error());
  const auto funs = reading_->get(keys);
  if (!funs) return failure(funs.error());
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
  const auto values = reading_->get(keys);
  if (!values) return failure(values.error());
  auto value = values->begin();
  for (FunctionReturn& one : wanted) {
    for (const std::string_view name : kFields) {
      if (*value) read_field(one.ret, name, decoded(**value), options_.unicode_errors);
      ++value;
    }
  }
  return wanted;
}

Result<void> EtcdReturner::get_jids(const JobQuery& query, const LoadVisitor& visit) const {
  if (Result<void> flushed = writer_->flush(); !flushed) return flushed;
  const Json fun = query.fun.empty() ? Json() : Json::string(query.fun);
  const EtcdStore::LoadVisitor visitor = [&](const std::string& jid, const std::string& stored) {
    if (!means(query, jid)) return true;
    const auto load = load_in(jid, decoded(stored), options_.unicode_errors);
    const bool is_meant = load && (query.fun.empty() || load->fun == fun);
    return !is_meant || visit(*load);
  };
  Result<void> walked =
      reading_->walk_loads(layout_, {keys_of(query), query.newest_first, clock_.wall()}, visitor);
  return walked ? walked : failure(walked.error());
}

Result<std::vector<std::string>> EtcdReturner::get_minions() const {
  if (Result<void> flushed = writer_->flush(); !flushed) return std::move(flushed).error();
  const std::string folder = layout_.minions();
  std::vector<std::string> names;
  const EtcdStore::Visitor visitor = [&](const std::string& key, const std::string&) {
    names.push_back(key.substr(folder.size()));
  };
  const Result<void> read = reading_->visit(folder, visitor);
  if (!read) return failure(read.error());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace rest_fcgi::returner

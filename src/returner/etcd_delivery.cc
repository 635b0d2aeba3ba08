// SPDX-License-Identifier: MIT
#include "returner/etcd_delivery.h"

#include <chrono>
#include <set>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "returner/packed.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kMostKnown = 4096;
constexpr std::size_t kMostKnownBytes = 4 * 1024 * 1024;
constexpr std::chrono::seconds kCallTime{4};
constexpr int kMostTries = 8;  // of a change that others come before

void tell_of_refused(std::string_view what, std::string_view why) {
  log::error(format("etcd does not keep {}: {}", what, why));
}

bool is_return(RecordView::Kind kind) {
  return kind == RecordView::Kind::ret || kind == RecordView::Kind::stand_in;
}

}  // namespace

EtcdStore::Deadline call_deadline() {
  return std::chrono::steady_clock::now() + kCallTime;
}

std::string stamped_record(WallTime stamp, std::string_view record) {
  std::string stamped;
  stamped.reserve(sizeof(std::int64_t) + record.size());
  Packer(stamped).number(static_cast<std::int64_t>(stamp.time_since_epoch().count()));
  return stamped.append(record);
}

void EtcdDelivery::Known::put(JidKey key, JobFacts facts) {
  const std::size_t bytes = facts.fun.size() + facts.arg.size();
  const auto [place, is_new] = facts_.try_emplace(key);
  bytes_ += bytes - place->second.fun.size() - place->second.arg.size();
  place->second = std::move(facts);
  if (is_new) order_.push_back(key);
}

void EtcdDelivery::Known::trim() {
  while (order_.size() > kMostKnown || bytes_ > kMostKnownBytes) {
    const auto oldest = facts_.find(order_.front());
    bytes_ -= oldest->second.fun.size() + oldest->second.arg.size();
    facts_.erase(oldest);
    order_.pop_front();
  }
}

const JobFacts* EtcdDelivery::Known::find(JidKey key) const {
  const auto found = facts_.find(key);
  return found == facts_.end() ? nullptr : &found->second;
}

Result<void> EtcdDelivery::deliver(const std::vector<std::string_view>& records) {
  known_.trim();  // and not before all of them are written
  std::vector<Told> all;
  for (const std::string_view record : records) {
    Unpacker from(record);
    const WallTime stamp{WallTime::duration(from.number<std::int64_t>())};
    if (const auto view = view_of(from.rest())) {
      all.push_back({stamp, *view});
    } else {
      tell_of_refused("a record of its spool", "it cannot be read");
    }
  }
  if (Result<void> found = look_up_jobs(all); !found) return found;
  EtcdBatch batch;
  for (const Told& told : all) {
    if (told.record.kind == RecordView::Kind::minions) {
      if (Result<void> written = write(batch); !written) return written;
      if (Result<void> added = add_minions(told.record); !added) return added;
      continue;
    }
    std::optional<EtcdItem> item = item_of(told);
    if (!item || batch.add(*item)) continue;
    if (Result<void> written = write(batch); !written) return written;
    batch.add(*item);
  }
  return write(batch);
}

/// Those of returns whose loads are not among the records, and were not seen lately.
Result<void> EtcdDelivery::look_up_jobs(const std::vector<Told>& all) {
  std::set<JidKey> here;
  std::set<JidKey> missing;
  for (const Told& told : all) {
    const JidKey key = told.record.key;
    if (told.record.kind == RecordView::Kind::load) here.insert(key);
    if (is_return(told.record.kind) && !here.contains(key) && known_.find(key) == nullptr) {
      missing.insert(key);
    }
  }
  if (missing.empty()) return {};
  std::vector<std::string> keys;
  keys.reserve(missing.size());
  for (const JidKey key : missing) keys.push_back(layout_.load(jid_of(key)));
  const auto values = store_->get(keys, call_deadline());
  if (!values) return values.error();
  auto value = values->begin();
  for (const JidKey key : missing) {
    const std::optional<std::string>& stored = *value++;
    const auto load = stored ? load_in(jid_of(key), decoded(*stored), UnicodeErrors::replace) : std::nullopt;
    if (load) known_.put(key, {load->fun.text(), load->arg.text()});
  }
  return {};
}

std::optional<EtcdItem> EtcdDelivery::item_of(const Told& told) {
  const RecordView& record = told.record;
  if (record.kind == RecordView::Kind::load) {
    known_.put(record.key, {std::string(record.load.fun), std::string(record.load.arg)});
    return load_item(layout_, record);
  }
  const JobFacts* const facts = known_.find(record.key);
  return facts == nullptr ? std::nullopt : return_item(layout_, record, *facts, told.stamp);
}

Result<void> EtcdDelivery::add_minions(const RecordView& record) {
  const std::string key = layout_.load(jid_of(record.key));
  for (int tries = 0; tries < kMostTries; ++tries) {
    const auto found = store_->get({key}, call_deadline());
    if (!found) return found.error();
    const std::optional<std::string>& before = found->front();
    const auto merged = before ? with_minions(decoded(*before), minions_in(record.minions)) : std::nullopt;
    if (!merged) return {};
    const std::string after = layout_.encoded(*merged);
    if (after == *before) return {};
    const Result<bool> done = store_->replace({key, after}, *before, call_deadline());
    if (!done && done.error().kind != ErrorKind::invocation) return done.error();
    if (!done) tell_of_refused(format("minions of job {}", jid_of(record.key)), done.error().message);
    if (!done || *done) return {};
  }
  return Error{ErrorKind::unavailable, format("others write {} again and again", key)};
}

Result<void> EtcdDelivery::write(EtcdBatch& batch) {
  const EtcdBatch now = std::exchange(batch, {});
  if (now.empty()) return {};
  Result<void> written = store_->write(now.writes(), call_deadline());
  if (written || written.error().kind != ErrorKind::invocation) return written;
  if (now.items().size() > 1) return write_each(now);
  tell_of_refused(now.items().front().what, written.error().message);
  return {};
}

/// One of them is refused, and the others need not suffer for that.
Result<void> EtcdDelivery::write_each(const EtcdBatch& batch) {
  for (EtcdItem item : batch.items()) {
    EtcdBatch alone;
    alone.add(item);
    if (Result<void> written = write(alone); !written) return written;
  }
  return {};
}

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#include "returner/etcd_batch.h"

#include <map>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kMostPuts = 32;
constexpr std::size_t kMostBytes = 512 * 1024;

}  // namespace

std::size_t EtcdItem::bytes() const noexcept {
  std::size_t bytes = last ? last->key.size() + last->value.size() : 0;
  for (const EtcdPair& put : write.puts) bytes += put.key.size() + put.value.size();
  return bytes;
}

EtcdItem load_item(const EtcdLayout& layout, const RecordView& record) {
  const std::string jid = jid_of(record.key);
  EtcdItem item{format("the load of job {}", jid), layout.load(jid), {}, {}};
  item.write.puts.push_back({item.place, layout.encoded(load_text(jid, record.load))});
  return item;
}

std::optional<EtcdItem> return_item(const EtcdLayout& layout, const RecordView& record, const JobFacts& facts,
                                    WallTime stamp) {
  const std::string jid = jid_of(record.key);
  std::string_view packed = record.ret.packed;
  const std::optional<JobReturn> ret = take_return(packed);
  if (!ret || !is_key_part(ret->minion)) return std::nullopt;
  const auto key_of_field = [&](std::string_view name) { return layout.field(jid, ret->minion, name); };
  EtcdItem item{format("the return of {} to job {}", ret->minion, jid), key_of_field("return"), {}, {}};
  // Without a stamp, any that comes is later.
  const bool stands_in = record.kind == RecordView::Kind::stand_in;
  const std::string stamped = stands_in ? std::string() : stamp_text(stamp);
  if (stands_in) {
    item.write.unless = EtcdWrite::Unless::exists;
    item.write.guard = item.place;
  } else {
    item.write.unless = EtcdWrite::Unless::greater;
    item.write.guard = key_of_field("_stamp");
    item.write.than = layout.encoded(Json::string(stamped).text());
    item.last = EtcdPair{layout.minion(ret->minion), layout.encoded(jid)};
  }
  for (const auto& [name, text] : return_fields(jid, *ret, facts, stamped)) {
    item.write.puts.push_back({key_of_field(name), layout.encoded(text)});
  }
  return item;
}

bool EtcdBatch::add(EtcdItem& item) {
  const std::size_t puts = puts_ + item.puts();
  const std::size_t bytes = bytes_ + item.bytes();
  if (!empty() && (puts > kMostPuts || bytes > kMostBytes || places_.contains(item.place))) return false;
  puts_ = puts;
  bytes_ = bytes;
  places_.insert(item.place);
  items_.push_back(std::move(item));
  return true;
}

std::vector<EtcdWrite> EtcdBatch::writes() const {
  std::vector<EtcdWrite> loads;
  std::vector<EtcdWrite> returns;
  std::map<std::string_view, std::string_view> last;
  for (const EtcdItem& item : items_) {
    (item.write.unless == EtcdWrite::Unless::never ? loads : returns).push_back(item.write);
    if (!item.last) continue;
    std::string_view& jid = last[item.last->key];
    if (jid < item.last->value) jid = item.last->value;
  }
  for (const auto& [key, jid] : last) {
    loads.push_back({EtcdWrite::Unless::greater,
                     std::string(key),
                     std::string(jid),
                     {{std::string(key), std::string(jid)}}});
  }
  for (EtcdWrite& write : returns) loads.push_back(std::move(write));
  return loads;
}

}  // namespace rest_fcgi::returner

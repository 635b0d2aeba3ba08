// SPDX-License-Identifier: MIT
#include "returner/record.h"

#include <utility>

#include "returner/packed.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kMostNumbers = 64;  // what lengths and numbers of a record take, and some more

void pack_head(Packer& packer, RecordView::Kind kind, JidKey key) {
  packer.number(static_cast<std::uint8_t>(kind)).number(key);
}

LoadView load_in(Unpacker& from) {
  LoadView load;
  load.saved = from.number<std::int64_t>();
  for (std::string_view* text : {&load.fun, &load.arg, &load.tgt, &load.tgt_type, &load.user}) {
    *text = from.text();
  }
  if (from.number<std::uint8_t>() != 0) load.metadata = from.text();
  load.minions = from.text();
  return load;
}

}  // namespace

std::string load_record(JidKey key, const Load& load, WallTime saved) {
  std::string record;
  record.reserve(load.fun.text().size() + load.arg.text().size() + load.tgt.text().size() +
                 load.tgt_type.size() + load.user.size() + 16 * load.minions.size() + kMostNumbers);
  Packer packer(record);
  pack_head(packer, RecordView::Kind::load, key);
  packer.number(static_cast<std::int64_t>(saved.time_since_epoch().count()));
  packer.text(load.fun.text()).text(load.arg.text()).text(load.tgt.text());
  packer.text(load.tgt_type).text(load.user);
  packer.number(static_cast<std::uint8_t>(load.metadata.has_value()));
  if (load.metadata) packer.text(load.metadata->text());
  packer.text(packed_minions(load.minions));
  return record;
}

std::string return_record(JidKey key, const JobReturn& ret) {
  std::string record;
  record.reserve(ret.minion.size() + ret.ret.text().size() + ret.out.size() + kMostNumbers);
  Packer packer(record);
  pack_head(packer, ret.stands_in ? RecordView::Kind::stand_in : RecordView::Kind::ret, key);
  packer.text(ret.minion).number(static_cast<std::int32_t>(ret.retcode));
  packer.number(static_cast<std::uint8_t>(ret.success)).text(ret.out).text(ret.ret.text());
  return record;
}

std::string minions_record(JidKey key, const std::vector<std::string>& minions) {
  std::string record;
  Packer packer(record);
  pack_head(packer, RecordView::Kind::minions, key);
  packer.text(packed_minions(minions));
  return record;
}

std::optional<RecordView> view_of(std::string_view record) {
  Unpacker from(record);
  RecordView view;
  view.kind = static_cast<RecordView::Kind>(from.number<std::uint8_t>());
  view.key = from.number<JidKey>();
  switch (view.kind) {
    case RecordView::Kind::load:
      view.load = load_in(from);
      break;
    case RecordView::Kind::ret:
    case RecordView::Kind::stand_in:
      view.ret.packed = from.rest();
      view.ret.minion = from.text();
      break;
    case RecordView::Kind::minions:
      view.minions = from.text();
      break;
    default:
      return std::nullopt;
  }
  return from.ok() ? std::optional(view) : std::nullopt;
}

std::string packed_minions(const std::vector<std::string>& minions) {
  std::string packed;
  Packer packer(packed);
  for (const std::string& minion : minions) packer.text(minion);
  return packed;
}

std::vector<std::string> minions_in(std::string_view packed) {
  std::vector<std::string> minions;
  Unpacker from(packed);
  while (!from.at_end()) {
    const std::string_view minion = from.text();
    if (from.ok()) minions.emplace_back(minion);
  }
  return minions;
}

std::optional<JobReturn> take_return(std::string_view& packed) {
  Unpacker from(packed);
  JobReturn ret;
  ret.minion = from.text();
  ret.retcode = from.number<std::int32_t>();
  ret.success = from.number<std::uint8_t>() != 0;
  ret.out = from.text();
  ret.ret = Json::trusted(std::string(from.text()));
  packed = from.rest();
  return from.ok() ? std::optional(std::move(ret)) : std::nullopt;
}

}  // namespace rest_fcgi::returner

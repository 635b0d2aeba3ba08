// SPDX-License-Identifier: MIT
#include "returner/record.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kJidDigits = 20;
constexpr JidKey kCentury = 1'000'000'000'000'000'000;
constexpr JidKey kOurCentury = 20;
constexpr JidKey kFirstCentury = 11;  // the first and last whole ones that 64 bits hold
constexpr JidKey kLastCentury = 28;
constexpr JidKey kLeast = (kFirstCentury - kOurCentury) * kCentury;
constexpr JidKey kGreatest = (kLastCentury - kOurCentury + 1) * kCentury - 1;

/// Appends numbers, and texts, each after its length, to `out`, which it borrows. Not synchronized.
class Packer {
 public:
  explicit Packer(std::string& out) : out_(out) {}

  /// In this host's order of bytes.
  template <class Number>
  Packer& number(Number value) {
    static_assert(std::is_integral_v<Number>);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.append(bytes, sizeof value);
    return *this;
  }

  /// Seven bits in a byte, the lowest first; the eighth says that another byte follows.
  Packer& small(std::uint64_t value) {
    for (; value >= kMore; value >>= kBits) out_.push_back(static_cast<char>(value | kMore));
    out_.push_back(static_cast<char>(value));
    return *this;
  }

  Packer& text(std::string_view value) {
    small(value.size());
    out_.append(value);
    return *this;
  }

  static constexpr std::uint64_t kMore = 0x80;
  static constexpr unsigned kBits = 7;

 private:
  std::string& out_;
};

/// Takes apart what a Packer wrote, or those of older releases. Texts are views of the bytes that it was
/// given. Once something is not there, `ok()` is false, and all else is 0 or empty. Not synchronized.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes, Packing packing = Packing::tight)
      : bytes_(bytes), packing_(packing) {}

  template <class Number>
  Number number() {
    static_assert(std::is_integral_v<Number>);
    Number value = 0;
    if (const std::string_view taken = take(sizeof value); !taken.empty()) {
      std::memcpy(&value, taken.data(), sizeof value);
    }
    return value;
  }

  std::uint64_t small() {
    std::uint64_t value = 0;
    std::uint64_t byte = Packer::kMore;
    for (unsigned shift = 0; byte >= Packer::kMore && shift < 64; shift += Packer::kBits) {
      byte = number<std::uint8_t>();
      value |= (byte & ~Packer::kMore) << shift;
    }
    return value;
  }

  std::string_view text() {
    return take(packing_ == Packing::wide ? std::uint64_t{number<std::uint32_t>()} : small());
  }

  [[nodiscard]] std::string_view rest() const noexcept { return bytes_; }
  [[nodiscard]] bool at_end() const noexcept { return bytes_.empty(); }
  [[nodiscard]] bool ok() const noexcept { return ok_; }

 private:
  std::string_view take(std::uint64_t size) {
    ok_ = ok_ && size <= bytes_.size();
    if (!ok_) {
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
  Packing packing_;
  bool ok_ = true;
};

constexpr std::size_t kMostNumbers = 64;     // what lengths and numbers of a record take, and some more
constexpr std::uint8_t kTightRecord = 0x80;  // in the kind of a record: how it is packed

void pack_head(Packer& packer, RecordView::Kind kind, JidKey key) {
  packer.number(static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind) | kTightRecord)).number(key);
}

// What a return that is packed begins with.
constexpr unsigned kFailed = 1;   // no success
constexpr unsigned kRetcode = 2;  // one that is not 0 follows
constexpr unsigned kOut = 4;      // the outputter follows
constexpr unsigned kSame = 8;     // as the one before; else what was returned follows
constexpr unsigned kInTurn = 16;  // of the job's next minion; else the minion's id follows

void pack_return(Packer& packer, const ReturnView& ret, unsigned flags) {
  flags |= (ret.success ? 0U : kFailed) | (ret.retcode != 0 ? kRetcode : 0U) | (ret.out.empty() ? 0U : kOut);
  packer.number(static_cast<std::uint8_t>(flags));
  if ((flags & kInTurn) == 0) packer.text(ret.minion);
  if ((flags & kRetcode) != 0) packer.small(static_cast<std::uint32_t>(ret.retcode));
  if ((flags & kOut) != 0) packer.text(ret.out);
  if ((flags & kSame) == 0) packer.text(ret.ret);
}

void pack_returns(Packer& packer, const std::vector<std::string>& minions,
                  std::span<const ReturnView> returns) {
  auto turn = minions.begin();
  const ReturnView* before = nullptr;
  for (const ReturnView& ret : returns) {
    const bool is_in_turn = turn != minions.end() && *turn == ret.minion;
    const bool is_same = before != nullptr && before->ret == ret.ret;
    pack_return(packer, ret, (is_in_turn ? kInTurn : 0U) | (is_same ? kSame : 0U));
    if (is_in_turn) ++turn;
    before = &ret;
  }
}

std::size_t bytes_of(std::span<const ReturnView> returns) {
  std::size_t bytes = 0;
  for (const ReturnView& ret : returns) {
    bytes += ret.minion.size() + ret.ret.size() + ret.out.size() + 2 * sizeof(std::uint64_t);
  }
  return bytes;
}

LoadView load_view(Unpacker& from) {
  LoadView load;
  load.saved = from.number<std::int64_t>();
  for (std::string_view* text : {&load.fun, &load.arg, &load.tgt, &load.tgt_type, &load.user}) {
    *text = from.text();
  }
  if (from.number<std::uint8_t>() != 0) load.metadata = from.text();
  load.minions = from.text();
  load.returns = from.rest();
  return load;
}

}  // namespace

std::optional<JidKey> key_of(std::string_view jid) noexcept {
  if (jid.size() != kJidDigits || !only_digits(jid)) return std::nullopt;
  const JidKey century = (jid[0] - '0') * 10 + (jid[1] - '0');
  if (century < kFirstCentury || century > kLastCentury) return std::nullopt;
  return (century - kOurCentury) * kCentury + number_in<JidKey>(jid.substr(2)).value_or(0);
}

std::string jid_of(JidKey key) {
  // Unsigned, since the whole range is wider than what a signed number holds.
  const std::uint64_t from_first = static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(kLeast);
  constexpr auto kSize = static_cast<std::uint64_t>(kCentury);
  return format("{:02}{:018}", from_first / kSize + kFirstCentury, from_first % kSize);
}

Error no_key_of(std::string_view jid, std::string_view cache) {
  return {
      ErrorKind::invocation,
      format(
          "The job cache {} keeps no job {}: a jid is 20 digits, and begins with a year from 1100 to 2899.",
          cache, quoted(jid))};
}

JidKey least_key(std::string_view first) noexcept {
  JidKey century = 0;
  JidKey rest = 0;
  bool in_digits = true;
  for (std::size_t i = 0; i < kJidDigits; ++i) {
    in_digits = in_digits && i < first.size() && is_digit(first[i]);
    const JidKey digit = in_digits ? first[i] - '0' : 0;
    JidKey& part = i < 2 ? century : rest;
    part = part * 10 + digit;
  }
  if (century < kFirstCentury) return kLeast;
  if (century > kLastCentury) return kGreatest + 1;
  return (century - kOurCentury) * kCentury + rest;
}

JidKey greatest_key(std::string_view last) noexcept {
  if (last.empty()) return kGreatest;
  return last.size() < kJidDigits ? least_key(last) - 1 : least_key(last);
}

JidKeys keys_of(const JobQuery& query) noexcept {
  JidKeys keys{least_key(query.first), greatest_key(query.last)};
  // A jid is greater than each of its beginnings, and than itself with something behind it smaller.
  if (!query.after.empty())
    keys.least = std::max(keys.least, least_key(query.after) + (query.after.size() < kJidDigits ? 0 : 1));
  if (!query.before.empty()) {
    keys.greatest =
        std::min(keys.greatest, least_key(query.before) - (query.before.size() > kJidDigits ? 0 : 1));
  }
  return keys;
}

bool means(const JobQuery& query, const Load& load) {
  const std::string& jid = load.jid;
  return jid >= query.first && (query.last.empty() || jid <= query.last) &&
         (query.after.empty() || jid > query.after) && (query.before.empty() || jid < query.before) &&
         (query.fun.empty() || load.fun == Json::string(query.fun));
}

void add_minions(std::vector<std::string>& minions, const std::vector<std::string>& more) {
  for (const std::string& minion : more) {
    const auto at = std::lower_bound(minions.begin(), minions.end(), minion);
    if (at == minions.end() || *at != minion) minions.insert(at, minion);
  }
}

std::string load_record(JidKey key, const Load& load, WallTime saved, std::span<const ReturnView> returns) {
  std::string record;
  record.reserve(load.fun.text().size() + load.arg.text().size() + load.tgt.text().size() +
                 load.tgt_type.size() + load.user.size() + 16 * load.minions.size() + bytes_of(returns) +
                 kMostNumbers);
  Packer packer(record);
  pack_head(packer, RecordView::Kind::load, key);
  packer.number(static_cast<std::int64_t>(saved.time_since_epoch().count()));
  packer.text(load.fun.text()).text(load.arg.text()).text(load.tgt.text());
  packer.text(load.tgt_type).text(load.user);
  packer.number(static_cast<std::uint8_t>(load.metadata.has_value()));
  if (load.metadata) packer.text(load.metadata->text());
  packer.text(packed_minions(load.minions));
  pack_returns(packer, load.minions, returns);
  return record;
}

std::string return_record(JidKey key, const JobReturn& ret) {
  const ReturnView view = view_of(ret);
  std::string record;
  record.reserve(bytes_of({&view, 1}) + kMostNumbers);
  Packer packer(record);
  pack_head(packer, ret.stands_in ? RecordView::Kind::stand_in : RecordView::Kind::ret, key);
  pack_return(packer, view, 0);
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
  const std::uint8_t first = Unpacker(record).number<std::uint8_t>();
  RecordView view;
  view.packing = (first & kTightRecord) != 0 ? Packing::tight : Packing::wide;
  view.kind = static_cast<RecordView::Kind>(first & ~kTightRecord);
  Unpacker from(record, view.packing);
  from.number<std::uint8_t>();
  view.key = from.number<JidKey>();
  switch (view.kind) {
    case RecordView::Kind::load:
      view.load = load_view(from);
      view.load.packing = view.packing;
      break;
    case RecordView::Kind::ret:
    case RecordView::Kind::stand_in: {
      view.packed = from.rest();
      const std::optional<ReturnView> ret = ReturnReader(view.packed, {}, view.packing).next();
      if (!ret) return std::nullopt;
      view.ret = *ret;
      break;
    }
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

std::vector<std::string> minions_in(std::string_view packed, Packing packing) {
  std::vector<std::string> minions;
  Unpacker from(packed, packing);
  while (!from.at_end()) {
    const std::string_view minion = from.text();
    if (from.ok()) minions.emplace_back(minion);
  }
  return minions;
}

std::string packed_returns(const std::vector<std::string>& minions, std::span<const ReturnView> returns) {
  std::string packed;
  packed.reserve(bytes_of(returns));
  Packer packer(packed);
  pack_returns(packer, minions, returns);
  return packed;
}

std::optional<ReturnView> ReturnReader::next() {
  if (returns_.empty()) return std::nullopt;
  Unpacker from(returns_, packing_);
  Unpacker minions(minions_, packing_);
  ReturnView ret;
  if (packing_ == Packing::wide) {
    ret.minion = from.text();
    ret.retcode = from.number<std::int32_t>();
    ret.success = from.number<std::uint8_t>() != 0;
    ret.out = from.text();
    ret.ret = from.text();
  } else {
    const auto flags = from.number<std::uint8_t>();
    ret.minion = (flags & kInTurn) != 0 ? minions.text() : from.text();
    ret.success = (flags & kFailed) == 0;
    if ((flags & kRetcode) != 0) ret.retcode = static_cast<std::int32_t>(from.small());
    if ((flags & kOut) != 0) ret.out = from.text();
    ret.ret = (flags & kSame) != 0 ? before_ : from.text();
  }
  if (!from.ok() || !minions.ok()) {
    returns_ = {};
    return std::nullopt;
  }
  returns_ = from.rest();
  minions_ = minions.rest();
  before_ = ret.ret;
  return ret;
}

std::string stamped_record(WallTime stamp, std::string_view record) {
  std::string stamped;
  stamped.reserve(sizeof(std::int64_t) + record.size());
  Packer(stamped).number(static_cast<std::int64_t>(stamp.time_since_epoch().count()));
  return stamped.append(record);
}

StampedRecord unstamped(std::string_view stamped) {
  Unpacker from(stamped);
  const WallTime stamp{WallTime::duration(from.number<std::int64_t>())};
  return {stamp, from.rest()};
}

}  // namespace rest_fcgi::returner

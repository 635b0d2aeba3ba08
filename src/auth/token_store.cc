// SPDX-License-Identifier: MIT
#include "auth/token_store.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "auth/never_back.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::auth {
namespace {

double to_seconds(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// Absent where it is no number of seconds that a WallTime can hold.
std::optional<WallTime> read_time(std::optional<JsonValue> value) {
  constexpr double kLatest = 1e11;
  const std::optional<double> since_epoch = value ? value->number() : std::nullopt;
  if (!since_epoch || !(*since_epoch >= 0 && *since_epoch <= kLatest)) return std::nullopt;
  return WallTime(
      std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(*since_epoch)));
}

std::optional<std::string> read_name(std::optional<JsonValue> value) {
  if (!value || !value->is(JsonValue::Kind::string) || value->text().empty()) return std::nullopt;
  return std::string(value->text());
}

std::optional<std::vector<std::string>> read_names(std::optional<JsonValue> value) {
  if (!value || !value->is(JsonValue::Kind::array)) return std::nullopt;
  std::vector<std::string> names;
  for (const JsonValue element : value->elements()) {
    auto name = read_name(element);
    if (!name) return std::nullopt;
    names.push_back(*std::move(name));
  }
  return names;
}

Error malformed(std::string what) {
  return {ErrorKind::malformed, std::move(what)};
}

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kMinDigits = 40;
constexpr std::size_t kMaxDigits = 128;
constexpr std::chrono::minutes kPurgeInterval{1};
constexpr std::chrono::hours kKnownAfterEnd{24};
constexpr std::chrono::seconds kMaxLife = std::chrono::years(100);

bool has_form_of_own_token(std::string_view text) {
  return text.size() >= kMinDigits && text.size() <= kMaxDigits && only_of(text, kHexDigits);
}

Error refused_token(std::string cause) {
  return {ErrorKind::authentication, std::move(cause)};
}

Error ended_token(std::string_view how, const TokenRecord& record) {
  return {ErrorKind::not_found, format("it {} (user {})", how, record.name)};
}

}  // namespace

std::string to_json(const TokenRecord& record) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.key("start").number(to_seconds(record.start));
  writer.key("expire").number(to_seconds(record.expire));
  writer.key("name").string(record.name);
  writer.key("eauth").string(record.eauth);
  writer.key("groups").begin_array();
  for (const std::string& group : record.groups) writer.string(group);
  writer.end_array().end_object();
  return text;
}

Result<TokenRecord> read_token_record(std::string_view json) {
  JsonDocument document;
  if (auto parsed = document.parse(json); !parsed) return std::move(parsed).error();
  const JsonValue root = document.root();
  auto name = read_name(root.find("name"));
  auto eauth = read_name(root.find("eauth"));
  auto groups = read_names(root.find("groups"));
  const auto start = read_time(root.find("start"));
  const auto expire = read_time(root.find("expire"));
  if (!name || !eauth || !groups || !start || !expire)
    return malformed("a token's data is missing or of a wrong type");
  if (*expire < *start) return malformed("the token expires before it starts");
  return TokenRecord{*std::move(name), *std::move(eauth), *std::move(groups), *start, *expire};
}

Result<std::unique_ptr<TokenStore>> TokenStore::make(std::unique_ptr<TokenShelf> shelf,
                                                     std::chrono::seconds life, const Clock& clock) {
  if (life.count() <= 0 || life > kMaxLife) {
    return Error{ErrorKind::configuration, format("token_expire: {} found, a number from 1 to {} expected",
                                                  life.count(), kMaxLife.count())};
  }
  auto sha256 = DigestAlgorithm::fetch("SHA256");
  if (!sha256) return std::move(sha256).error();
  return std::make_unique<TokenStore>(std::move(shelf), *std::move(sha256), life, clock);
}

TokenStore::TokenStore(std::unique_ptr<TokenShelf> shelf, DigestAlgorithm sha256, std::chrono::seconds life,
                       const Clock& clock)
    : shelf_(std::move(shelf)),
      sha256_(std::move(sha256)),
      life_(life),
      clock_(clock),
      next_purge_(clock.steady()),
      ahead_(ahead_of_steady()) {}

Result<Secret> TokenStore::add(std::string name, std::string eauth, std::vector<std::string> groups,
                               std::optional<std::chrono::milliseconds> life) {
  purge_now_and_then();
  WipedBytes random(kTokenBytes);
  if (auto drawn = fill_random(random); !drawn) return std::move(drawn).error();
  const WipedBytes digits = to_hex({random.data(), random.size()});
  Secret token(std::string_view(digits.data(), digits.size()));
  const WallTime now = clock_.wall();
  const TokenRecord record{std::move(name), std::move(eauth), std::move(groups), now,
                           now + life.value_or(life_)};
  const auto known = std::chrono::ceil<std::chrono::seconds>(life.value_or(life_)) + kKnownAfterEnd;
  if (auto put = shelf_->put(digits_of(token), to_json(record), known, now + known); !put)
    return std::move(put).error();
  return token;
}

Result<TokenRecord> TokenStore::find(SecretView token) const {
  if (!has_form_of_own_token(token.reveal())) return refused_token("it is not 40 to 128 hexadecimal digits");
  const std::string digits = digits_of(token);
  const auto data = shelf_->get(digits);
  if (!data && data.error().kind == ErrorKind::unavailable) return data.error();
  if (!data) return refused_token(data.error().message);
  if (!*data) return refused_token("there is no such token");
  auto record = read_token_record(**data);
  if (!record) return refused_token(format("{} is malformed: {}", digits, record.error().message));
  const WallTime now = clock_.wall();
  const bool was_ended = record->expire <= record->start;
  if (was_ended || record->expire <= now) return ended_token("has expired", *record);
  if (record->start > now + NeverBack::kMostBack) {
    return ended_token("was made when the clock was ahead of now by more than a day", *record);
  }
  return record;
}

Result<void> TokenStore::end(SecretView token) const {
  return shelf_->remove(digits_of(token));
}

/// It ends at its start, so that no clock finds it good, whatever day that one has.
Result<void> TokenStore::put_end(const std::string& digits, TokenRecord record) const {
  const WallTime now = clock_.wall();
  record.start = std::min(record.start, now);
  record.expire = record.start;
  if (shelf_->put(digits, to_json(record), kKnownAfterEnd, now + kKnownAfterEnd)) return {};
  return shelf_->remove(digits);
}

Result<std::size_t> TokenStore::end_all(std::string_view eauth, std::string_view name) const {
  std::size_t ended = 0;
  const auto visit = [&](const std::string& digits, std::string_view data) -> Result<void> {
    auto record = read_token_record(data);
    // Also one that has expired: it may have by a clock that is ahead.
    if (!record || record->expire <= record->start || record->name != name) return {};
    if (!eauth.empty() && record->eauth != eauth) return {};
    const bool was_good = record->expire > clock_.wall();
    auto done = put_end(digits, *std::move(record));
    if (done && was_good) ++ended;
    return done;
  };
  if (auto seen = shelf_->each(visit); !seen) return std::move(seen).error();
  return ended;
}

std::string TokenStore::digits_of(SecretView token) const {
  const WipedBytes digits = to_hex(sha256_.of({token.reveal()}).view());
  return {digits.begin(), digits.end()};
}

WallTime::duration TokenStore::ahead_of_steady() const {
  return clock_.wall().time_since_epoch() -
         std::chrono::duration_cast<WallTime::duration>(clock_.steady().time_since_epoch());
}

void TokenStore::purge_now_and_then() {
  const SteadyTime now = clock_.steady();
  SteadyTime next = next_purge_.load();
  if (now < next || !next_purge_.compare_exchange_strong(next, now + kPurgeInterval)) return;
  // A clock that is years ahead for a moment takes no good token away: once it jumped, it has a day to be set
  // right.
  const auto ahead = ahead_of_steady();
  if (ahead_.exchange(ahead) + NeverBack::kMostBack < ahead) {
    next_purge_ = now + NeverBack::kMostBack;
    return;
  }
  const auto end_of = [](std::string_view data) -> std::optional<WallTime> {
    const auto record = read_token_record(data);
    return record ? std::optional(record->expire + kKnownAfterEnd) : std::nullopt;
  };
  if (shelf_->purge(clock_.wall(), end_of)) next_purge_ = now;
}

}  // namespace rest_fcgi::auth

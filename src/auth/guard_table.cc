// SPDX-License-Identifier: MIT
#include "auth/guard_table.h"

#include <algorithm>
#include <tuple>

namespace rest_fcgi::auth {
namespace {

using std::chrono::seconds;

constexpr unsigned kTimeBits = 24;  // half a year of seconds
constexpr std::uint64_t kTimes = std::uint64_t{1} << kTimeBits;
constexpr std::int64_t kSmallStep =
    60;  // seconds that a clock may be set back without anybody being forgiven

/// What one word says. An empty word is all zero, and no entry has zero failures.
struct Entry {
  std::uint64_t tag = 0;       // 27 bits of the key
  bool refused = false;        // reached its limit at `since`
  std::uint64_t since = 0;     // second of the first failure, or of the one that reached the limit
  std::uint64_t failures = 0;  // 12 bits

  static Entry of(std::uint64_t word) {
    return {word >> 37, (word >> 36 & 1) != 0, word >> 12 & (kTimes - 1), word & 4095};
  }
  [[nodiscard]] std::uint64_t word() const {
    return tag << 37 | std::uint64_t{refused} << 36 | since << 12 | failures;
  }
};

std::uint64_t tag_of(GuardTable::Key key) {
  return key >> 37;
}

std::uint64_t second_of(WallTime now) {
  const auto since_epoch = std::chrono::floor<seconds>(now).time_since_epoch().count();
  return static_cast<std::uint64_t>(since_epoch) & (kTimes - 1);
}

/// How much longer an entry counts; not above zero where its time is over, or where the clock was set so that
/// nothing can be said about it.
seconds remaining(const Entry& entry, const GuardTable::Limit& limit, WallTime now) {
  auto age = static_cast<std::int64_t>((second_of(now) - entry.since) & (kTimes - 1));
  if (age > static_cast<std::int64_t>(kTimes) - kSmallStep) age = 0;
  return (entry.refused ? limit.refuse : limit.window) - seconds(age);
}

bool counts(const Entry& entry, const GuardTable::Limit& limit, WallTime now) {
  return entry.failures > 0 && remaining(entry, limit, now) > seconds(0);
}

GuardTable::Count count_of(const Entry& entry, const GuardTable::Limit& limit, WallTime now) {
  return {static_cast<unsigned>(entry.failures), entry.refused ? remaining(entry, limit, now) : seconds(0)};
}

/// How much would be lost with an entry.
auto worth(const Entry& entry, const GuardTable::Limit& limit, WallTime now) {
  const bool alive = counts(entry, limit, now);
  return std::tuple(alive, alive && entry.refused, alive ? entry.failures : 0, remaining(entry, limit, now));
}

Entry with_one_more(const Entry& before, GuardTable::Key key, const GuardTable::Limit& limit, WallTime now) {
  const bool known = before.tag == tag_of(key) && counts(before, limit, now);
  if (known && before.refused) return before;
  Entry after = known ? before : Entry{tag_of(key), false, second_of(now), 0};
  if (after.failures < GuardTable::kMostFailures) ++after.failures;
  if (after.failures >= limit.tries) {
    after.refused = true;
    after.since = second_of(now);
  }
  return after;
}

}  // namespace

std::span<GuardWords::Word> GuardTable::ways_of(Key key) const {
  const std::size_t sets = words_.size() / kWays;
  return words_.subspan(key % sets * kWays, kWays);
}

GuardTable::Count GuardTable::find(Key key, const Limit& limit, WallTime now) const {
  for (const GuardWords::Word& word : ways_of(key)) {
    const Entry entry = Entry::of(word.load());
    if (entry.tag == tag_of(key) && counts(entry, limit, now)) return count_of(entry, limit, now);
  }
  return {};
}

GuardTable::Count GuardTable::add(Key key, const Limit& limit, WallTime now) {
  const auto ways = ways_of(key);
  for (;;) {
    // The place for a new entry is looked at first: another thread that makes the same one meanwhile is found
    // by the search, or has changed this word.
    auto place = std::min_element(ways.begin(), ways.end(), [&](const auto& a, const auto& b) {
      return worth(Entry::of(a.load()), limit, now) < worth(Entry::of(b.load()), limit, now);
    });
    std::uint64_t before = place->load();
    const auto known = std::find_if(ways.begin(), ways.end(), [&](const GuardWords::Word& word) {
      const Entry entry = Entry::of(word.load());
      return entry.failures > 0 && entry.tag == tag_of(key);
    });
    if (known != ways.end()) {
      place = known;
      before = place->load();
    }
    const Entry after = with_one_more(Entry::of(before), key, limit, now);
    if (place->compare_exchange_strong(before, after.word())) return count_of(after, limit, now);
  }
}

void GuardTable::forget(Key key) {
  for (GuardWords::Word& word : ways_of(key)) {
    std::uint64_t before = word.load();
    if (Entry::of(before).tag == tag_of(key)) word.compare_exchange_strong(before, 0);
  }
}

}  // namespace rest_fcgi::auth

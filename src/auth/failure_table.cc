// SPDX-License-Identifier: MIT
#include "auth/failure_table.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "auth/rows.h"

// A row of the table `login_failure` is (key, failures, until):
// - `failures` counts from 1 to the `tries` of the key's Limit.
// - While `failures` is below `tries`, `until` is the end of the window, which begins with the first failure.
//   When `failures` reaches `tries`, `until` becomes the end of the refusal. Later failures change nothing.
// - A row whose `until` has passed counts as absent. `maintain` removes such rows, and the rows with the
//   earliest `until` if the table has more than `kMostFailures` rows.
// `active_until_` is never earlier than the `until` of a counted row that this process has read or written.

namespace rest_fcgi::auth {
namespace {

using store::Connection;

constexpr std::int64_t kMostFailures = 100'000;

constexpr const char* kFindFailure = "SELECT failures, until FROM login_failure WHERE key = ?";
constexpr const char* kPutFailure =
    "INSERT INTO login_failure (key, failures, until) VALUES (?1, ?2, ?3)"
    " ON CONFLICT DO UPDATE SET failures = ?2, until = ?3";
constexpr const char* kRemoveFailure = "DELETE FROM login_failure WHERE key = ?";
constexpr const char* kActiveUntil = "SELECT max(until) FROM login_failure";
constexpr const char* kRemoveFailures =
    "DELETE FROM login_failure WHERE key IN (SELECT key FROM login_failure WHERE until <= ? LIMIT ?)";
constexpr const char* kBoundFailures =
    "DELETE FROM login_failure WHERE key IN"
    " (SELECT key FROM login_failure ORDER BY until DESC LIMIT -1 OFFSET ?)";

struct Entry {
  std::int64_t failures = 0;
  WallTime until;
};

Result<Entry> entry_of(Connection& from, const std::string& key, WallTime now) {
  const auto make = [](const store::Row& row) { return Entry{row.number(0), time_at(row.number(1))}; };
  const auto found = from.first(kFindFailure, make, key);
  if (!found) return found.error();
  return *found && (*found)->until > now ? **found : Entry();
}

FailureTable::Count count_of(const Entry& entry, const FailureTable::Limit& limit, WallTime now) {
  const bool is_refused = entry.failures >= limit.tries;
  return {static_cast<unsigned>(entry.failures), is_refused ? entry.until - now : WallTime::duration(0)};
}

}  // namespace

FailureTable::FailureTable(std::shared_ptr<store::Store> store, const Clock& clock)
    : store_(std::move(store)), clock_(clock) {
  maintain();
  maintaining_ = store_->every_second([this] { maintain(); });
}

Result<FailureTable::Count> FailureTable::find(const std::string& key, const Limit& limit) {
  const WallTime now = clock_.wall();
  const auto entry = store_->read([&](Connection& from) { return entry_of(from, key, now); });
  if (!entry) return entry.error();
  if (entry->failures == 0) return Count();
  note_active(entry->until);
  return count_of(*entry, limit, now);
}

Result<FailureTable::Count> FailureTable::add(const std::string& key, const Limit& limit) {
  const WallTime now = clock_.wall();
  Entry entry;
  Result<void> added = store_->transact([&](Connection& connection) -> Result<void> {
    const auto found = entry_of(connection, key, now);
    if (!found) return found.error();
    entry = *found;
    if (entry.failures >= limit.tries) return {};
    if (++entry.failures == 1) entry.until = now + limit.window;
    if (entry.failures >= limit.tries) entry.until = now + limit.refuse;
    return connection.execute(kPutFailure, key, entry.failures, row_time(entry.until)).without_value();
  });
  if (!added) return std::move(added).error();
  note_active(entry.until);
  return count_of(entry, limit, now);
}

Result<void> FailureTable::reset(const std::string& key) {
  return store_->execute(kRemoveFailure, key).without_value();
}

void FailureTable::note_active(WallTime until) {
  WallTime known = active_until_.load();
  while (known < until && !active_until_.compare_exchange_weak(known, until)) {
  }
}

Result<void> FailureTable::refresh() {
  const auto until = store_->read([](Connection& from) { return from.number(kActiveUntil); });
  if (!until) return until.error();
  note_active(time_at(until->value_or(0)));
  return {};
}

void FailureTable::maintain() {
  if (!refresh() || !store_->is_writable()) return;
  remove_ended(*store_, kRemoveFailures, clock_.wall());
  static_cast<void>(store_->execute(kBoundFailures, kMostFailures));
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include "auth/request_table.h"

#include <unistd.h>

#include <utility>

#include "auth/digest.h"
#include "auth/rows.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/store/process.h"

// A row of the table `request_key` is (id, user, made, content, jids, pid, start, until, status, type, body,
// bytes):
// - The process `pid`, which has started at `start`, runs the request. The row is committed before the first
//   chunk is published. While the request runs, `status` is 0.
// - After the end of the request, `until` is 0, and `status`, `type` and `body` are its reply. If the reply
//   is not kept, `status` is 1.
// - If `status` is 0 and `until` has passed or the process has ended, the request may have run.
// - A row counts as absent a day after `made`. `remove_expired` removes such rows.
// `request_key_bytes` in `meta` is the sum of `bytes`. Triggers keep it. No row is removed for the bounds
// before its `until` has passed.

namespace rest_fcgi::auth {
namespace {

using store::Connection;
using store::Row;

constexpr std::int64_t kMostRequests = 10'000;
constexpr std::int64_t kMostBytes = 100'000'000;
/// The size of a row without the reply, with its entries in the indexes.
constexpr std::int64_t kRowBytes = 512;

constexpr const char* kFindRequest =
    "SELECT content, jids, pid, start, until, status, type, body FROM request_key WHERE id = ? AND made > ?";
constexpr const char* kExpireRequest = "DELETE FROM request_key WHERE id = ? AND made <= ?";
constexpr const char* kInsertRequest =
    "INSERT INTO request_key VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, '', '', ?) ON CONFLICT DO NOTHING";
constexpr const char* kBoundUser =
    "DELETE FROM request_key WHERE user = ?1 AND until <= ?2 AND made <= (SELECT made FROM request_key"
    " WHERE user = ?1 ORDER BY made DESC LIMIT 1 OFFSET ?3) RETURNING id";
constexpr const char* kKeepReply =
    "UPDATE request_key SET until = 0, status = ?3, type = ?4, body = ?5, bytes = ?6"
    " WHERE id = ?1 AND made = ?2 AND status = 0";
constexpr const char* kReleaseRequest = "DELETE FROM request_key WHERE id = ? AND made = ? AND status = 0";
constexpr const char* kRequestBytes = "SELECT value FROM meta WHERE name = 'request_key_bytes'";
constexpr const char* kDropOldest =
    "DELETE FROM request_key WHERE id = (SELECT id FROM request_key WHERE until <= ? ORDER BY made LIMIT 1)"
    " RETURNING id";
constexpr const char* kDropExpired =
    "DELETE FROM request_key WHERE id IN (SELECT id FROM request_key WHERE made <= ? LIMIT ?)";

store::TakeRow append_to(std::vector<std::string>& ids) {
  return [&ids](const Row& row) {
    ids.emplace_back(row.text(0));
    return true;
  };
}

}  // namespace

KeyedRequest make_keyed_request(std::string_view user, std::string_view key, std::string_view url,
                                std::string_view body) {
  const std::string size = format("\n{}\n", url.size());
  return {sha256_digits({"user\n", key, "\n", user}), sha256_digits({"content\n", key, size, url, body}),
          std::string(user)};
}

Claim claim_of(RequestRecord record, const KeyedRequest& request, WallTime now) {
  using State = Claim::State;
  if (record.content != request.content) return {State::other_content};
  const int status = record.reply.status;
  const bool runs = status == RequestRecord::kRuns && record.until > now && !record.is_owner_gone;
  if (runs) return {State::runs, std::move(record.jids)};
  const bool has_reply = status != RequestRecord::kRuns && status != RequestRecord::kNotKept;
  if (!has_reply) return {State::may_have_run, std::move(record.jids)};
  return {State::has_reply, std::move(record.jids), std::move(record.reply)};
}

RequestTable::RequestTable(std::shared_ptr<store::Store> store, const Clock& clock, Forget forget)
    : store_(std::move(store)),
      clock_(clock),
      forget_(std::move(forget)),
      pid_(::getpid()),
      start_(store::start_of(pid_)),
      expiry_(store_->every_second([this] { remove_expired(); })) {}

Result<std::optional<RequestRecord>> RequestTable::find(Connection& connection,
                                                        const KeyedRequest& request) const {
  std::optional<RequestRecord> found;
  const auto take = [&](const Row& row) {
    const auto pid = static_cast<pid_t>(row.number(2));
    const bool is_owner_gone = store::is_gone(pid, row.number(3), store::start_of(pid));
    found =
        RequestRecord{std::string(row.text(0)),
                      std::string(row.text(1)),
                      is_owner_gone,
                      time_at(row.number(4)),
                      {static_cast<int>(row.number(5)), std::string(row.text(6)), std::string(row.text(7))}};
    return false;
  };
  const auto read = connection.each(kFindRequest, take, request.id, row_time(request.made - kRequestLife));
  return read ? Result(std::move(found)) : read.error();
}

/// Returns false if the table has a row with this id.
Result<bool> RequestTable::insert(Connection& connection, const KeyedRequest& request,
                                  std::vector<std::string>& forgotten) const {
  const std::int64_t made = row_time(request.made);
  const auto expired = connection.execute(kExpireRequest, request.id, row_time(request.made - kRequestLife));
  if (!expired) return expired.error();
  const auto inserted =
      connection.execute(kInsertRequest, request.id, request.user, made, request.content, request.jids,
                         std::int64_t{pid_}, start_, row_time(request.until), kRowBytes);
  if (!inserted) return inserted.error();
  const auto bounded = connection.each(kBoundUser, append_to(forgotten), request.user, made, kMostRequests);
  return bounded ? Result(*inserted > 0) : bounded.error();
}

Result<Claim> RequestTable::claim(KeyedRequest& request) {
  request.made = clock_.wall();
  std::optional<RequestRecord> record;
  const auto look = [&](Connection& connection) -> Result<void> {
    auto found = find(connection, request);
    if (!found) return std::move(found).error();
    record = *std::move(found);
    return {};
  };
  if (auto read = store_->read(look); !read) return std::move(read).error();
  if (record) return claim_of(*std::move(record), request, request.made);
  bool is_new = false;
  std::vector<std::string> forgotten;
  auto done = store_->transact([&](Connection& connection) -> Result<void> {
    forgotten.clear();
    const auto inserted = insert(connection, request, forgotten);
    if (!inserted) return inserted.error();
    is_new = *inserted;
    return is_new ? Result<void>() : look(connection);
  });
  if (!done) return std::move(done).error();
  if (record) return claim_of(*std::move(record), request, request.made);
  if (forget_ && !forgotten.empty()) forget_(forgotten);
  if (done = store_->sync(); done) return Claim();
  release(request);
  return std::move(done).error();
}

void RequestTable::keep(const KeyedRequest& request, const KeptReply& reply) {
  const std::int64_t status = reply.status == 0 ? RequestRecord::kNotKept : reply.status;
  const std::string_view body = forget_ ? std::string_view() : reply.body;
  const auto bytes = kRowBytes + static_cast<std::int64_t>(reply.body.size());
  std::vector<std::string> forgotten;
  const auto kept = store_->transact([&](Connection& connection) -> Result<void> {
    forgotten.clear();
    const auto updated = connection.execute(kKeepReply, request.id, row_time(request.made), status,
                                            std::string_view(reply.type), body, bytes);
    if (!updated) return updated.error();
    for (std::size_t removed = 0;; ++removed) {
      const auto used = connection.number(kRequestBytes);
      if (!used) return used.error();
      if (used->value_or(0) <= kMostBytes || removed > forgotten.size()) return {};
      const auto take = append_to(forgotten);
      if (auto done = connection.each(kDropOldest, take, row_time(clock_.wall())); !done) return done;
    }
  });
  if (kept && forget_ && !forgotten.empty()) forget_(forgotten);
}

void RequestTable::release(const KeyedRequest& request) {
  static_cast<void>(store_->execute(kReleaseRequest, request.id, row_time(request.made)));
}

void RequestTable::remove_expired() {
  constexpr unsigned kPause = 60;
  if (ticks_++ % kPause == 0) remove_ended(*store_, kDropExpired, clock_.wall() - kRequestLife);
}

std::shared_ptr<RequestKeys> request_keys_in_store(std::shared_ptr<store::Store> store, const Clock& clock) {
  return std::make_shared<RequestTable>(std::move(store), clock);
}

}  // namespace rest_fcgi::auth

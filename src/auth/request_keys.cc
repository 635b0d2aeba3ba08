// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/request_keys.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "auth/digest.h"
#include "auth/etcd_calls.h"
#include "auth/rows.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/waiting.h"
#include "rest_fcgi/store/process.h"

// A remembered request is a text:
//   CONTENT \t JIDS \t BOOT \t PID \t START \t UNTIL \t STATUS \t TYPE \n BODY
// - The process PID of the host with the boot id BOOT runs the request. The process has started at START.
// - The text is committed before the first chunk is published. STATUS is then 0.
// - After the end of the request, UNTIL is 0. STATUS, TYPE and BODY are the reply. If the reply is not kept,
//   STATUS is 0.
// A row of the table `request_key` is (id, user, made, bytes, request). `request` is the text. `bytes` is 0
// until the end of the request, and then the size of the row. Rows with `bytes` 0 are not removed for the
// bounds. A row counts as absent a day after `made`.
// In etcd, the text is the value of the key ROOT-idempotency/ID, with a lease of a day for each key. The
// column `request` of this host's requests is then empty.

namespace rest_fcgi::auth {
namespace {

using store::Connection;
using store::Row;
using namespace std::chrono_literals;

constexpr std::chrono::hours kRequestLife{24};
constexpr auto kGrace = 10s;  // The time after the deadline in which a request still ends.
constexpr std::int64_t kMostRequests = 10'000;
constexpr std::int64_t kMostBytes = 100'000'000;
constexpr std::int64_t kRowBytes = 512;  // The size of a row without the body, with its entries in indexes.

constexpr const char* kFindRequest = "SELECT request FROM request_key WHERE id = ? AND made > ?";
constexpr const char* kInsertRequest =
    "INSERT INTO request_key (id, user, made, bytes, request) VALUES (?1, ?2, ?3, 0, ?4)"
    " ON CONFLICT DO UPDATE SET made = ?3, bytes = 0, request = ?4 WHERE made <= ?5";
constexpr const char* kBoundUserRequests =
    "DELETE FROM request_key WHERE bytes > 0 AND id IN"
    " (SELECT id FROM request_key WHERE user = ? ORDER BY made DESC LIMIT -1 OFFSET ?) RETURNING id";
constexpr const char* kKeepReply =
    "UPDATE request_key SET bytes = ?3, request = ?4 WHERE id = ?1 AND made = ?2";
constexpr const char* kDropOldestReply =
    "DELETE FROM request_key WHERE id = (SELECT id FROM request_key WHERE bytes > 0 ORDER BY made LIMIT 1)"
    " AND (SELECT value FROM meta WHERE name = 'request_key_bytes') > ? RETURNING id";
constexpr const char* kReleaseRequest = "DELETE FROM request_key WHERE id = ? AND made = ?";
constexpr const char* kExpireRequests =
    "DELETE FROM request_key WHERE id IN (SELECT id FROM request_key WHERE made <= ? LIMIT ?)";

/// Returns "BOOT \t PID \t START" of this process.
std::string own_process() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return format("{}\t{}\t{}", boot, ::getpid(), store::start_of(::getpid()));
}

}  // namespace

KeyedRequest make_keyed_request(std::string_view user, std::string_view key, std::string_view url,
                                std::string_view body) {
  const std::string size = format("\n{}\n", url.size());
  return {sha256_digits({"user\n", key, "\n", user}), sha256_digits({"content\n", key, size, url, body}),
          std::string(user)};
}

RequestKeys::RequestKeys(std::shared_ptr<store::Store> store, const Clock& clock)
    : store_(std::move(store)), clock_(clock), process_(own_process()), expiry_(store_->every_second([this] {
        remove_ended(*store_, kExpireRequests, clock_.wall() - kRequestLife);
      })) {}

Result<void> RequestKeys::share(const TokensInEtcd& options) {
  auto client = etcd::Client::make(options.cluster);
  if (!client) return std::move(client).error();
  etcd_ = *std::move(client);
  folder_ = options.root + "-idempotency/";
  return {};
}

Result<std::optional<KeyedRequest>> RequestKeys::claim(KeyedRequest& request, SteadyTime deadline) {
  request.made = clock_.wall();
  request.until =
      request.made + std::chrono::duration_cast<WallTime::duration>(deadline - clock_.steady() + kGrace);
  for (auto pause = 10ms;; pause = std::min(2 * pause, 200ms)) {
    auto found = find(request);
    if (!found) return found;
    if (!*found) {
      const auto put = this->put(request);
      if (!put) return put.error();
      if (*put) return found;
      continue;  // Another request has claimed the key meanwhile.
    }
    const KeyedRequest& earlier = **found;
    if (earlier.content != request.content) {
      ++conflicts;
      return Error{ErrorKind::key_reused,
                   "Idempotency-Key: found another URL or body than in the first request with this key, "
                   "expected the same"};
    }
    if (earlier.until <= clock_.wall()) {
      ++(earlier.status == 0 ? conflicts : replays);
      if (earlier.status != 0) return found;
      return Error{
          ErrorKind::conflict,
          "The first request with this Idempotency-Key may have run, and does not run again. Look for its "
          "job with jobs.lookup_jid or jobs.list_jobs; send a new key to run it again.",
          earlier.jids};
    }
    if (clock_.steady() >= deadline) {
      return Error{ErrorKind::timeout,
                   "The first request with this Idempotency-Key still runs; repeat the request later.",
                   earlier.jids};
    }
    const Waiting waiting;
    std::this_thread::sleep_for(pause);
  }
}

Result<std::optional<KeyedRequest>> RequestKeys::find(const KeyedRequest& request) {
  if (etcd_) {
    const auto found = etcd_->range({.key = folder_ + request.id}, etcd_deadline());
    if (!found) return etcd_failure(found.error());
    if (found->kvs.empty()) return std::optional<KeyedRequest>();
    return std::optional(read(found->kvs.front().value));
  }
  const auto make = [this](const Row& row) { return read(row.text(0)); };
  return store_->read([&](Connection& connection) {
    return connection.first(kFindRequest, make, request.id, row_time(request.made - kRequestLife));
  });
}

/// Returns false if another request has claimed the key.
Result<bool> RequestKeys::put(KeyedRequest& request) {
  if (etcd_) {
    auto put = put_in_etcd(request);
    if (!put || !*put) return put;
  }
  const std::string text = etcd_ ? "" : text_of(request);
  const auto inserted = store_->execute(kInsertRequest, request.id, request.user, row_time(request.made),
                                        text, row_time(request.made - kRequestLife));
  if (etcd_) return true;  // The row is only for the bounds.
  if (!inserted) return inserted.error();
  if (*inserted == 0) return false;
  if (auto synced = store_->sync(); !synced) {
    release(request);
    return std::move(synced).error();
  }
  return true;
}

Result<bool> RequestKeys::put_in_etcd(KeyedRequest& request) {
  const std::string key = folder_ + request.id;
  const auto lease = etcd_->lease_grant(kRequestLife, etcd_deadline());
  if (!lease) return etcd_failure(lease.error());
  request.lease = *lease;
  const auto done =
      etcd_->txn({.compare = {{.key = key}}, .success = {{etcd::PutRequest{key, text_of(request), *lease}}}},
                 etcd_deadline());
  if (done && done->succeeded) return true;
  // The client may have sent the transaction twice, and after an error, etcd may have stored the key.
  const auto found = etcd_->range({.key = key}, etcd_deadline());
  if (found && !found->kvs.empty() && found->kvs.front().lease == *lease) return true;
  static_cast<void>(etcd_->lease_revoke(*lease, etcd_deadline()));
  return done ? Result(false) : etcd_failure(done.error());
}

void RequestKeys::keep(KeyedRequest& request) {
  request.until = {};
  std::string text = text_of(request);
  const auto bytes = kRowBytes + static_cast<std::int64_t>(text.size());
  if (etcd_) {
    const std::string key = folder_ + request.id;
    static_cast<void>(etcd_->put({key, std::exchange(text, ""), request.lease}, etcd_deadline()));
  }
  std::vector<std::string> forgotten;
  const auto take = [&](const Row& row) {
    forgotten.emplace_back(row.text(0));
    return true;
  };
  const auto kept = store_->transact([&](Connection& connection) -> Result<void> {
    const auto updated = connection.execute(kKeepReply, request.id, row_time(request.made), bytes, text);
    if (!updated) return updated.error();
    auto bounded = connection.each(kBoundUserRequests, take, request.user, kMostRequests);
    for (std::size_t known = forgotten.size() + 1; bounded && forgotten.size() != known;) {
      known = forgotten.size();
      bounded = connection.each(kDropOldestReply, take, kMostBytes);
    }
    return bounded;
  });
  if (!kept || !etcd_) return;
  for (const std::string& id : forgotten) static_cast<void>(etcd_->delete_key(folder_ + id, etcd_deadline()));
}

void RequestKeys::release(const KeyedRequest& request) {
  if (etcd_) static_cast<void>(etcd_->lease_revoke(request.lease, etcd_deadline()));
  static_cast<void>(store_->execute(kReleaseRequest, request.id, row_time(request.made)));
}

std::string RequestKeys::text_of(const KeyedRequest& request) const {
  return format("{}\t{}\t{}\t{}\t{}\t{}\n{}", request.content, request.jids, process_,
                row_time(request.until), request.status, request.type, request.body);
}

KeyedRequest RequestKeys::read(std::string_view text) const {
  const auto next = [&] { return std::string(next_token(text, '\t')); };
  const auto next_number = [&] { return parse_number<std::int64_t>(next()).value_or(0); };
  KeyedRequest request;
  request.content = next();
  request.jids = next();
  const bool is_of_this_boot = process_.starts_with(next() + "\t");
  const auto pid = static_cast<pid_t>(next_number());
  const std::int64_t start = next_number();
  request.until = time_at(next_number());
  request.status = static_cast<int>(next_number());
  request.type = next_token(text, '\n');
  request.body = text;
  // Whether a process of another host has ended is not known, so that `until` decides. A store has only
  // requests of this host, so that another boot id means an earlier boot.
  const bool has_ended = is_of_this_boot ? store::is_gone(pid, start, store::start_of(pid)) : !etcd_;
  if (has_ended) request.until = {};
  return request;
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <fstream>
#include <optional>
#include <utility>

#include "auth/etcd_calls.h"
#include "auth/request_table.h"
#include "auth/rows.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/store/process.h"

// A request in etcd is one key:
//   key    ROOT-idempotency/ID. ID is the hash of the user and the Idempotency-Key.
//   value  one line of JSON, a line end, and the body of the reply. The JSON is
//          {"content": HASH, "jids": "...", "boot": ID, "pid": N, "start": N, "until": N, "lease": N,
//           "status": N, "type": "..."}.
//          `boot` is the boot id of the process's host. `lease` makes each claim differ. The other members
//          are as in the table `request_key`.
//   lease  a day. Each key has its own lease.
// Only one put of a claim succeeds, because the transaction requires that the key is missing.

namespace rest_fcgi::auth {
namespace {

std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

class RequestsInCluster final : public RequestKeys {
 public:
  RequestsInCluster(std::unique_ptr<etcd::Client> client, std::string folder,
                    std::shared_ptr<store::Store> store, const Clock& clock)
      : client_(std::move(client)),
        folder_(std::move(folder)),
        clock_(clock),
        own_(std::move(store), clock, [this](const std::vector<std::string>& ids) {
          for (const std::string& id : ids)
            static_cast<void>(client_->delete_key(folder_ + id, etcd_deadline()));
        }) {}

  Result<Claim> claim(KeyedRequest& request) override {
    const std::string key = folder_ + request.id;
    const auto found = client_->range({.key = key}, etcd_deadline());
    if (!found) return etcd_failure(found.error());
    if (!found->kvs.empty()) return read(found->kvs.front().value, request);
    const auto lease = client_->lease_grant(kRequestLife, etcd_deadline());
    if (!lease) return etcd_failure(lease.error());
    request.lease = *lease;
    const std::string value = text_of(request, {});
    const auto done = client_->txn({.compare = {{.key = key}},
                                    .success = {{etcd::PutRequest{key, value, *lease}}},
                                    .failure = {{etcd::RangeRequest{.key = key}}}},
                                   etcd_deadline());
    std::string there;
    const bool has_range = done && !done->succeeded && !done->responses.empty() && done->responses.front();
    if (has_range && !done->responses.front()->kvs.empty())
      there = done->responses.front()->kvs.front().value;
    // The client may have sent the transaction twice, so the key can have the value of this request.
    if (done && (done->succeeded || there == value)) {
      static_cast<void>(own_.claim(request));
      return Claim();
    }
    // After an error, etcd may have stored the key nevertheless. etcd removes such a key with its lease.
    static_cast<void>(client_->lease_revoke(*lease, etcd_deadline()));
    return done ? read(there, request) : etcd_failure(done.error());
  }

  void keep(const KeyedRequest& request, const KeptReply& reply) override {
    if (!put(request, reply)) static_cast<void>(put(request, {}));
    own_.keep(request, reply);
  }

  void release(const KeyedRequest& request) override {
    static_cast<void>(client_->delete_key(folder_ + request.id, etcd_deadline()));
    own_.release(request);
  }

 private:
  Result<void> put(const KeyedRequest& request, KeptReply reply) {
    if (reply.status == 0) reply.status = RequestRecord::kNotKept;
    return client_->put(
        {.key = folder_ + request.id, .value = text_of(request, reply), .lease = request.lease},
        etcd_deadline());
  }

  [[nodiscard]] std::string text_of(const KeyedRequest& request, const KeptReply& reply) const {
    const Json head = written_object([&](JsonWriter& writer) {
      writer.key("content").string(request.content).key("jids").string(request.jids);
      writer.key("boot").string(boot_).key("pid").integer(pid_).key("start").integer(start_);
      writer.key("until").integer(row_time(request.until)).key("lease").integer(request.lease);
      writer.key("status").integer(reply.status).key("type").string(reply.type);
    });
    return format("{}\n{}", head.text(), reply.body);
  }

  Result<Claim> read(std::string_view value, const KeyedRequest& request) const {
    JsonDocument document;
    if (!document.parse(next_token(value, '\n'))) {
      return Error{ErrorKind::unavailable, "etcd: the record of the Idempotency-Key is malformed"};
    }
    const auto text = [&](std::string_view key) {
      return std::string(document.root().find(key).value_or(JsonValue()).text());
    };
    const auto number = [&](std::string_view key) {
      return document.root().find(key).value_or(JsonValue()).integer().value_or(0);
    };
    const auto pid = static_cast<pid_t>(number("pid"));
    // Whether a process of another host has ended is not known, so that `until` decides.
    const bool is_owner_gone =
        text("boot") == boot_ && store::is_gone(pid, number("start"), store::start_of(pid));
    return claim_of({text("content"),
                     text("jids"),
                     is_owner_gone,
                     time_at(number("until")),
                     {static_cast<int>(number("status")), text("type"), std::string(value)}},
                    request, clock_.wall());
  }

  const std::unique_ptr<etcd::Client> client_;
  const std::string folder_;
  const Clock& clock_;
  const std::string boot_ = boot_id();
  const std::int64_t pid_ = ::getpid();
  const std::int64_t start_ = store::start_of(::getpid());
  RequestTable own_;  // The requests of this host's processes, without their replies.
};

}  // namespace

Result<std::shared_ptr<RequestKeys>> request_keys_in_etcd(const TokensInEtcd& options,
                                                          std::shared_ptr<store::Store> store,
                                                          const Clock& clock) {
  auto client = etcd::Client::make(options.cluster);
  if (!client) return std::move(client).error();
  return std::shared_ptr<RequestKeys>(std::make_shared<RequestsInCluster>(
      *std::move(client), options.root + "-idempotency/", std::move(store), clock));
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include <utility>

#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/watcher.h"
#include "returner/etcd/watch/changes.h"

namespace rest_fcgi::returner {
namespace {

class ChangesV3 : public EtcdChanges {
 public:
  ChangesV3(std::unique_ptr<etcd::Client> client, std::string folder)
      : client_(std::move(client)), folder_(std::move(folder)) {}

  Result<void> begin(etcd::Deadline deadline) override {
    // Says also whether that may be read: a watch is refused only later.
    const std::string end = etcd::prefix_end(folder_);
    const auto now = client_->range({.key = folder_, .range_end = end, .count_only = true}, deadline);
    if (!now) return now.error();
    const std::int64_t start = now->header.revision + 1;
    watcher_ = std::make_unique<etcd::Watcher>(
        *client_,
        etcd::WatchRequest{.key = folder_, .range_end = end, .start_revision = start, .prev_kv = true});
    return {};
  }

  Result<std::vector<EtcdChange>> next(etcd::Deadline deadline) override {
    auto events = watcher_->next(deadline);
    if (!events) return std::move(events).error();
    std::vector<EtcdChange> changes;
    for (etcd::WatchEvent& event : *events) {
      if (event.type != etcd::WatchEvent::Type::put) continue;
      const bool same = event.prev_kv && event.prev_kv->value == event.kv.value;
      changes.push_back({std::move(event.kv.key), std::move(event.kv.value), event.kv.version == 1, same,
                         event.kv.mod_revision});
    }
    return changes;
  }

  Result<std::optional<std::string>> value_at(const std::string& key, std::int64_t revision,
                                              etcd::Deadline deadline) override {
    auto reply = client_->range({.key = key, .revision = revision}, deadline);
    if (!reply && reply.error().kind == ErrorKind::invocation) {
      reply = client_->range({.key = key}, deadline);
    }
    if (!reply) return std::move(reply).error();
    if (reply->kvs.empty()) return std::optional<std::string>();
    return std::optional(std::move(reply->kvs.front().value));
  }

 private:
  const std::unique_ptr<etcd::Client> client_;
  const std::string folder_;
  std::unique_ptr<etcd::Watcher> watcher_;  // uses the client
};

}  // namespace

Result<std::unique_ptr<EtcdChanges>> make_etcd_changes_v3(const etcd::Options& options, std::string folder) {
  auto client = etcd::Client::make(options);
  if (!client) return std::move(client).error();
  return std::unique_ptr<EtcdChanges>(std::make_unique<ChangesV3>(*std::move(client), std::move(folder)));
}

}  // namespace rest_fcgi::returner

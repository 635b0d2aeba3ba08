// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/etcd/client.h"
#include "returner/etcd/store.h"

namespace rest_fcgi::returner {
namespace {

using etcd::NodeV2;
using etcd::PutV2;

// The largest number of attempts to put a key that other processes also change.
constexpr int kMostPuts = 8;
constexpr std::size_t kMostGets = 8;
constexpr std::size_t kLoadsOfWalk = 64;

etcd::Deadline soon_v2() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(5);
}

std::string without_slash(const std::string& folder) {
  return folder.substr(0, folder.size() - 1);
}

void visit_leaves(const NodeV2& node, const EtcdStore::Visitor& visitor) {
  for (const NodeV2& child : node.nodes) {
    child.dir ? visit_leaves(child, visitor) : visitor(child.key, child.value);
  }
}

/// A store that uses API v2 of etcd. Each put is a separate request, so a reader may see a return of which
/// some fields are still missing.
class StoreV2 : public EtcdStore {
 public:
  StoreV2(std::unique_ptr<etcd::Client> client, std::chrono::seconds ttl)
      : client_(std::move(client)), ttl_(ttl.count() == 0 ? std::nullopt : std::optional(ttl)) {}

  Result<std::vector<std::optional<std::string>>> get(const std::vector<std::string>& keys) override {
    std::vector<std::optional<std::string>> values(keys.size());
    const Result<void> read = at_once(keys.size(), kMostGets, [&](std::size_t i) -> Result<void> {
      Result<std::optional<std::string>> value = value_of(keys[i]);
      if (!value) return std::move(value).error();
      values[i] = *std::move(value);
      return {};
    });
    return read ? Result(std::move(values)) : read.error();
  }

  Result<void> visit(const std::string& folder, const Visitor& visitor) override {
    const Result<std::optional<NodeV2>> node = client_->get_v2(without_slash(folder), true, soon_v2());
    if (!node) return node.error();
    if (*node) visit_leaves(**node, visitor);
    return {};
  }

  Result<void> walk_loads(const EtcdLayout& layout, const EtcdWalk& walk,
                          const LoadVisitor& visitor) override {
    const Result<std::optional<NodeV2>> folder =
        client_->get_v2(without_slash(layout.jobs()), false, soon_v2());
    if (!folder) return folder.error();
    if (!*folder) return {};
    std::vector<std::string> jids;
    for (const NodeV2& child : (*folder)->nodes) {
      std::string name = child.key.substr(child.key.rfind('/') + 1);
      if (!is_like_jid(name)) continue;
      const JidKey key = nearest_key(name);
      if (key >= walk.keys.least && key <= walk.keys.greatest) jids.push_back(std::move(name));
    }
    std::sort(jids.begin(), jids.end());
    if (walk.newest_first) std::reverse(jids.begin(), jids.end());
    for (std::size_t begin = 0; begin < jids.size(); begin += kLoadsOfWalk) {
      std::vector<std::optional<std::string>> loads(std::min(kLoadsOfWalk, jids.size() - begin));
      Result<void> read = at_once(loads.size(), kMostGets, [&](std::size_t i) -> Result<void> {
        auto load = load_or_returned(*this, layout, jids[begin + i]);
        if (!load) return std::move(load).error();
        loads[i] = *std::move(load);
        return {};
      });
      if (!read) return read;
      for (std::size_t i = 0; i < loads.size(); ++i) {
        if (loads[i] && !visitor(jids[begin + i], *loads[i])) return {};
      }
    }
    return {};
  }

  Result<void> write(const std::vector<EtcdWrite>& writes) override {
    for (const EtcdWrite& write : writes) {
      if (Result<void> written = write_guarded(write); !written) return written;
    }
    return {};
  }

  Result<bool> claim(const EtcdPair& claim, const std::string& taken_by, std::chrono::seconds ttl) override {
    const auto taken = value_of(taken_by);
    if (!taken) return taken.error();
    if (*taken) return false;
    const PutV2 put{.key = claim.key, .value = claim.value, .ttl = ttl, .must_be_new = true};
    Result<bool> done = try_put(put);
    if (!done || *done) return done;
    // The pair may exist because an earlier attempt put the pair and only the reply was lost.
    const auto found = value_of(claim.key);
    return found ? Result<bool>(*found == claim.value) : found.error();
  }

  Result<bool> replace(const EtcdPair& pair, const std::string& before) override {
    return put_unless_changed(pair, before);
  }

 private:
  Result<std::optional<std::string>> value_of(const std::string& key) {
    Result<std::optional<NodeV2>> node = client_->get_v2(key, false, soon_v2());
    if (!node) return std::move(node).error();
    if (!*node || (*node)->dir) return std::optional<std::string>();
    return std::optional(std::move((*node)->value));
  }

  Result<void> write_guarded(const EtcdWrite& write) {
    const bool guards_itself = write.puts.size() == 1 && write.puts.front().key == write.guard;
    for (int tries = 0; tries < kMostPuts && write.unless != EtcdWrite::Unless::never; ++tries) {
      const auto found = value_of(write.guard);
      if (!found) return found.error();
      if (*found && (write.unless == EtcdWrite::Unless::exists || **found > write.than)) return {};
      if (!guards_itself) break;
      const Result<bool> done = put_unless_changed(write.puts.front(), *found);
      if (!done) return done.error();
      if (*done) return {};
    }
    if (guards_itself && write.unless != EtcdWrite::Unless::never)
      return Error{ErrorKind::unavailable,
                   format("{}: other writers changed the key {} times", write.guard, kMostPuts)};
    for (const EtcdPair& pair : write.puts) {
      const auto put = client_->put_v2({.key = pair.key, .value = pair.value, .ttl = ttl_}, soon_v2());
      if (!put) return put.error();
    }
    return {};
  }

  Result<bool> put_unless_changed(const EtcdPair& pair, const std::optional<std::string>& before) {
    PutV2 put{.key = pair.key, .value = pair.value, .ttl = ttl_};
    if (before) {
      put.prev_value = *before;
    } else {
      put.must_be_new = true;
    }
    return try_put(put);
  }

  Result<bool> try_put(const PutV2& put) {
    const Result<void> done = client_->put_v2(put, soon_v2());
    if (done) return true;
    if (done.error().kind == ErrorKind::invocation || done.error().kind == ErrorKind::not_found) return false;
    return done.error();
  }

  std::unique_ptr<etcd::Client> client_;
  const std::optional<std::chrono::seconds> ttl_;
};

}  // namespace

Result<std::unique_ptr<EtcdStore>> make_etcd_store_v2(const etcd::Options& options,
                                                      std::chrono::seconds ttl) {
  auto client = etcd::Client::make(options);
  if (!client) return std::move(client).error();
  return std::unique_ptr<EtcdStore>(std::make_unique<StoreV2>(*std::move(client), ttl));
}

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "rest_fcgi/etcd/keys_v2.h"
#include "returner/etcd_store.h"

namespace rest_fcgi::returner {
namespace {

using etcd::NodeV2;
using etcd::PutV2;

constexpr int kMostTries = 8;  // of a put that others come before

std::string without_slash(const std::string& folder) {
  return folder.substr(0, folder.size() - 1);
}

void visit_leaves(const NodeV2& node, const EtcdStore::Visitor& visitor) {
  for (const NodeV2& child : node.nodes) {
    child.dir ? visit_leaves(child, visitor) : visitor(child.key, child.value);
  }
}

/// Each put is alone: a reader may see some of a return without the rest, as with Salt's own returner.
class StoreV2 : public EtcdStore {
 public:
  StoreV2(std::unique_ptr<etcd::KeysV2> keys, std::chrono::seconds ttl)
      : keys_(std::move(keys)), ttl_(ttl.count() == 0 ? std::nullopt : std::optional(ttl)) {}

  Result<std::vector<std::optional<std::string>>> get(const std::vector<std::string>& keys,
                                                      Deadline deadline) override;
  Result<void> visit(const std::string& folder, const Visitor& visitor, Deadline deadline) override;
  Result<std::vector<std::string>> names(const std::string& folder, const Names& wanted,
                                         Deadline deadline) override;
  Result<void> write(const std::vector<EtcdWrite>& writes, Deadline deadline) override;
  Result<bool> claim(const EtcdPair& claim, const std::string& taken_by, std::chrono::seconds ttl,
                     Deadline deadline) override;
  Result<bool> replace(const EtcdPair& pair, const std::string& before, Deadline deadline) override;

 private:
  [[nodiscard]] Result<std::optional<std::string>> value_of(const std::string& key, Deadline deadline);
  [[nodiscard]] Result<void> write_guarded(const EtcdWrite& write, Deadline deadline);
  /// Puts what the guard itself is about, where its value is still that one. False where it is not.
  [[nodiscard]] Result<bool> put_unless_changed(const EtcdPair& pair,
                                                const std::optional<std::string>& before, Deadline deadline);
  /// False where the comparison that it asks for failed.
  [[nodiscard]] Result<bool> compared(const PutV2& put, Deadline deadline);

  std::unique_ptr<etcd::KeysV2> keys_;
  const std::optional<std::chrono::seconds> ttl_;
};

Result<std::optional<std::string>> StoreV2::value_of(const std::string& key, Deadline deadline) {
  Result<std::optional<NodeV2>> node = keys_->get(key, false, deadline);
  if (!node) return std::move(node).error();
  if (!*node || (*node)->dir) return std::optional<std::string>();
  return std::optional(std::move((*node)->value));
}

Result<std::vector<std::optional<std::string>>> StoreV2::get(const std::vector<std::string>& keys,
                                                             Deadline deadline) {
  std::vector<std::optional<std::string>> values;
  for (const std::string& key : keys) {
    Result<std::optional<std::string>> value = value_of(key, deadline);
    if (!value) return std::move(value).error();
    values.push_back(*std::move(value));
  }
  return values;
}

Result<void> StoreV2::visit(const std::string& folder, const Visitor& visitor, Deadline deadline) {
  const Result<std::optional<NodeV2>> node = keys_->get(without_slash(folder), true, deadline);
  if (!node) return node.error();
  if (*node) visit_leaves(**node, visitor);
  return {};
}

Result<std::vector<std::string>> StoreV2::names(const std::string& folder, const Names& wanted,
                                                Deadline deadline) {
  std::vector<std::string> names;
  const Result<std::optional<NodeV2>> node = keys_->get(without_slash(folder), false, deadline);
  if (!node) return node.error();
  if (!*node) return names;
  for (const NodeV2& child : (*node)->nodes) {
    std::string name = child.key.substr(child.key.rfind('/') + 1);
    if (name >= wanted.first && (wanted.last.empty() || name <= wanted.last)) {
      names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  names.resize(std::min(names.size(), wanted.most));
  return names;
}

Result<void> StoreV2::write(const std::vector<EtcdWrite>& writes, Deadline deadline) {
  for (const EtcdWrite& write : writes) {
    if (Result<void> written = write_guarded(write, deadline); !written) return written;
  }
  return {};
}

Result<void> StoreV2::write_guarded(const EtcdWrite& write, Deadline deadline) {
  const bool guards_itself = write.puts.size() == 1 && write.puts.front().key == write.guard;
  for (int tries = 0; tries < kMostTries && write.unless != EtcdWrite::Unless::never; ++tries) {
    const auto found = value_of(write.guard, deadline);
    if (!found) return found.error();
    if (*found && (write.unless == EtcdWrite::Unless::exists || **found > write.than)) return {};
    if (!guards_itself) break;
    const Result<bool> done = put_unless_changed(write.puts.front(), *found, deadline);
    if (!done) return done.error();
    if (*done) return {};
  }
  if (guards_itself) return Error{ErrorKind::unavailable, "others write the same key again and again"};
  for (const EtcdPair& pair : write.puts) {
    const auto put = keys_->put({.key = pair.key, .value = pair.value, .ttl = ttl_}, deadline);
    if (!put) return put.error();
  }
  return {};
}

Result<bool> StoreV2::put_unless_changed(const EtcdPair& pair, const std::optional<std::string>& before,
                                         Deadline deadline) {
  PutV2 put{.key = pair.key, .value = pair.value, .ttl = ttl_};
  if (before) {
    put.prev_value = *before;
  } else {
    put.prev_exist = false;
  }
  return compared(put, deadline);
}

Result<bool> StoreV2::compared(const PutV2& put, Deadline deadline) {
  const Result<NodeV2> node = keys_->put(put, deadline);
  if (node) return true;
  if (node.error().kind == ErrorKind::invocation || node.error().kind == ErrorKind::not_found) return false;
  return node.error();
}

Result<bool> StoreV2::claim(const EtcdPair& claim, const std::string& taken_by, std::chrono::seconds ttl,
                            Deadline deadline) {
  const auto taken = value_of(taken_by, deadline);
  if (!taken) return taken.error();
  if (*taken) return false;
  const PutV2 put{.key = claim.key, .value = claim.value, .ttl = ttl, .prev_exist = false};
  Result<bool> done = compared(put, deadline);
  if (!done || *done) return done;
  // A try whose answer was lost may have put it.
  const auto found = value_of(claim.key, deadline);
  return found ? Result<bool>(*found == claim.value) : found.error();
}

Result<bool> StoreV2::replace(const EtcdPair& pair, const std::string& before, Deadline deadline) {
  return put_unless_changed(pair, before, deadline);
}

}  // namespace

Result<std::unique_ptr<EtcdStore>> make_etcd_store_v2(const etcd::Options& options,
                                                      std::chrono::seconds ttl) {
  auto keys = etcd::KeysV2::make(options);
  if (!keys) return std::move(keys).error();
  return std::unique_ptr<EtcdStore>(std::make_unique<StoreV2>(*std::move(keys), ttl));
}

}  // namespace rest_fcgi::returner

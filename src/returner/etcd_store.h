// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::returner {

struct EtcdPair {
  std::string key;
  std::string value;
};

/// Puts that belong together, and are left out where a guard says so. Plain value.
struct EtcdWrite {
  enum class Unless {
    never,    ///< they are done at any rate
    exists,   ///< left out where there is the key `guard`
    greater,  ///< left out where the value of the key `guard` is greater than `than`, as bytes compare
  };
  Unless unless = Unless::never;
  std::string guard{};
  std::string than{};
  std::vector<EtcdPair> puts{};
};

/// What the returner needs of etcd. Abstract because a cluster has two APIs, each with data of its own: v3,
/// with transactions and leases, and v2; and for tests. Thread-safe. Errors are those of `etcd::Client`.
class EtcdStore {
 public:
  using Deadline = etcd::Deadline;
  using Visitor = std::function<void(const std::string& key, const std::string& value)>;
  /// Names between two, both included, as texts compare.
  struct Names {
    std::string first{};
    std::string last{};  ///< empty: up to the last one
    std::size_t most = 0;
  };

  virtual ~EtcdStore() = default;

  /// The values of these keys, in their order; absent where there is no such key.
  [[nodiscard]] virtual Result<std::vector<std::optional<std::string>>> get(
      const std::vector<std::string>& keys, Deadline deadline) = 0;

  /// Visits all keys below `folder`, which ends with a slash.
  [[nodiscard]] virtual Result<void> visit(const std::string& folder, const Visitor& visitor,
                                           Deadline deadline) = 0;

  /// What stands right below `folder`, sorted.
  [[nodiscard]] virtual Result<std::vector<std::string>> names(const std::string& folder, const Names& wanted,
                                                               Deadline deadline) = 0;

  /// All of it, in as few transactions as there are: in v3 in one. No key is put twice in it. What is written
  /// goes after the store's time to live.
  [[nodiscard]] virtual Result<void> write(const std::vector<EtcdWrite>& writes, Deadline deadline) = 0;

  /// Puts it where there is neither that key nor `taken_by`, for a time. Says whether it is there now, with
  /// this value.
  [[nodiscard]] virtual Result<bool> claim(const EtcdPair& claim, const std::string& taken_by,
                                           std::chrono::seconds ttl, Deadline deadline) = 0;

  /// Puts it where the key's value is `before`. Says whether it was.
  [[nodiscard]] virtual Result<bool> replace(const EtcdPair& pair, const std::string& before,
                                             Deadline deadline) = 0;
};

/// Opens no connection. `ttl` 0: for ever. Errors: configuration.
[[nodiscard]] Result<std::unique_ptr<EtcdStore>> make_etcd_store_v3(const etcd::Options& options,
                                                                    std::chrono::seconds ttl);
[[nodiscard]] Result<std::unique_ptr<EtcdStore>> make_etcd_store_v2(const etcd::Options& options,
                                                                    std::chrono::seconds ttl);

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::returner {

/// A key got a value.
struct EtcdChange {
  std::string key;
  std::string value;
  bool is_new = false;   ///< there was no such key
  bool is_same = false;  ///< it had that value before
  std::int64_t revision = 0;
};

/// What is put below a folder of a cluster. Abstract because a cluster has two APIs. Used by one thread at a
/// time. Errors are those of `etcd::Client`.
class EtcdChanges {
 public:
  virtual ~EtcdChanges() = default;

  /// From now on, whatever it told before.
  [[nodiscard]] virtual Result<void> begin(etcd::Deadline deadline) = 0;

  /// What comes next: all of one transaction together; nothing where the deadline came first. Errors:
  /// invocation, where what was to come next is not to be had any more; `begin` anew then. After others, what
  /// is missing comes by the next call. REQUIRES: it has begun.
  [[nodiscard]] virtual Result<std::vector<EtcdChange>> next(etcd::Deadline deadline) = 0;

  /// What a key's value was when the revision was written; at 0, and where that is forgotten, as it is now.
  [[nodiscard]] virtual Result<std::optional<std::string>> value_at(const std::string& key,
                                                                    std::int64_t revision,
                                                                    etcd::Deadline deadline) = 0;
};

/// `folder` ends with a slash. Opens no connection. Errors: configuration.
[[nodiscard]] Result<std::unique_ptr<EtcdChanges>> make_etcd_changes_v3(const etcd::Options& options,
                                                                        std::string folder);
[[nodiscard]] Result<std::unique_ptr<EtcdChanges>> make_etcd_changes_v2(const etcd::Options& options,
                                                                        std::string folder);

}  // namespace rest_fcgi::returner

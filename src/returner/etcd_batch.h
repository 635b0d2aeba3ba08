// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "returner/etcd_json.h"
#include "returner/etcd_layout.h"
#include "returner/etcd_store.h"
#include "returner/record.h"

namespace rest_fcgi::returner {

/// What one record becomes in etcd. Plain value.
struct EtcdItem {
  std::string what;              ///< for the log: the load or return, and of which job
  std::string place;             ///< what it is written to; two of one place do not go together
  EtcdWrite write;               ///< the load, or the fields of the return
  std::optional<EtcdPair> last;  ///< that this is the minion's last job

  [[nodiscard]] std::size_t puts() const noexcept { return write.puts.size() + (last ? 1 : 0); }
  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// A load of the record. REQUIRES: its kind is `load`.
[[nodiscard]] EtcdItem load_item(const EtcdLayout& layout, const RecordView& record);

/// A return, or one that stands in, that was told at `stamp`; absent where the record holds none. It leaves
/// out what is there of a later one.
[[nodiscard]] std::optional<EtcdItem> return_item(const EtcdLayout& layout, const RecordView& record,
                                                  const JobFacts& facts, WallTime stamp);

/// Items that are written together, within what a transaction of etcd takes. Not synchronized.
class EtcdBatch {
 public:
  /// False where it has to go into another one. An empty one takes any.
  bool add(EtcdItem& item);

  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] const std::vector<EtcdItem>& items() const noexcept { return items_; }

  /// Loads, then the minions' last jobs, each of them once, then returns, as Salt orders them.
  [[nodiscard]] std::vector<EtcdWrite> writes() const;

 private:
  std::vector<EtcdItem> items_;
  std::set<std::string, std::less<>> places_;
  std::size_t puts_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace rest_fcgi::returner

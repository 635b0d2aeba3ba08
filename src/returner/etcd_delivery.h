// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "returner/etcd_batch.h"
#include "returner/etcd_layout.h"
#include "returner/etcd_store.h"

namespace rest_fcgi::returner {

/// A record as it waits for etcd: with the time when it was told.
[[nodiscard]] std::string stamped_record(WallTime stamp, std::string_view record);

/// When a call that writes has to have come back: time for two members that do not answer.
[[nodiscard]] EtcdStore::Deadline call_deadline();

/// Carries such records into etcd, in their order. What is done twice is the same as once. Of one thread.
class EtcdDelivery {
 public:
  EtcdDelivery(std::unique_ptr<EtcdStore> store, const EtcdOptions& options)
      : store_(std::move(store)), layout_(options) {}

  /// Writes all of them; where that fails, some of them. A return whose job is not kept is dropped, and what
  /// etcd refuses is, too, with a line in the log. Errors: those of the store but that.
  [[nodiscard]] Result<void> deliver(const std::vector<std::string_view>& records);

  [[nodiscard]] EtcdStore& store() const noexcept { return *store_; }

 private:
  struct Told {
    WallTime stamp;
    RecordView record;
  };
  /// What returns need to know of jobs that were seen lately, within bounds.
  class Known {
   public:
    void put(JidKey key, JobFacts facts);
    [[nodiscard]] const JobFacts* find(JidKey key) const;
    /// Back to the bounds, without the oldest.
    void trim();

   private:
    std::map<JidKey, JobFacts> facts_;
    std::deque<JidKey> order_;
    std::size_t bytes_ = 0;
  };

  [[nodiscard]] Result<void> look_up_jobs(const std::vector<Told>& all);
  [[nodiscard]] std::optional<EtcdItem> item_of(const Told& told);
  [[nodiscard]] Result<void> add_minions(const RecordView& record);
  [[nodiscard]] Result<void> write(EtcdBatch& batch);
  [[nodiscard]] Result<void> write_each(const EtcdBatch& batch);

  const std::unique_ptr<EtcdStore> store_;
  const EtcdLayout layout_;
  Known known_;
};

}  // namespace rest_fcgi::returner

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

#include "returner/etcd/layout.h"
#include "returner/etcd/store.h"
#include "returner/spool/spooled_writer.h"

namespace rest_fcgi::returner {

/// What returns need to know of jobs that were seen lately, within bounds. Not synchronized.
class RecentJobs {
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

/// Carries stamped records into etcd, several transactions at once. What is written twice is the same as
/// once. A return whose job is not kept is dropped; what etcd refuses as it is, is left out, and the log says
/// so. Of the writer's thread.
class EtcdSink : public SpoolSink {
 public:
  EtcdSink(std::unique_ptr<EtcdStore> store, const EtcdOptions& options)
      : store_(std::move(store)), layout_(options) {}

  Result<void> write(const SpooledWork& work, Trouble& trouble) override;
  Result<void> tend(bool) override { return {}; }
  [[nodiscard]] SteadyTime next_due() const override { return SteadyTime::max(); }
  [[nodiscard]] std::optional<RecordView> view(std::string_view record) const override {
    return view_of(unstamped(record).record);
  }

  /// Of any thread.
  [[nodiscard]] EtcdStore& store() const noexcept { return *store_; }

 private:
  class Batch;
  class Flight;
  struct Item;
  struct Stamped {
    WallTime stamp;
    RecordView record;
  };

  [[nodiscard]] Result<void> deliver(const std::vector<std::string_view>& records, Trouble& trouble);
  [[nodiscard]] Result<void> look_up_jobs(const std::vector<Stamped>& all);
  [[nodiscard]] std::optional<Item> item_of(const Stamped& stamped);
  [[nodiscard]] Item load_item(const RecordView& record) const;
  [[nodiscard]] std::optional<Item> return_item(const Stamped& stamped, const JobFacts& facts) const;
  [[nodiscard]] Result<void> add_minions(const RecordView& record, Trouble& trouble);
  [[nodiscard]] Result<void> send(Flight& flight, Trouble& trouble);
  [[nodiscard]] Result<void> send(const Batch& batch, Trouble& trouble);
  /// Does the cluster take a small write now? Then what it answers to another one with nonsense is at fault
  /// itself.
  [[nodiscard]] bool takes_another();

  const std::unique_ptr<EtcdStore> store_;
  const EtcdLayout layout_;
  RecentJobs recent_;
};

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/etcd/delivery.h"
#include "returner/etcd/layout.h"
#include "returner/etcd/store.h"
#include "returner/spool/spooled_writer.h"

namespace rest_fcgi::returner {

/// The job cache in an etcd cluster, in the layout of Salt's own etcd returner. Every read finds what was
/// saved through this object before, and what others have in etcd. What is saved has a jid of 20 digits of
/// the years 1100 to 2899; else: invocation. Two things are as with Salt's: `get_fun` knows of each minion
/// its last job alone, and jobs go by their time to live, which etcd looks after.
class EtcdReturner : public Returner {
 public:
  /// Errors: unavailable, where its spool cannot be had; configuration.
  [[nodiscard]] static Result<std::unique_ptr<Returner>> open(const Options& options, const Clock& clock);

  /// The same over given stores, for tests.
  [[nodiscard]] static Result<std::unique_ptr<Returner>> over(const Options& options, const Clock& clock,
                                                              std::unique_ptr<EtcdStore> writing,
                                                              std::unique_ptr<EtcdStore> reading);

  /// The claim lasts for an hour, or until the job is gone.
  [[nodiscard]] Result<bool> prep_jid(std::string_view passed_jid) override;
  Result<void> save_load(Load load, Durability durability) override;
  Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) override;
  Result<void> returner(std::string_view jid, JobReturn ret) override;
  [[nodiscard]] Result<std::optional<Load>> get_load(std::string_view jid) const override;
  [[nodiscard]] Result<std::vector<JobReturn>> get_jid(std::string_view jid) const override;
  [[nodiscard]] Result<std::vector<FunctionReturn>> get_fun(std::string_view fun) const override;
  [[nodiscard]] Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const override;
  [[nodiscard]] Result<std::vector<std::string>> get_minions() const override;
  Result<void> flush() override { return writer_->settle(); }
  /// Nothing: `etcd.ttl` says how long jobs are kept, and etcd itself drops them.
  Result<std::size_t> clean_old_jobs() override { return std::size_t{0}; }

 private:
  EtcdReturner(const Options& options, const Clock& clock, std::unique_ptr<EtcdStore> reading)
      : options_(options.etcd), clock_(clock), layout_(options.etcd), reading_(std::move(reading)) {}

  Result<void> append(std::string_view record, Durability durability);
  /// Later than any before, however often the clock is asked, or set back.
  [[nodiscard]] WallTime next_stamp();
  [[nodiscard]] Error failure(const Error& cause) const { return writer_->failure(cause); }
  [[nodiscard]] Result<std::vector<FunctionReturn>> returns_of(std::vector<FunctionReturn> wanted) const;

  const EtcdOptions options_;
  const Clock& clock_;
  const EtcdLayout layout_;
  std::string claimant_;  // nobody else's
  std::atomic<std::uint64_t> claims_{0};
  std::atomic<std::int64_t> last_stamp_{0};
  const std::unique_ptr<EtcdStore> reading_;
  std::unique_ptr<SpooledWriter> writer_;
  EtcdSink* sink_ = nullptr;  // the writer's
};

}  // namespace rest_fcgi::returner

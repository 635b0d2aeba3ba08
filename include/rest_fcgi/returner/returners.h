// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/options.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::returner {

/// Asks an etcd cluster whether it has the API version that `etcd.require_v2` selects. If the API is missing
/// or a TLS file cannot be read, returns an error that says what to do. Returns std::nullopt in all other
/// cases, for example if etcd is not used or no member answers in time.
[[nodiscard]] std::optional<Error> missing_etcd_api(const EtcdOptions& options, SteadyTime deadline);

/// Asks the etcd cluster that stores tokens (`eauth_tokens: etcd`) whether it has API v3. Returns an error
/// if API v3 is missing, and std::nullopt in all other cases.
[[nodiscard]] std::optional<Error> missing_etcd_api_of_tokens(const etcd::Options& options,
                                                              SteadyTime deadline);

/// Returns a health check for an etcd cluster. With API v3, the check asks for a put below the key `root`
/// whose condition is false. etcd puts nothing, but refuses the request if it accepts no puts: without a
/// majority of the members, without permission, or above its quota (NOSPACE). With API v2, the check reads a
/// key. Only one thread at a time may call the check.
[[nodiscard]] std::function<Result<void>(SteadyTime deadline)> make_etcd_probe(etcd::Options options,
                                                                               bool uses_v2,
                                                                               std::string root);

/// Counts for the metrics how many jobs and returns a process writes to its job caches. Thread-safe.
class WriteCounts {
 public:
  enum class What { job, one_return };

  void note(What what, const Result<void>& written) noexcept {
    counts_[index(what, written.ok())].fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t stored(What what) const noexcept { return counts_[index(what, true)]; }
  [[nodiscard]] std::uint64_t failed(What what) const noexcept { return counts_[index(what, false)]; }

 private:
  static std::size_t index(What what, bool is_stored) noexcept {
    return (what == What::job ? 0U : 2U) + (is_stored ? 1U : 0U);
  }
  std::array<std::atomic<std::uint64_t>, 4> counts_{};
};

/// All job caches of a process. Finds a job cache by its name. Thread-safe.
class Returners {
 public:
  /// Opens the job caches that the options name. The job cache `sqlite3` uses `store`. Errors: configuration,
  /// if a name is unknown or a job cache cannot be opened.
  static Result<std::unique_ptr<Returners>> make(const Options& options,
                                                 const std::shared_ptr<store::Store>& store,
                                                 const Clock& clock);

  [[nodiscard]] static std::unique_ptr<Returners> of(std::string name, std::unique_ptr<Returner> cache);

  /// Returns Salt's `master_job_cache`, which the `jobs` runners read.
  [[nodiscard]] Returner& master_job_cache() const noexcept { return *master_job_cache_; }

  /// Returns the job caches of Salt's `ext_job_cache`, which get a copy of each job and return.
  [[nodiscard]] const std::vector<Returner*>& ext_job_caches() const noexcept { return ext_job_caches_; }

  /// Returns the job cache `name`, or null for an unknown name. `sqlite` is another name of `sqlite3`.
  [[nodiscard]] Returner* find(std::string_view name) const;

  [[nodiscard]] std::vector<std::string> names() const;

  /// Returns the counters of writes. A caller that writes to a job cache must call `note` of the counters.
  [[nodiscard]] WriteCounts& writes() const noexcept { return *writes_; }

  Result<void> flush() const;

 private:
  Returners() = default;
  Result<void> open(const Options& options, const std::shared_ptr<store::Store>& store, const Clock& clock);

  std::map<std::string, std::unique_ptr<Returner>, std::less<>> by_name_;
  Returner* master_job_cache_ = nullptr;
  std::vector<Returner*> ext_job_caches_;
  const std::unique_ptr<WriteCounts> writes_ = std::make_unique<WriteCounts>();
};

}  // namespace rest_fcgi::returner

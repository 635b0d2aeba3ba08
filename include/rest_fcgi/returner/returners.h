// SPDX-License-Identifier: MIT
#pragma once

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

/// Asks an etcd cluster whether it has the API of `etcd.require_v2`. Returns what is wrong and what to do,
/// also for a file of TLS that cannot be read. Absent: it has that API, etcd is not chosen, or no member
/// answers before the deadline.
[[nodiscard]] std::optional<std::string> missing_etcd_api(const EtcdOptions& options, SteadyTime deadline);

/// The same for the cluster of `eauth_tokens: etcd`, which needs API v3.
[[nodiscard]] std::optional<std::string> missing_etcd_api_of_tokens(const etcd::Options& options,
                                                                    SteadyTime deadline);

/// Returns a function that asks an etcd cluster to read a key, which needs a majority of its members. Errors:
/// those of `etcd::Client`. The function is for one thread at a time.
[[nodiscard]] std::function<Result<void>(SteadyTime deadline)> make_etcd_probe(etcd::Options options,
                                                                               bool uses_v2);

/// The job caches of one process, by name. Thread-safe.
class Returners {
 public:
  /// Opens the caches that the options name, and `sqlite3`, which keeps jobs in `store`. Errors:
  /// configuration, for an unknown name, and for a cache that cannot be opened.
  [[nodiscard]] static Result<std::unique_ptr<Returners>> make(const Options& options,
                                                               const std::shared_ptr<store::Store>& store,
                                                               const Clock& clock);

  /// Makes one of a given cache, for tests.
  [[nodiscard]] static std::unique_ptr<Returners> of(std::string name, std::unique_ptr<Returner> cache);

  /// Returns Salt's `master_job_cache`, which the `jobs` runners read.
  [[nodiscard]] Returner& master_job_cache() const noexcept { return *master_job_cache_; }

  /// Returns Salt's `ext_job_cache`: caches that get all returns, too.
  [[nodiscard]] const std::vector<Returner*>& ext_job_caches() const noexcept { return ext_job_caches_; }

  /// Null for an unknown name. `sqlite` is another name of `sqlite3`.
  [[nodiscard]] Returner* find(std::string_view name) const;

  [[nodiscard]] std::vector<std::string> names() const;

  /// Flushes all caches. Errors: unavailable, of the first that failed.
  [[nodiscard]] Result<void> flush() const;

 private:
  Returners() = default;
  [[nodiscard]] Result<void> open(const Options& options, const std::shared_ptr<store::Store>& store,
                                  const Clock& clock);

  std::map<std::string, std::unique_ptr<Returner>, std::less<>> by_name_;
  Returner* master_job_cache_ = nullptr;   // one of by_name_
  std::vector<Returner*> ext_job_caches_;  // some of by_name_
};

}  // namespace rest_fcgi::returner

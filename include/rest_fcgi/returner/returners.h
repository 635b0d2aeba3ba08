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

/// Asks an etcd cluster whether it has the API that `etcd.require_v2` selects. If not, or if a TLS file
/// cannot be read, returns a message about the problem and what to do. Returns absent if the cluster has this
/// API, if etcd is not used, or if no member answers before the deadline.
[[nodiscard]] std::optional<std::string> missing_etcd_api(const EtcdOptions& options, SteadyTime deadline);

/// Asks the cluster of `eauth_tokens: etcd` whether it has API v3, which tokens need. Returns the same
/// results as `missing_etcd_api`.
[[nodiscard]] std::optional<std::string> missing_etcd_api_of_tokens(const etcd::Options& options,
                                                                    SteadyTime deadline);

/// Returns a health check for an etcd cluster. The check reads a key, which succeeds only if a majority of
/// the members works. Errors of the check: those of `etcd::Client`. Only one thread at a time may call it.
[[nodiscard]] std::function<Result<void>(SteadyTime deadline)> make_etcd_probe(etcd::Options options,
                                                                               bool uses_v2);

/// Owns the job caches of a process and finds them by name. Thread-safe.
class Returners {
 public:
  /// Opens the job caches that the options name. Always opens `sqlite3`, too, which stores jobs in `store`.
  /// Errors: configuration, if a name is unknown or a job cache cannot be opened.
  [[nodiscard]] static Result<std::unique_ptr<Returners>> make(const Options& options,
                                                               const std::shared_ptr<store::Store>& store,
                                                               const Clock& clock);

  /// Makes a Returners object with one given job cache, for tests.
  [[nodiscard]] static std::unique_ptr<Returners> of(std::string name, std::unique_ptr<Returner> cache);

  /// Returns Salt's `master_job_cache`, which the `jobs` runners read.
  [[nodiscard]] Returner& master_job_cache() const noexcept { return *master_job_cache_; }

  /// Returns the job caches of Salt's `ext_job_cache`, which also get all jobs and returns.
  [[nodiscard]] const std::vector<Returner*>& ext_job_caches() const noexcept { return ext_job_caches_; }

  /// Returns the job cache with this name, or null for an unknown name. `sqlite` is another name of
  /// `sqlite3`.
  [[nodiscard]] Returner* find(std::string_view name) const;

  [[nodiscard]] std::vector<std::string> names() const;

  /// Flushes all job caches. If caches fail, returns the error of the first one. Errors: unavailable.
  [[nodiscard]] Result<void> flush() const;

 private:
  Returners() = default;
  [[nodiscard]] Result<void> open(const Options& options, const std::shared_ptr<store::Store>& store,
                                  const Clock& clock);

  std::map<std::string, std::unique_ptr<Returner>, std::less<>> by_name_;
  Returner* master_job_cache_ = nullptr;   // points into by_name_
  std::vector<Returner*> ext_job_caches_;  // these point into by_name_
};

}  // namespace rest_fcgi::returner

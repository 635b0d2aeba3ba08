// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "master/embedded/jobs/jobs.h"
#include "master/embedded/minion.h"
#include "master/embedded/modules/loader.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/lowstate/master_arguments.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::embedded {

/// The public keys that `key.gen_accept` made. The keys count as accepted, but minions of this process do not
/// use them. Thread-safe.
class GeneratedKeys {
 public:
  static constexpr std::size_t kMaxKeys = 1000;

  using Keys = std::map<std::string, std::string, std::less<>>;  ///< Maps minion ids to public keys in PEM.

  enum class Added { yes, exists, full };

  Added add(std::string_view id, std::string pub, bool force) {
    const MutexLock lock(mutex_);
    const auto found = keys_.find(id);
    if (found == keys_.end() && keys_.size() >= kMaxKeys) return Added::full;
    if (found != keys_.end() && !force) return Added::exists;
    keys_.insert_or_assign(std::string(id), std::move(pub));
    return Added::yes;
  }

  void remove(std::string_view id) {
    const MutexLock lock(mutex_);
    if (const auto found = keys_.find(id); found != keys_.end()) keys_.erase(found);
  }

  [[nodiscard]] Keys all() const {
    const MutexLock lock(mutex_);
    return keys_;
  }

 private:
  mutable Mutex mutex_;
  Keys keys_ GUARDED_BY(mutex_);
};

/// The data of one configuration that runners and wheels use. The data may outlive the master that made it.
/// Immutable.
struct MasterData {
  std::shared_ptr<const Minions> minions;
  std::shared_ptr<const Modules> modules;
  Json config_values;                   ///< `config_values` is the return of the wheel `config.values`.
  std::shared_ptr<GeneratedKeys> keys;  ///< `keys` are the generated keys. All configurations share them.
};

/// The data, the jobs and the stop token for the call of a runner or wheel. Borrows them.
struct MasterContext {
  const MasterData& data;
  Jobs& jobs;
  const std::stop_token& stop;

  [[nodiscard]] const Minions& minions() const { return *data.minions; }
};

struct MasterFunction {
  /// The function's definition in Python: `manage.up(tgt='*', tgt_type='glob')`. The function gets null for a
  /// missing argument, and not the default.
  std::string_view usage;
  std::string_view summary;  ///< The documentation that `doc.runner` and `doc.wheel` show.
  Result<Json> (*run)(const MasterContext& context, const BoundArguments& arguments) = nullptr;
  bool is_quick = true;    ///< `is_quick` says whether the thread of a request may run the function.
  bool is_secret = false;  ///< `is_secret` says that no job cache may get the return.

  [[nodiscard]] constexpr std::string_view name() const { return usage.substr(0, usage.find('(')); }

  /// Returns whether the function accepts the keyword. A client's keyword such as `timeout`
  /// (`lowstate::is_client_key`) is accepted only if it is a parameter of the function.
  [[nodiscard]] bool gets_keyword(std::string_view key, bool is_runner) const;

  /// Assigns arguments to parameters. Fails with `invocation` and Python's text about wrong arguments.
  Result<BoundArguments> bind(const lowstate::MasterArguments& arguments) const;
};

using MasterFunctions = std::span<const MasterFunction>;
[[nodiscard]] MasterFunctions jobs_runners();
/// Returns the runners of all modules except `jobs`.
[[nodiscard]] MasterFunctions other_runners();
[[nodiscard]] MasterFunctions wheels();

[[nodiscard]] const MasterFunction* find_runner(std::string_view name);
[[nodiscard]] const MasterFunction* find_wheel(std::string_view name);

[[nodiscard]] bool takes_target(const BoundArguments& arguments);

/// Returns the target that the arguments `tgt` and `tgt_type` describe. Without these arguments, returns a
/// target of all minions. The target borrows the arguments. Fails with `invocation` for a wrong type.
/// REQUIRES: `takes_target` returns true.
Result<lowstate::Target> target_of(const BoundArguments& arguments);

struct StoredJob {
  returner::Load load;
  std::vector<returner::JobReturn> returns;
};

/// Returns the job cache in the argument `ext_source`. Without the argument, returns `master_job_cache`.
/// Fails with `invocation`.
Result<const returner::Returner*> find_source(const Jobs& jobs, const BoundArguments& arguments);

/// Returns the texts of a list, or the items of a comma-separated text.
[[nodiscard]] std::vector<std::string> texts_in(JsonValue value);

/// Writes the members that all runners show about a job into a JSON object that the caller has begun.
void write_description(JsonWriter& writer, const returner::Load& load);
void write_start_time(JsonWriter& writer, std::string_view jid);

/// Returns the object that `jobs.print_job` shows. `job` is absent for an unknown job.
[[nodiscard]] Json printed_job(const std::string& jid, const std::optional<StoredJob>& job);

/// Returns `data` with the name of an outputter, or `data` alone if `outputter` is empty.
[[nodiscard]] Json with_outputter(std::string_view outputter, Json data);

// These functions search for jobs. A search fails after 5 seconds, or if its result is too large.
Result<Json> list_jobs(const MasterContext& context, const BoundArguments& arguments);
Result<Json> list_jobs_filter(const MasterContext& context, const BoundArguments& arguments);
Result<Json> last_run(const MasterContext& context, const BoundArguments& arguments);

/// Parses a time in UTC for `jobs.list_jobs`: a jid, `YYYY-MM-DD` or `YYYY, Mon DD`. A date may have `HH:MM`,
/// `HH:MM:SS` or `HH:MM:SS.ffffff`.
[[nodiscard]] std::optional<WallTime> parse_time(std::string_view text);

}  // namespace rest_fcgi::embedded

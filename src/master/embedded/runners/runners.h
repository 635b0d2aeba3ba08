// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
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
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/lowstate/master_arguments.h"
#include "rest_fcgi/returner/returner.h"

/// Runners and wheels: functions that run on the master.
namespace rest_fcgi::embedded {

/// The public keys that `key.gen_accept` made. They count as accepted, but nothing uses them: minions of this
/// process need no keys. They are lost when the process ends. Thread-safe.
class GeneratedKeys {
 public:
  static constexpr std::size_t kMaxKeys = 1000;

  using Keys = std::map<std::string, std::string, std::less<>>;  ///< PEM by minion id

  enum class Added { yes, exists, full };

  /// Replaces an existing key only with `force`.
  Added add(std::string_view id, std::string pub, bool force) {
    const std::lock_guard lock(mutex_);
    const auto found = keys_.find(id);
    if (found == keys_.end() && keys_.size() >= kMaxKeys) return Added::full;
    if (found != keys_.end() && !force) return Added::exists;
    keys_.insert_or_assign(std::string(id), std::move(pub));
    return Added::yes;
  }

  void remove(std::string_view id) {
    const std::lock_guard lock(mutex_);
    if (const auto found = keys_.find(id); found != keys_.end()) keys_.erase(found);
  }

  [[nodiscard]] Keys all() const {
    const std::lock_guard lock(mutex_);
    return keys_;
  }

 private:
  mutable std::mutex mutex_;
  Keys keys_;  // guarded by mutex_
};

/// The data of one configuration that runners and wheels use. Immutable; shared by the master and the jobs
/// that it started, which may outlive it.
struct MasterData {
  std::shared_ptr<const Minions> minions;
  std::shared_ptr<const Modules> modules;
  Json config_values;                   ///< the return of `config.values`
  std::shared_ptr<GeneratedKeys> keys;  ///< shared by all configurations
};

/// Where a runner or wheel runs. Borrows.
struct MasterContext {
  const MasterData& data;
  Jobs& jobs;
  const std::stop_token& stop;

  [[nodiscard]] const Minions& minions() const { return *data.minions; }
};

/// An entry of the tables of runners and wheels.
struct MasterFunction {
  /// The definition as in Python: `manage.up(tgt='*', tgt_type='glob')`. The function gets null for a
  /// parameter that was not given, and not the default.
  std::string_view usage;
  std::string_view summary;  ///< for `doc.runner` and `doc.wheel`
  /// Errors: of any kind; the caller sees the message.
  Result<Json> (*run)(const MasterContext& context, const BoundArguments& arguments) = nullptr;
  bool is_quick = true;    ///< ends at once
  bool is_secret = false;  ///< its return must not be in a job cache

  /// With its module: `manage.up`.
  [[nodiscard]] constexpr std::string_view name() const { return usage.substr(0, usage.find('(')); }

  /// Returns false for a key of clients (see `lowstate::is_client_key`) that is no parameter of the function.
  [[nodiscard]] bool gets_keyword(std::string_view key, bool is_runner) const;

  /// Errors: invocation, with Python's text for wrong arguments.
  [[nodiscard]] Result<BoundArguments> bind(const lowstate::MasterArguments& arguments) const;
};

using MasterFunctions = std::span<const MasterFunction>;
[[nodiscard]] MasterFunctions jobs_runners();
[[nodiscard]] MasterFunctions other_runners();  ///< cache, doc, manage, state, test
[[nodiscard]] MasterFunctions wheels();

// Both return null for an unknown function.
[[nodiscard]] const MasterFunction* find_runner(std::string_view name);
[[nodiscard]] const MasterFunction* find_wheel(std::string_view name);

/// Returns whether the function of these arguments has a parameter `tgt`.
[[nodiscard]] bool takes_target(const BoundArguments& arguments);

/// Returns the target in the arguments `tgt` and `tgt_type`; all minions if they are missing. Borrows.
/// Errors: invocation, for an unknown type and a `tgt` that is neither text nor list. REQUIRES:
/// `takes_target`.
[[nodiscard]] Result<lowstate::Target> target_of(const BoundArguments& arguments);

// Shared by the runners of `jobs`.

struct StoredJob {
  returner::Load load;
  std::vector<returner::JobReturn> returns;
};

/// Returns the job cache that the argument `ext_source` names, or the one of `master_job_cache`. Errors:
/// invocation.
[[nodiscard]] Result<const returner::Returner*> find_source(const Jobs& jobs,
                                                            const BoundArguments& arguments);

/// Returns the texts of a list, or those between the commas of a text.
[[nodiscard]] std::vector<std::string> texts_in(JsonValue value);

/// Writes the members that all runners show of a job into an open object.
void write_description(JsonWriter& writer, const returner::Load& load);
void write_start_time(JsonWriter& writer, std::string_view jid);

/// Returns what `jobs.print_job` shows. `job`: absent for an unknown job.
[[nodiscard]] Json printed_job(const std::string& jid, const std::optional<StoredJob>& job);

/// Returns `data` with the name of an outputter, if there is one.
[[nodiscard]] Json with_outputter(std::string_view outputter, Json data);

// Each search ends after a few seconds with an error, and so does one whose result is too large.
[[nodiscard]] Result<Json> list_jobs(const MasterContext& context, const BoundArguments& arguments);
[[nodiscard]] Result<Json> list_jobs_filter(const MasterContext& context, const BoundArguments& arguments);
[[nodiscard]] Result<Json> last_run(const MasterContext& context, const BoundArguments& arguments);

/// Parses a time in UTC of `jobs.list_jobs`: a jid, `YYYY-MM-DD` or `YYYY, Mon DD`, the latter two also with
/// `HH:MM`, `HH:MM:SS` or `HH:MM:SS.ffffff`.
[[nodiscard]] std::optional<WallTime> parse_time(std::string_view text);

}  // namespace rest_fcgi::embedded

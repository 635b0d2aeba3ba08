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

/// Runners and wheels, which are functions that run on the master.
namespace rest_fcgi::embedded {

/// The public keys that `key.gen_accept` made. The keys count as accepted. They are not used, because minions
/// of this process need no keys. They are lost when the process ends. Thread-safe.
class GeneratedKeys {
 public:
  static constexpr std::size_t kMaxKeys = 1000;

  using Keys = std::map<std::string, std::string, std::less<>>;  ///< public keys in PEM, by minion id

  enum class Added { yes, exists, full };

  /// Adds a key. If the minion has a key already, replaces it only if `force` is true.
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

/// The data of one configuration that runners and wheels use. Immutable. The master shares the data with the
/// jobs that it started, which may outlive the master.
struct MasterData {
  std::shared_ptr<const Minions> minions;
  std::shared_ptr<const Modules> modules;
  Json config_values;                   ///< the return of the wheel `config.values`
  std::shared_ptr<GeneratedKeys> keys;  ///< all configurations share these keys
};

/// The data and the stop token of a call of a runner or wheel. Borrows them.
struct MasterContext {
  const MasterData& data;
  Jobs& jobs;
  const std::stop_token& stop;

  [[nodiscard]] const Minions& minions() const { return *data.minions; }
};

/// An entry in the tables of runners and wheels.
struct MasterFunction {
  /// The definition as in Python: `manage.up(tgt='*', tgt_type='glob')`. If an argument is missing, the
  /// function gets null and not the default.
  std::string_view usage;
  std::string_view summary;  ///< the documentation that `doc.runner` and `doc.wheel` show
  /// Runs the function. Errors: of any kind; the caller sees the message.
  Result<Json> (*run)(const MasterContext& context, const BoundArguments& arguments) = nullptr;
  bool is_quick = true;    ///< whether the function ends at once
  bool is_secret = false;  ///< true if the return must not be in a job cache

  /// Returns the name with its module: `manage.up`.
  [[nodiscard]] constexpr std::string_view name() const { return usage.substr(0, usage.find('(')); }

  /// Returns whether the function gets the keyword. Returns false for a keyword of clients (see
  /// `lowstate::is_client_key`) that is no parameter of the function.
  [[nodiscard]] bool gets_keyword(std::string_view key, bool is_runner) const;

  /// Assigns arguments to parameters. Errors: invocation, with Python's text about wrong arguments.
  [[nodiscard]] Result<BoundArguments> bind(const lowstate::MasterArguments& arguments) const;
};

using MasterFunctions = std::span<const MasterFunction>;
[[nodiscard]] MasterFunctions jobs_runners();
[[nodiscard]] MasterFunctions other_runners();  ///< the runners of cache, doc, manage, state and test
[[nodiscard]] MasterFunctions wheels();

// Both functions return null for an unknown name.
[[nodiscard]] const MasterFunction* find_runner(std::string_view name);
[[nodiscard]] const MasterFunction* find_wheel(std::string_view name);

/// Returns whether the function to which these arguments belong has a parameter `tgt`.
[[nodiscard]] bool takes_target(const BoundArguments& arguments);

/// Returns the target in the arguments `tgt` and `tgt_type`, or all minions if the arguments are missing.
/// Borrows the arguments. Errors: invocation, for an unknown type, and for a `tgt` that is neither a text nor
/// a list. REQUIRES: `takes_target`.
[[nodiscard]] Result<lowstate::Target> target_of(const BoundArguments& arguments);

// The functions below are used by several runners of `jobs`.

struct StoredJob {
  returner::Load load;
  std::vector<returner::JobReturn> returns;
};

/// Returns the job cache that the argument `ext_source` names. Without this argument, returns the job cache
/// of the setting `master_job_cache`. Errors: invocation.
[[nodiscard]] Result<const returner::Returner*> find_source(const Jobs& jobs,
                                                            const BoundArguments& arguments);

/// Returns the texts of a list. If `value` is a text, returns its parts between commas.
[[nodiscard]] std::vector<std::string> texts_in(JsonValue value);

/// Writes the members that all runners show about a job, as members of an open object.
void write_description(JsonWriter& writer, const returner::Load& load);
void write_start_time(JsonWriter& writer, std::string_view jid);

/// Returns the object that `jobs.print_job` shows. `job` is absent if the job is unknown.
[[nodiscard]] Json printed_job(const std::string& jid, const std::optional<StoredJob>& job);

/// Returns `data` with the name of an outputter. If `outputter` is empty, returns `data` alone.
[[nodiscard]] Json with_outputter(std::string_view outputter, Json data);

// Each of these searches takes at most a few seconds. A longer search, and a search with a too large result,
// ends with an error.
[[nodiscard]] Result<Json> list_jobs(const MasterContext& context, const BoundArguments& arguments);
[[nodiscard]] Result<Json> list_jobs_filter(const MasterContext& context, const BoundArguments& arguments);
[[nodiscard]] Result<Json> last_run(const MasterContext& context, const BoundArguments& arguments);

/// Parses a time in UTC for `jobs.list_jobs`. The text is a jid, `YYYY-MM-DD` or `YYYY, Mon DD`. The latter
/// two may be followed by `HH:MM`, `HH:MM:SS` or `HH:MM:SS.ffffff`.
[[nodiscard]] std::optional<WallTime> parse_time(std::string_view text);

}  // namespace rest_fcgi::embedded

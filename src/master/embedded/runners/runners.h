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

/// Functions that run on the master: runners and wheels.
namespace rest_fcgi::embedded {

/// The public halves of the keys that `key.gen_accept` made. They count as accepted, as on a Salt master, and
/// nothing more comes of them: minions of this process need no keys. Bounded, since callers name them; gone
/// with the process. Thread-safe.
class MadeKeys {
 public:
  static constexpr std::size_t kMost = 1000;

  using All = std::map<std::string, std::string, std::less<>>;  ///< PEM, by id

  enum class Added { yes, exists, full };

  /// Of a minion that has one already only where `force` is.
  Added add(std::string_view id, std::string pub, bool force) {
    const std::lock_guard lock(mutex_);
    const auto found = keys_.find(id);
    if (found == keys_.end() && keys_.size() >= kMost) return Added::full;
    if (found != keys_.end() && !force) return Added::exists;
    keys_.insert_or_assign(std::string(id), std::move(pub));
    return Added::yes;
  }

  void remove(std::string_view id) {
    const std::lock_guard lock(mutex_);
    if (const auto found = keys_.find(id); found != keys_.end()) keys_.erase(found);
  }

  [[nodiscard]] All all() const {
    const std::lock_guard lock(mutex_);
    return keys_;
  }

 private:
  mutable std::mutex mutex_;
  All keys_;  // guarded by mutex_
};

/// What functions on the master see of one configuration. Immutable; shared by the master and by the jobs
/// that it started, which may outlive it.
struct MasterFacts {
  std::shared_ptr<const Minions> minions;
  std::shared_ptr<const Modules> modules;
  Json config_values;              ///< what `config.values` shows
  std::shared_ptr<MadeKeys> keys;  ///< of the runtime: other configurations go on with them
};

/// What a function on the master works with. Borrows.
struct MasterContext {
  const Minions& minions;
  const Modules& modules;
  const Json& config_values;
  MadeKeys& keys;
  Jobs& jobs;
  const std::stop_token& stop;
};

/// One runner or wheel, as its table lists it.
struct MasterFunction {
  /// How it is called, as Python would define it: `manage.up(tgt='*', tgt_type='glob')`. Its name and its
  /// parameters are read from here: those with a default may be left out, and `*args, **kwargs` takes
  /// whatever comes. The function sees null for what the caller left out, not the default.
  std::string_view usage;
  std::string_view summary;  ///< what it does, for `doc.runner` and `doc.wheel`
  /// Errors: of any kind; the sentence is what the caller gets to see.
  Result<Json> (*run)(const MasterContext& context, const BoundArguments& arguments) = nullptr;
  bool quick = true;    ///< ends at once
  bool secret = false;  ///< what it returns is for its caller alone, and must be in no job cache

  /// With its module: `manage.up`.
  [[nodiscard]] constexpr std::string_view name() const { return usage.substr(0, usage.find('(')); }

  /// Returns whether a keyword argument reaches the function. Keys of clients that it has no parameter for do
  /// not, see `lowstate::is_client_key`; others it does not know are an error for `bind`.
  [[nodiscard]] bool gets_keyword(std::string_view key, bool is_runner) const;

  /// Errors: invocation, in the words in which Python complains about arguments that do not fit.
  [[nodiscard]] Result<BoundArguments> bind(const lowstate::MasterArguments& arguments) const;
};

using MasterFunctions = std::span<const MasterFunction>;
[[nodiscard]] MasterFunctions jobs_runners();
[[nodiscard]] MasterFunctions other_runners();  ///< cache, doc, manage, state, test
[[nodiscard]] MasterFunctions wheels();

/// Returns whether a runner that was given these arguments takes a target.
[[nodiscard]] bool takes_target(const BoundArguments& arguments);

/// The target that the arguments `tgt` and `tgt_type` say; left out, that is all minions. Borrows. Errors:
/// invocation, for a type that there is not, and for a `tgt` that is neither a text nor a list.
/// REQUIRES: `takes_target`.
[[nodiscard]] Result<lowstate::Target> target_of(const BoundArguments& arguments);

/// Null where there is no such runner.
[[nodiscard]] const MasterFunction* find_runner(std::string_view name);

/// Null where there is no such wheel.
[[nodiscard]] const MasterFunction* find_wheel(std::string_view name);

// The parts of the `jobs` runners: those about one job, and those that search the job cache, show jobs in the
// same words.

/// A job as the job cache keeps it.
struct StoredJob {
  returner::Load load;
  std::vector<returner::JobReturn> returns;
};

/// The job cache that `ext_source` names; left out, it is the one of `master_job_cache`.
/// Errors: invocation, naming those that are here.
[[nodiscard]] Result<const returner::Returner*> source_named(const Jobs& jobs, JsonValue ext_source);

/// The texts of a list, or what stands between the commas of a text.
[[nodiscard]] std::vector<std::string> texts_in(JsonValue value);

/// Writes the members Function, Arguments, Target, Target-type, User and Metadata into an object that is
/// open.
void write_description(JsonWriter& writer, const returner::Load& load);

/// Same for StartTime.
void write_start_time(JsonWriter& writer, std::string_view jid);

/// What `jobs.print_job` shows; absent is a job that is not kept.
[[nodiscard]] Json printed(const std::string& jid, const std::optional<StoredJob>& job);

/// `data` as it is, or below the name of the outputter that is to show it, where that is not empty.
[[nodiscard]] Json with_outputter(std::string_view outputter, Json data);

// The runners that search: each ends after a few seconds, and when what it found is too much to be returned.
// Patterns and what they are compared with both come from callers, who can make a search costly.
[[nodiscard]] Result<Json> list_jobs(const MasterContext& context, const BoundArguments& arguments);
[[nodiscard]] Result<Json> list_jobs_filter(const MasterContext& context, const BoundArguments& arguments);
[[nodiscard]] Result<Json> last_run(const MasterContext& context, const BoundArguments& arguments);

/// What `parse_time` reads, for a message.
inline constexpr std::string_view kTimeForms =
    "a jid, 'YYYY-MM-DD' or 'YYYY, Mon DD', each of the latter also with 'HH:MM', 'HH:MM:SS' or "
    "'HH:MM:SS.ffffff' behind";

/// A point in time in UTC, as callers name it to `jobs.list_jobs`; absent where the text has none of
/// `kTimeForms`.
[[nodiscard]] std::optional<WallTime> parse_time(std::string_view text);

}  // namespace rest_fcgi::embedded

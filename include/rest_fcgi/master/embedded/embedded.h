// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rest_fcgi/auth/authenticator.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/embedded/options.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/job_observer.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/master/workers.h"
#include "rest_fcgi/returner/returners.h"
#include "rest_fcgi/store/store.h"

/// The engine `embedded`, which runs minions inside this process, without Salt.
namespace rest_fcgi::embedded {

/// A part of a rule of `external_auth` that has no effect: its function does not exist, or its target matches
/// no minion.
struct UnmatchedRulePart {
  std::string place;               ///< `place` locates the rule: `FILE:LINE: external_auth: BACK END: USER`.
  std::string text;                ///< `text` is the function or target of the rule, as in the file.
  std::string what;                ///< `what` is the problem, such as `no function has such a name`.
  std::vector<std::string> names;  ///< `names` are existing names that the rule may have meant.
};

class GeneratedKeys;
class Jobs;
struct MasterData;

/// The state of the engine `embedded` that outlives a reload of the configuration. Thread-safe.
class Runtime {
 public:
  Runtime(const Options& options, std::shared_ptr<Jobs> jobs);

  /// Reports each job of this process to `observer`. REQUIRES: the runtime has no jobs yet.
  void observe(std::shared_ptr<master::JobObserver> observer);

  /// Returns the counters of the writes to the job caches.
  [[nodiscard]] const returner::WriteCounts& writes() const;

  /// Announces the minions that were added or removed since the last call. REQUIRES: the latest master serves
  /// requests.
  void announce_minions();

  /// Returns the parts of rules that match no function or minion of the latest master. May start Python to
  /// list the functions of installed modules, and then blocks. REQUIRES: the latest master was made with
  /// these rules and still exists.
  [[nodiscard]] std::vector<UnmatchedRulePart> unmatched_rule_parts(
      const std::vector<auth::EauthOptions>& external_auth) const;

  /// Refuses new jobs, and waits for the running calls until `deadline`. Then records each remaining call as
  /// interrupted, asks it to stop, and returns the number of these calls. REQUIRES: `shutdown` is called only
  /// once.
  std::size_t shutdown(SteadyTime deadline);

  // The masters of this runtime use the following members.
  void set_data(const std::shared_ptr<const MasterData>& data);
  [[nodiscard]] const std::shared_ptr<Jobs>& jobs() const noexcept { return jobs_; }
  [[nodiscard]] const std::shared_ptr<GeneratedKeys>& keys() const noexcept { return keys_; }
  [[nodiscard]] master::Workers& workers() noexcept { return workers_; }

 private:
  const std::shared_ptr<Jobs> jobs_;
  const std::shared_ptr<GeneratedKeys> keys_;
  mutable Mutex mutex_;
  std::weak_ptr<const MasterData> data_ GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> minions_ GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> started_ GUARDED_BY(mutex_);
  master::Workers workers_;  // Is destroyed first, because the tasks on the worker threads use `jobs_`.
};

/// Makes a runtime. Processes that share `store` see the jobs of all these processes.
[[nodiscard]] std::shared_ptr<Runtime> make_runtime(const Options& options,
                                                    std::unique_ptr<returner::Returners> returners,
                                                    const std::shared_ptr<store::Store>& store,
                                                    const Clock& clock,
                                                    master::JidReserve reserve_jids = nullptr);

/// Makes a master that uses `runtime`. A reload makes a new master with the same runtime, and running jobs
/// continue. Fails with `configuration`, for example for a duplicate minion or a wrong target.
Result<std::shared_ptr<master::Master>> make_master(const Options& options,
                                                    std::unique_ptr<auth::Authenticator> authenticator,
                                                    std::unique_ptr<auth::Permissions> permissions,
                                                    std::shared_ptr<Runtime> runtime);

/// The question of the option `--explain`: may a user call a function on a target?
struct Question {
  std::string eauth;  ///< `eauth` is the back end of the user. If it is empty, all back ends are explained.
  std::string user;
  std::string fun;
  std::string tgt;  ///< `tgt` is a compound target. For a runner or wheel, `tgt` is `@runner` or `@wheel`.
};

struct Explanation {
  /// Whether a rule of at least one eauth back end allows the call if it has no arguments.
  bool allowed = false;
  std::string text;
};

/// Explains for each eauth back end which rules of `external_auth` allow a call. For the back end `pam`, uses
/// the groups that the user has on this host. Fails with `configuration`, or with `invocation` for a wrong
/// target.
Result<Explanation> explain(const Options& options, const auth::Options& auth, const Question& question);

}  // namespace rest_fcgi::embedded

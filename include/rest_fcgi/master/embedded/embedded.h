// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rest_fcgi/auth/authenticator.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/embedded/options.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/job_observer.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returners.h"
#include "rest_fcgi/store/store.h"

/// The embedded engine: minions in this process, without Salt.
namespace rest_fcgi::embedded {

/// A function or target in a rule of `external_auth` that matches no function or minion.
struct UnmatchedRulePart {
  std::string place;               ///< `FILE:LINE: external_auth: BACK END: USER`
  std::string text;                ///< as in the file
  std::string what;                ///< what is missing
  std::vector<std::string> names;  ///< existing names, one of which may have been meant
};

/// The parts of the engine that outlive a reload of the configuration: worker threads, running jobs, job ids,
/// the job cache. Thread-safe.
class Runtime {
 public:
  virtual ~Runtime() = default;

  /// Tells `observer` of each job of this process. Call it before there are jobs.
  virtual void observe(std::shared_ptr<master::JobObserver> observer) = 0;

  /// Announces the minions that the latest master has gained and lost. Call it when that master takes
  /// requests.
  virtual void announce_minions() = 0;

  /// Returns the parts of rules that match no function or minion of the latest master. Functions of modules
  /// that could not be loaded are left out. May start Python and wait for it. REQUIRES: the latest master
  /// lives, and was made with these rules.
  [[nodiscard]] virtual std::vector<UnmatchedRulePart> unmatched_rule_parts(
      const std::vector<auth::EauthOptions>& external_auth) const = 0;

  /// Refuses new jobs, and waits for running calls until `deadline`. Then records those that have not ended
  /// as interrupted, and asks them to stop. Returns their number. Call it once, before the last reference is
  /// dropped.
  virtual std::size_t shutdown(SteadyTime deadline) = 0;
};

/// Makes a runtime. It starts no thread before there is a job. Processes that share `store` see each other's
/// jobs.
[[nodiscard]] std::shared_ptr<Runtime> make_runtime(const Options& options,
                                                    std::unique_ptr<returner::Returners> returners,
                                                    const std::shared_ptr<store::Store>& store,
                                                    const Clock& clock,
                                                    master::JidReserve reserve_jids = nullptr);

/// Makes a master over `runtime`, which all masters of a process share. A reload makes a new master, and jobs
/// go on. Errors: configuration, such as two minions of the same id or a wrong target in `external_auth`.
[[nodiscard]] Result<std::shared_ptr<master::Master>> make_master(
    const Options& options, std::unique_ptr<auth::Authenticator> authenticator,
    std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<Runtime> runtime);

/// A question of `--explain`: may the user call the function?
struct Question {
  std::string user;
  std::string fun;
  std::string tgt;  ///< a compound target, `@runner` or `@wheel`
};

struct Explanation {
  bool allowed = false;  ///< by one back end at least, without arguments
  std::string text;      ///< for people to read
};

/// Explains which rules of `external_auth` allow a call, for each back end. For `pam` the user has the groups
/// of the system. Errors: configuration; invocation, for a wrong target.
[[nodiscard]] Result<Explanation> explain(const Options& options, const auth::Options& auth,
                                          const Question& question);

}  // namespace rest_fcgi::embedded

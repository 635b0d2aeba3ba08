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

/// The engine `embedded`: minions in this process, without Salt.
namespace rest_fcgi::embedded {

/// A function or target in a rule of `external_auth` that matches no function or minion.
struct UnmatchedRulePart {
  std::string place;               ///< place of the rule: `FILE:LINE: external_auth: BACK END: USER`
  std::string text;                ///< the function or target of the rule, as in the file
  std::string what;                ///< words for the message that say what does not exist
  std::vector<std::string> names;  ///< existing names; the rule may have meant one of them
};

/// The parts of the engine that outlive a reload of the configuration: worker threads, running jobs, the
/// source of job ids and the job cache. Thread-safe.
class Runtime {
 public:
  virtual ~Runtime() = default;

  /// Reports each job of this process to `observer`. Call `observe` before there are jobs.
  virtual void observe(std::shared_ptr<master::JobObserver> observer) = 0;

  /// Announces the minions that were added or removed since the last call. Call this function when the latest
  /// master serves requests.
  virtual void announce_minions() = 0;

  /// Returns the parts of rules that match no function or minion of the latest master. Functions of modules
  /// that could not be loaded are not reported. This function may start Python and wait for it. REQUIRES: the
  /// latest master was made with these rules and still exists.
  [[nodiscard]] virtual std::vector<UnmatchedRulePart> unmatched_rule_parts(
      const std::vector<auth::EauthOptions>& external_auth) const = 0;

  /// Refuses new jobs, and waits until the running calls have ended or until `deadline`. Then asks the
  /// remaining calls to stop, and records them as interrupted. Returns the number of these calls. Call
  /// `shutdown` once, before the last reference to the Runtime is released.
  virtual std::size_t shutdown(SteadyTime deadline) = 0;
};

/// Makes a runtime. The runtime starts its threads with the first job. Processes that share `store` see each
/// other's jobs.
[[nodiscard]] std::shared_ptr<Runtime> make_runtime(const Options& options,
                                                    std::unique_ptr<returner::Returners> returners,
                                                    const std::shared_ptr<store::Store>& store,
                                                    const Clock& clock,
                                                    master::JidReserve reserve_jids = nullptr);

/// Makes a master that uses `runtime`. All masters of a process share one runtime: a reload makes a new
/// master, and running jobs continue. Errors: configuration, for example for two minions with the same id or
/// a wrong target in `external_auth`.
[[nodiscard]] Result<std::shared_ptr<master::Master>> make_master(
    const Options& options, std::unique_ptr<auth::Authenticator> authenticator,
    std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<Runtime> runtime);

/// The question of `--explain`: may this user call this function on this target?
struct Question {
  std::string user;
  std::string fun;
  std::string tgt;  ///< a compound target, `@runner` or `@wheel`
};

struct Explanation {
  bool allowed = false;  ///< whether at least one back end allows the call without arguments
  std::string text;      ///< the explanation for a human reader
};

/// Explains for each back end which rules of `external_auth` allow a call. For the back end `pam`, the user's
/// groups are those of this host. Errors: configuration; invocation, for a wrong target.
[[nodiscard]] Result<Explanation> explain(const Options& options, const auth::Options& auth,
                                          const Question& question);

}  // namespace rest_fcgi::embedded

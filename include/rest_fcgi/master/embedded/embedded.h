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
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returners.h"
#include "rest_fcgi/store/store.h"

/// The embedded engine: minions in this process, no Salt needed.
namespace rest_fcgi::embedded {

/// A function or target in a rule of `external_auth` that matches nothing of this engine.
struct IdlePart {
  std::string place;               ///< `FILE:LINE: external_auth: BACK END: USER`
  std::string text;                ///< as it stands there
  std::string what;                ///< what is missing
  std::vector<std::string> names;  ///< what there is in its place, of which one may have been meant
};

/// What outlives a reload of the configuration: worker threads, running jobs, job ids, the job cache.
/// Thread-safe.
class Runtime {
 public:
  virtual ~Runtime() = default;

  /// Tells listeners which minions the latest master has that were not told before, and which it has no more.
  /// To be called when that master is the one that answers.
  virtual void announce_minions() = 0;

  /// Returns the parts of rules that match no function or no minion of the latest master, for administrators.
  /// A function is left out where modules could not be looked into. May start Python and wait for it.
  /// REQUIRES: the latest master lives, and was made with these rules.
  [[nodiscard]] virtual std::vector<IdlePart> idle_parts(
      const std::vector<auth::EauthOptions>& external_auth) const = 0;

  /// Takes no more work, waits for what runs until `deadline`, then asks it to stop and records what did not
  /// end by itself as interrupted. Returns how many calls that were. Call once, before the last reference
  /// goes.
  virtual std::size_t shutdown(SteadyTime deadline) = 0;
};

/// Makes what runs jobs. It starts no thread before there is work for it. Processes that share `store` see
/// each other's jobs.
[[nodiscard]] std::shared_ptr<Runtime> make_runtime(const Options& options,
                                                    std::unique_ptr<returner::Returners> returners,
                                                    const std::shared_ptr<store::Store>& store,
                                                    const Clock& clock,
                                                    master::JidReserve reserve_jids = nullptr);

/// A master over `runtime`, which all masters of one process share: a reload makes a new master, and jobs go
/// on. Errors: configuration, such as two minions of the same id, or a target of `external_auth` that is
/// none.
[[nodiscard]] Result<std::shared_ptr<master::Master>> make_master(
    const Options& options, std::unique_ptr<auth::Authenticator> authenticator,
    std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<Runtime> runtime);

/// One call that somebody asks about; `tgt` is a compound target, or `@runner` or `@wheel`.
struct Question {
  std::string user;
  std::string fun;
  std::string tgt;
};

struct Explanation {
  bool allowed = false;  ///< through one back end at least, and without arguments
  std::string text;      ///< lines for people to read
};

/// What each back end's part of `external_auth` says about a call, with the lines that say it. Groups are
/// those of the system for `pam`; other back ends have none. Errors: configuration; invocation, for a target
/// that is none.
[[nodiscard]] Result<Explanation> explain(const Options& options, const auth::Options& auth,
                                          const Question& question);

}  // namespace rest_fcgi::embedded

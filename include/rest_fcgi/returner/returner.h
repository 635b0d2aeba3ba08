// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/options.h"

namespace rest_fcgi::returner {

/// Salt's load of a job, which says what a caller asked for, without credentials.
struct Load {
  std::string jid;
  Json fun;  ///< a string, or a list of them for compound functions
  Json arg;
  Json tgt;
  std::string tgt_type;
  std::string user;
  std::optional<Json> metadata;
  std::vector<std::string> minions;
};

/// What one minion returned.
struct JobReturn {
  std::string minion;
  Json ret;
  int retcode = 0;
  bool success = true;
  std::string out;
  /// Made for a minion that did not answer: it never replaces a return, and any real return replaces it.
  bool is_placeholder = false;
};

/// A return that borrows its texts.
struct ReturnView {
  std::string_view minion;
  std::string_view ret;  ///< JSON
  int retcode = 0;
  bool success = true;
  std::string_view out;

  [[nodiscard]] JobReturn copy() const {
    return {std::string(minion), Json::trusted(std::string(ret)), retcode, success, std::string(out)};
  }
};
[[nodiscard]] inline ReturnView view_of(const JobReturn& ret) noexcept {
  return {ret.minion, ret.ret.text(), ret.retcode, ret.success, ret.out};
}

/// What a load survives once the call comes back.
enum class Durability {
  committed,  ///< the end of the process
  durable,    ///< a power cut, too
};

/// Which jobs to look at, in the order of their jids, which is that of their times.
struct JobQuery {
  std::string first{};        ///< the least jid; empty: from the oldest job on
  std::string last{};         ///< the greatest jid; empty: up to the newest job
  std::string after{};        ///< only jobs with a greater jid than this one; empty: no bound
  std::string before{};       ///< only jobs with a smaller jid than this one; empty: no bound
  std::string fun{};          ///< only jobs of this one function; empty: of any
  bool newest_first = false;  ///< else oldest first
};

/// Gets one load after the other; returns false to end the walk. Must not call the returner.
using LoadVisitor = std::function<bool(const Load&)>;

class ClusterListener;
class Watch;

/// A job cache, by the names of Salt's returner interface. Abstract because jobs are kept in memory, in
/// SQLite or in etcd. Thread-safe. Failures of every call: unavailable, internal.
class Returner {
 public:
  virtual ~Returner() = default;

  /// Claims a jid that a caller chose. False where it is taken: by a job that is kept, or by another claim.
  /// A jid that was made here need not be claimed: it is new.
  [[nodiscard]] virtual Result<bool> prep_jid(std::string_view passed_jid) = 0;

  /// Keeps a job; a second load of the same jid replaces the first one and keeps its returns.
  virtual Result<void> save_load(Load load, Durability durability) = 0;

  /// Keeps a job together with its returns, or those that came so far.
  virtual Result<void> save_job(const Load& load, std::span<const ReturnView> returns) = 0;

  /// Adds minions to those that the job's load expects to return.
  virtual Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) = 0;

  /// Keeps a return. One for a job that is not (or no longer) kept is dropped. A later return of the same
  /// minion replaces the one before, unless the later one is a placeholder.
  virtual Result<void> returner(std::string_view jid, JobReturn ret) = 0;

  /// A job; absent where it is not kept.
  [[nodiscard]] virtual Result<std::optional<Load>> get_load(std::string_view jid) const = 0;

  /// What returned so far, in the order of the minions' ids; nothing for a job that is not kept.
  [[nodiscard]] virtual Result<std::vector<JobReturn>> get_jid(std::string_view jid) const = 0;

  /// Walks over the loads that the query means; costs what it visits, not what is kept.
  [[nodiscard]] virtual Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const = 0;

  /// Waits until all earlier calls survive a power cut.
  virtual Result<void> flush() = 0;

  /// Tells the listener, which has to outlive it, what everybody does in this job cache; starts nothing so
  /// far. Null where no other host has the same job cache.
  [[nodiscard]] virtual Result<std::unique_ptr<Watch>> watch(ClusterListener& listener);
};

/// Some of the loads that a query means.
struct LoadPage {
  std::vector<Load> loads;
  std::optional<JobQuery> rest;  ///< means those that follow; absent where there are none
};

/// The first `most` loads of a query, or fewer where there are no more. Between two pages nothing is held of
/// the job cache, so that a caller may take time between pages.
/// Errors: those of `get_jids`. REQUIRES: `most` is not 0.
[[nodiscard]] Result<LoadPage> get_page(const Returner& cache, JobQuery query, std::size_t most);

}  // namespace rest_fcgi::returner

// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/minion.h"
#include "master/embedded/target/target_step.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::embedded {

/// A target, ready to be asked about minions. Borrows the texts that it was compiled from. Immutable;
/// thread-safe.
class TargetMatcher {
 public:
  /// Errors: invocation, for a type that the engine does not have, and for an expression that is none, saying
  /// where.
  [[nodiscard]] static Result<TargetMatcher> compile(const lowstate::Target& target,
                                                     const Nodegroups& nodegroups);

  /// Same for a compound expression, such as the rules of `external_auth` hold.
  [[nodiscard]] static Result<TargetMatcher> compile_compound(std::string_view expression,
                                                              const Nodegroups& nodegroups);

  [[nodiscard]] bool matches(const Minion& minion) const;

 private:
  explicit TargetMatcher(std::vector<target::Step> steps) : steps_(std::move(steps)) {}

  std::vector<target::Step> steps_;
};

/// The minions that a target means.
struct Selection {
  std::vector<std::size_t> positions;  ///< in `Minions::all()`, ascending, each once
  std::vector<std::string> missing;    ///< ids of a list that no minion has, in its order, each once
};

/// Errors: as TargetMatcher::compile.
[[nodiscard]] Result<Selection> select(const Minions& minions, const lowstate::Target& target);

/// Those of `minions` that `ids` names, without what is missing.
[[nodiscard]] Selection select_ids(const Minions& minions, const std::vector<std::string_view>& ids);

}  // namespace rest_fcgi::embedded

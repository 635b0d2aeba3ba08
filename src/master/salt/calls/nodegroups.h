// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "master/salt/calls/messages.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/options.h"

namespace rest_fcgi::salt {

/// Expands the groups in the master's setting `nodegroups`, because minions do not know them. Source: Salt's
/// `nodegroup_comp` and LocalClient. Immutable; thread-safe.
class Nodegroups {
 public:
  explicit Nodegroups(std::vector<master::NodegroupOptions> groups);

  /// Returns the target in the master's form. A target of type `nodegroup`, and each `N@name` in a compound
  /// target, becomes compound words. Fails with `invocation` for an unknown, empty or recursive group, and
  /// for a too long target.
  Result<PublishLoad::Target> expand(const lowstate::Target& target) const;

  /// Returns whether `expand` looks up a group for the target. If not, the result of `expand` reveals nothing
  /// about the configuration.
  [[nodiscard]] static bool may_name_one(const lowstate::Target& target);

 private:
  class Expansion;

  std::vector<master::NodegroupOptions> groups_;
};

}  // namespace rest_fcgi::salt

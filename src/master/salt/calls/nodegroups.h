// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "master/salt/calls/messages.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/options.h"

namespace rest_fcgi::salt {

/// Expands the groups in the master's setting `nodegroups`. The client has to expand groups, since minions do
/// not know them. Source: Salt's `nodegroup_comp` and LocalClient. Immutable; thread-safe.
class Nodegroups {
 public:
  /// `conf_file` is the path that Salt names in its error message for an unknown group.
  Nodegroups(std::vector<master::NodegroupOptions> groups, std::string conf_file);

  /// Returns the target in the master's form. A target of type `nodegroup`, and each `N@name` in a compound
  /// target, becomes compound words. Groups inside groups are expanded, too. Other targets are not changed.
  /// Errors: invocation, for an unknown group (with Salt's message), for an empty or recursive group, and for
  /// a target that becomes too long.
  [[nodiscard]] Result<PublishLoad::Target> expand(const lowstate::Target& target) const;

  /// Returns whether `expand` looks up a group for this target. If not, its result reveals nothing about the
  /// configuration.
  [[nodiscard]] static bool may_name_one(const lowstate::Target& target);

 private:
  class Expansion;

  std::vector<master::NodegroupOptions> groups_;
  std::string conf_file_;
};

}  // namespace rest_fcgi::salt

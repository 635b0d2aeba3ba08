// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "master/salt/calls/messages.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/options.h"

namespace rest_fcgi::salt {

/// The master's `nodegroups`, which the client has to expand: a master resolves them, but its minions do not
/// know them and never answer. Source: Salt's `nodegroup_comp` and LocalClient. Immutable; thread-safe.
class Nodegroups {
 public:
  /// `conf_file` is for Salt's own message.
  Nodegroups(std::vector<master::NodegroupOptions> groups, std::string conf_file);

  /// The chunk's target as the master takes it: `nodegroup`, and a compound target with each `N@name` in it,
  /// become compound words without nodegroups, also where groups hold groups. All else goes on as it came:
  /// what it means, the master decides. Errors: invocation, for a group that there is not (Salt's sentence),
  /// or that is empty or lies in itself, and for a target that becomes longer than can be meant.
  [[nodiscard]] Result<PublishLoad::Target> expand(const lowstate::Target& target) const;

  /// May `expand` look a group up for this target? False: what it says tells nothing of the configuration.
  [[nodiscard]] static bool may_name_one(const lowstate::Target& target);

 private:
  class Expansion;

  std::vector<master::NodegroupOptions> groups_;
  std::string conf_file_;
};

}  // namespace rest_fcgi::salt

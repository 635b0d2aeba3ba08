// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/embedded/options.h"

namespace rest_fcgi::embedded {

/// A minion of this process. Immutable; thread-safe.
struct Minion {
  std::string id;
  JsonDocument grains;
  JsonDocument pillar;
};

/// Salt's nodegroups with the ids of their minions. Borrows the ids. Immutable; thread-safe.
class Nodegroups {
 public:
  Nodegroups() = default;

  /// Resolves the nodegroups. Fails with `configuration` for a malformed or recursive nodegroup.
  static Result<Nodegroups> make(const std::vector<master::NodegroupOptions>& options,
                                 const std::vector<Minion>& minions);

  /// Returns the sorted ids of the minions in a nodegroup, or null for an unknown nodegroup.
  [[nodiscard]] const std::vector<std::string_view>* find(std::string_view name) const;

  /// Returns whether the nodegroup, or a nodegroup inside it, compares pillar data.
  [[nodiscard]] bool looks_into_pillar(std::string_view name) const { return using_pillar_.contains(name); }

  [[nodiscard]] std::string names() const;

 private:
  class Builder;

  std::map<std::string, std::vector<std::string_view>, std::less<>> members_;
  std::set<std::string, std::less<>> using_pillar_;
};

/// Checks a minion id by Salt's rules. Fails with `configuration`.
Result<void> check_minion_id(std::string_view id);

/// All minions of one configuration, sorted by id. The object may outlive the master that made it. Immutable.
class Minions {
 public:
  /// Makes the minions of the configuration. Without minions there, makes one minion with the host's name.
  /// Fails with `configuration` for a wrong or duplicate id, wrong grains or pillar, or a wrong nodegroup.
  static Result<std::shared_ptr<const Minions>> make(
      const std::vector<MinionOptions>& declared,
      const std::vector<master::NodegroupOptions>& nodegroups = {});

  [[nodiscard]] const std::vector<Minion>& all() const noexcept { return minions_; }

  [[nodiscard]] const Nodegroups& nodegroups() const noexcept { return nodegroups_; }

  [[nodiscard]] std::optional<std::size_t> position(std::string_view id) const;

 private:
  explicit Minions(std::vector<Minion> minions);

  std::vector<Minion> minions_;
  std::unordered_map<std::string_view, std::size_t> positions_;  // `positions_` points into `minions_`.
  Nodegroups nodegroups_;                                        // `nodegroups_` points into `minions_`.
};

}  // namespace rest_fcgi::embedded

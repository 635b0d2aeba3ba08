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

/// One minion of this process. Immutable once it is made; shared by all threads.
struct Minion {
  std::string id;
  JsonDocument grains;  ///< an object
  JsonDocument pillar;  ///< an object
};

/// Salt's nodegroups: names for compound targets, here for the minions that these mean. Borrows the minions'
/// ids. Immutable; shared by all threads.
class Nodegroups {
 public:
  /// None.
  Nodegroups() = default;

  /// Errors: configuration, for a nodegroup that is no compound target, or that lies in itself.
  [[nodiscard]] static Result<Nodegroups> make(const std::vector<master::NodegroupOptions>& options,
                                               const std::vector<Minion>& minions);

  /// The sorted ids of its minions; null where there is no such nodegroup. Valid as long as this.
  [[nodiscard]] const std::vector<std::string_view>* find(std::string_view name) const;

  /// Returns whether the words of the nodegroup, or of one inside of it, look into pillar.
  [[nodiscard]] bool looks_into_pillar(std::string_view name) const { return by_pillar_.contains(name); }

  /// All names, with commas between them.
  [[nodiscard]] std::string names() const;

 private:
  class Builder;

  std::map<std::string, std::vector<std::string_view>, std::less<>> members_;
  std::set<std::string, std::less<>> by_pillar_;
};

/// May a minion have this id? Errors: configuration, with what an id is.
[[nodiscard]] Result<void> check_minion_id(std::string_view id);

/// All minions of one configuration, in the order of their ids. Immutable; shared by the master and by the
/// jobs that it started, which may outlive it.
class Minions {
 public:
  /// The declared ones; where none is declared, one named after the host.
  /// Errors: configuration, for an id that none can have or that two have, for grains or pillar that are no
  /// object, and for a nodegroup that is no target.
  [[nodiscard]] static Result<std::shared_ptr<const Minions>> make(
      const std::vector<MinionOptions>& declared,
      const std::vector<master::NodegroupOptions>& nodegroups = {});

  [[nodiscard]] const std::vector<Minion>& all() const noexcept { return minions_; }

  /// Names for some of them.
  [[nodiscard]] const Nodegroups& nodegroups() const noexcept { return nodegroups_; }

  /// Where in `all()` it stands; absent where there is no such minion.
  [[nodiscard]] std::optional<std::size_t> position(std::string_view id) const;

 private:
  explicit Minions(std::vector<Minion> minions);

  std::vector<Minion> minions_;
  std::unordered_map<std::string_view, std::size_t> positions_;  // keys lie in minions_
  Nodegroups nodegroups_;                                        // names and ids lie here and in minions_
};

}  // namespace rest_fcgi::embedded

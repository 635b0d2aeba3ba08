// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
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

/// All minions of one configuration, in the order of their ids. Immutable; shared by the master and by the
/// jobs that it started, which may outlive it.
class Minions {
 public:
  /// The declared ones; where none is declared, one named after the host.
  /// Errors: configuration, for an id that none can have or that two have, and for grains or pillar that are
  /// no object.
  [[nodiscard]] static Result<std::shared_ptr<const Minions>> make(
      const std::vector<MinionOptions>& declared);

  [[nodiscard]] const std::vector<Minion>& all() const noexcept { return minions_; }

  /// Where in `all()` it stands; absent where there is no such minion.
  [[nodiscard]] std::optional<std::size_t> position(std::string_view id) const;

 private:
  explicit Minions(std::vector<Minion> minions);

  std::vector<Minion> minions_;
  std::unordered_map<std::string_view, std::size_t> positions_;  // keys lie in minions_
};

/// The host's name as its minion and its master are called after it.
[[nodiscard]] std::string host_name();

}  // namespace rest_fcgi::embedded

// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/tree.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::config {

/// Keeps the first mistake that was found while options were read, so that readers go on without asking after
/// each step. Not synchronized.
class Mistakes {
 public:
  /// `key` with all keys above it, such as `rest_fcgi: max_threads`.
  void add(const Place& place, std::string_view key, std::string_view text) {
    keep(mistake_at(place, format("{}: {}", key, text)));
  }

  /// One that was found elsewhere.
  void keep(Error mistake) {
    if (!first_) first_ = std::move(mistake);
  }

  void unexpected(const Node& found, std::string_view key, std::string_view expected) {
    add(found.place, key, format("found {}, expected {}", describe(found), expected));
  }

  [[nodiscard]] bool any() const noexcept { return first_.has_value(); }

  /// REQUIRES: any().
  [[nodiscard]] Error take_first() { return *std::move(first_); }

 private:
  std::optional<Error> first_;
};

}  // namespace rest_fcgi::config

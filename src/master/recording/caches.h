// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::recording {

/// The job caches that get all jobs. Failures stand in the log, the first of each row of them. Thread-safe.
class Caches {
 public:
  using Call = std::function<Result<void>(returner::Returner&)>;

  explicit Caches(std::unique_ptr<returner::Returners> returners) : returners_(std::move(returners)) {}

  void to_each(std::string_view jid, const Call& call);
  [[nodiscard]] Result<void> flush() const { return returners_->flush(); }

 private:
  const std::unique_ptr<returner::Returners> returners_;
  std::atomic<bool> failing_{false};
};

}  // namespace rest_fcgi::recording

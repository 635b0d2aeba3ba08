// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "etcd/gateway_error.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::etcd {

/// The tries of one call that failed. Not synchronized.
class Attempts {
 public:
  explicit Attempts(std::size_t members) : last_words_(members) {}

  /// What a try that was `cut_off` tells is its end alone: where the member had told more, that is kept.
  void add(std::size_t member, const Failure& failure, bool cut_off);

  /// How long to wait before the next try: some 100 ms, 200 ms, then 400 ms, so that callers who failed
  /// together do not come back together.
  [[nodiscard]] std::chrono::milliseconds pause() const;

  /// What the caller is told, with what each member said last: timeout where the call `writes` and may have
  /// been carried out, else unavailable.
  [[nodiscard]] Error error(bool writes) const;

 private:
  std::vector<std::string> last_words_;  // empty: not asked
  std::size_t count_ = 0;
  bool outcome_known_ = true;
};

}  // namespace rest_fcgi::etcd

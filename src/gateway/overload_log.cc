// SPDX-License-Identifier: MIT
#include "gateway/overload_log.h"

#include <chrono>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {

void OverloadLog::report(SteadyTime now) {
  constexpr std::chrono::seconds kBetweenLines{10};
  if (now < next_ || refused_ == 0) return;
  next_ = now + kBetweenLines;
  log::warning(
      format("overload: {} requests got 503: all threads were busy (max_threads) and the queue was full "
             "(max_waiting), or the request bodies together were too large (max_body_bytes)",
             refused_.exchange(0)));
}

}  // namespace rest_fcgi::gateway

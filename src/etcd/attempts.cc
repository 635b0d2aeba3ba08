// SPDX-License-Identifier: MIT
#include "etcd/attempts.h"

#include <algorithm>
#include <random>

namespace rest_fcgi::etcd {

void Attempts::add(std::size_t member, const Failure& failure, bool cut_off) {
  if (!cut_off || last_words_[member].empty()) last_words_[member] = failure.error.message;
  ++count_;
  outcome_known_ = outcome_known_ && failure.outcome_known;
}

std::chrono::milliseconds Attempts::pause() const {
  const unsigned shortest = count_ < 3 ? 50U << count_ : 400U;
  return std::chrono::milliseconds(shortest + std::random_device()() % (shortest / 2));
}

Error Attempts::error(bool writes) const {
  Error error{writes && !outcome_known_ ? ErrorKind::timeout : ErrorKind::unavailable, {}};
  for (const std::string& words : last_words_) {
    if (words.empty()) continue;
    if (!error.message.empty()) error.message += "; ";
    error.message += words;
  }
  return error;
}

}  // namespace rest_fcgi::etcd

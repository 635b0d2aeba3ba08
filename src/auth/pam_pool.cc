// SPDX-License-Identifier: MIT
#include "auth/pam_pool.h"

#include <chrono>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {

Result<pam::Answer> PamPool::ask(const pam::Request& request) {
  const WipedBytes frame = to_frame(request);
  const SteadyTime deadline = std::chrono::steady_clock::now() + options_.timeout;
  Result<MaybeHelper> taken = take(deadline);
  if (!taken) return std::move(taken).error();
  MaybeHelper helper = *std::move(taken);
  Result<pam::Answer> answer = ask_one(helper, frame, deadline);
  if (!answer) helper.reset();
  give_back(std::move(helper));
  return answer;
}

Result<PamPool::MaybeHelper> PamPool::take(SteadyTime deadline) {
  std::unique_lock lock(mutex_);
  if (busy_ == options_.max_helpers) {
    if (waiting_ == options_.max_waiting) {
      return Error{ErrorKind::unavailable, format("{} logins wait for a helper already", waiting_)};
    }
    ++waiting_;
    const bool free = returned_.wait_until(lock, deadline, [this] { return busy_ < options_.max_helpers; });
    --waiting_;
    if (!free) return Error{ErrorKind::timeout, "all helpers were busy for too long"};
  }
  ++busy_;
  if (idle_.empty()) return MaybeHelper();
  MaybeHelper helper(std::move(idle_.back()));
  idle_.pop_back();
  return helper;
}

void PamPool::give_back(MaybeHelper helper) {
  {
    const std::lock_guard lock(mutex_);
    --busy_;
    if (helper) idle_.push_back(*std::move(helper));
  }
  returned_.notify_one();
}

Result<pam::Answer> PamPool::ask_one(MaybeHelper& helper, const WipedBytes& frame,
                                     SteadyTime deadline) const {
  if (helper) {
    Result<pam::Answer> answer = helper->ask(frame, deadline);
    // It may have ended long ago; that says nothing about this request. One that ended over it may have tried
    // the password, which modules that count failures must see no second time.
    if (answer || answer.error().kind != ErrorKind::not_found) return answer;
    helper.reset();
  }
  Result<PamHelper> started = PamHelper::start(options_.helper, deadline);
  if (!started) return std::move(started).error();
  helper.emplace(*std::move(started));
  return helper->ask(frame, deadline);
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include "client/batch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "client/return_event.h"

namespace rest_fcgi::client {

using master::Publication;

std::size_t window_size(const lowstate::BatchSize& batch, std::size_t minions) {
  const auto all = static_cast<double>(minions);
  const double wanted = batch.percent ? batch.amount / 100 * all : batch.amount;
  return static_cast<std::size_t>(std::max(1.0, std::trunc(std::min(wanted, all))));
}

Batch::Batch(master::Master& master, const master::Permit& permit, const Options& options)
    : permit_(permit), call_(permit.chunk().local()), gatherer_(master, permit, options) {}

Result<Reply> Batch::run() {
  Result<void> done = ping();
  if (done) {
    window_ = window_size(call_.batch, minions_.size());
    done = work();
  }
  if (done) return std::move(reply_);
  Error error = std::move(done).error();
  if (!reply_.jid.empty()) error.jid = reply_.jid;
  if (reply_.items.empty()) return error;
  reply_.failure = std::move(error);
  return std::move(reply_);
}

Result<void> Batch::ping() {
  const auto published = gatherer_.publish({Publication::What::ping, std::nullopt, {}});
  if (!published) return published.error();
  while (true) {
    Result<std::optional<Arrival>> next = gatherer_.next();
    if (!next) return std::move(next).error();
    if (!next->has_value()) return {};
    if ((*next)->ret) minions_.push_back(std::move((*next)->minion));
  }
}

Result<void> Batch::work() {
  while (true) {
    forget_old_places();
    if (Result<void> filled = fill_window(); !filled) return filled;
    if (at_work_ == 0 && !may_start()) return {};
    const bool place_comes_free = may_start() && !kept_places_.empty();
    const auto next = gatherer_.next(place_comes_free ? kept_places_.front() : SteadyTime::max());
    if (!next) return next.error();
    if (next->has_value()) take_in(**next);
  }
}

Result<void> Batch::fill_window() {
  const std::size_t taken = at_work_ + kept_places_.size();
  if (!may_start() || taken >= window_) return {};
  const auto first = minions_.begin() + static_cast<std::ptrdiff_t>(started_);
  const std::size_t count = std::min(window_ - taken, minions_.size() - started_);
  const std::vector<std::string> next(first, first + static_cast<std::ptrdiff_t>(count));
  const auto published = gatherer_.publish({Publication::What::call, next, {}});
  if (!published) return published.error();
  const master::Job& job = **published;
  started_ += count;
  if (!job.jid.empty()) reply_.jid.append(reply_.jid.empty() ? "" : ",").append(job.jid);
  for (const std::string& minion : next) {
    // One that went away after it had answered the ping is no part of the job.
    if (std::find(job.minions.begin(), job.minions.end(), minion) == job.minions.end()) {
      take_silent(minion);
    } else {
      ++at_work_;
    }
  }
  return {};
}

void Batch::take_in(const Arrival& arrival) {
  --at_work_;
  if (call_.batch_wait.count() > 0) kept_places_.push_back(system_clock().steady() + call_.batch_wait);
  if (!arrival.ret) {
    take_silent(arrival.minion);
    return;
  }
  if (call_.failhard && arrival.ret->retcode > 0) failed_ = true;
  reply_.items.push_back(call_.raw ? return_event(*arrival.ret, arrival.jid, permit_)
                                   : by_minion(arrival.minion, arrival.ret->ret));
}

void Batch::take_silent(const std::string& minion) {
  if (call_.failhard) failed_ = true;
  reply_.items.push_back(by_minion(minion, Json::empty_object()));
}

void Batch::forget_old_places() {
  const SteadyTime now = system_clock().steady();
  while (!kept_places_.empty() && kept_places_.front() <= now) kept_places_.pop_front();
}

}  // namespace rest_fcgi::client

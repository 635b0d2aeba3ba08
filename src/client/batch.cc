// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "client/local.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"

namespace rest_fcgi::client {
namespace {

using master::Publication;

Json by_minion(std::string_view minion, const Json& ret) {
  return written_object([&](JsonWriter& writer) { writer.key(minion).json(ret); });
}

/// Returns the event of a return on Salt's bus, which is the reply's item if `raw` is set.
Json return_event(const master::Return& ret, std::string_view jid, const master::Permit& permit) {
  return written_object([&](JsonWriter& writer) {
    writer.key("data");
    if (ret.event) {
      writer.json(*ret.event);
    } else {
      writer.begin_object();
      writer.key("cmd").string("_return").key("id").string(ret.minion).key("success").boolean(ret.success);
      write_retcode(writer.key("return").json(ret.ret).key("retcode"), ret);
      writer.key("jid").string(jid);
      const lowstate::LocalCall& call = permit.chunk().local();
      writer.key("fun").json(lowstate::published_functions(call)).key("fun_args");
      if (call.compound) writer.begin_array();
      for (const lowstate::Function& function : call.functions) lowstate::write_arguments(writer, function);
      if (call.compound) writer.end_array();
      writer.key("user").string(permit.user());
      if (!ret.out.empty()) writer.key("out").string(ret.out);
      writer.end_object();
    }
    writer.key("tag").string(format("salt/job/{}/ret/{}", jid, ret.minion));
  });
}

/// A call of `local_batch`. Used by one thread.
class Batch {
 public:
  explicit Batch(const ChunkCall& call) : call_(call), local_(call.permit.chunk().local()), gatherer_(call) {}

  Result<Reply> run();

 private:
  Result<void> work();
  Result<void> fill_window();
  void take_in(const Arrival& arrival);
  void take_silent(std::string_view minion);
  void forget_old_places();
  [[nodiscard]] bool may_start() const noexcept { return !failed_ && started_ < minions_.size(); }

  const ChunkCall& call_;
  const lowstate::LocalCall& local_;
  Gatherer gatherer_;
  std::vector<std::string> minions_;         ///< `minions_` are the minions that answered the ping.
  std::size_t started_ = 0;                  ///< The first `started_` of `minions_` have started.
  std::unordered_set<std::string> at_work_;  ///< `at_work_` are the started minions that have not returned.
  std::size_t window_ = 1;
  /// The times at which further minions may start (`batch_wait`), one for each minion that has returned.
  std::deque<SteadyTime> kept_places_;
  bool failed_ = false;
  Reply reply_;
};

Result<Reply> Batch::run() {
  auto there = find_answering(call_, Publication::What::ping, [](const master::Return&) { return true; });
  if (!there) return std::move(there).error();
  minions_ = *std::move(there);
  window_ = window_size(local_.batch, minions_.size());
  Result<void> done = work();
  if (done) return std::move(reply_);
  Error error = std::move(done).error();
  // The error may name the job of the last publication, which `reply_` does not name.
  if (reply_.jid.find(error.jid) == std::string::npos)
    reply_.jid.append(reply_.jid.empty() ? "" : ",").append(error.jid);
  error.jid = reply_.jid;
  if (reply_.items.empty()) return error;
  reply_.failure = std::move(error);
  return std::move(reply_);
}

Result<void> Batch::work() {
  while (true) {
    forget_old_places();
    if (Result<void> filled = fill_window(); !filled) return filled;
    if (at_work_.empty() && !may_start()) return {};
    const bool place_comes_free = may_start() && !kept_places_.empty();
    const auto next = gatherer_.next(place_comes_free ? kept_places_.front() : SteadyTime::max());
    if (!next) return next.error();
    if (next->has_value()) take_in(**next);
  }
}

Result<void> Batch::fill_window() {
  const std::size_t taken = at_work_.size() + kept_places_.size();
  if (!may_start() || taken >= window_) return {};
  const auto first = minions_.begin() + static_cast<std::ptrdiff_t>(started_);
  const std::size_t count = std::min(window_ - taken, minions_.size() - started_);
  const std::vector<std::string> next(first, first + static_cast<std::ptrdiff_t>(count));
  const auto published = gatherer_.publish({Publication::What::call, next, {}});
  if (!published) return published.error();
  started_ += count;
  const std::string& jid = (*published)->jid;
  const std::vector<std::string>& expected = (*published)->minions;
  if (!jid.empty()) reply_.jid.append(reply_.jid.empty() ? "" : ",").append(jid);
  for (const std::string& minion : next) {
    // A minion that has disconnected after its ping counts as a minion without a return.
    const bool there = !jid.empty() && std::find(expected.begin(), expected.end(), minion) != expected.end();
    if (there) {
      at_work_.insert(minion);
    } else {
      take_silent(minion);
    }
  }
  return {};
}

void Batch::take_in(const Arrival& arrival) {
  if (at_work_.erase(std::string(arrival.minion)) == 0) return;
  if (local_.batch_wait.count() > 0) kept_places_.push_back(call_.clock.steady() + local_.batch_wait);
  if (arrival.ret == nullptr) return take_silent(arrival.minion);
  if (local_.failhard && arrival.ret->retcode > 0) failed_ = true;
  reply_.items.push_back(local_.raw ? return_event(*arrival.ret, arrival.jid, call_.permit)
                                    : by_minion(arrival.minion, arrival.ret->ret));
}

void Batch::take_silent(std::string_view minion) {
  if (local_.failhard) failed_ = true;
  reply_.items.push_back(by_minion(minion, Json::empty_object()));
}

void Batch::forget_old_places() {
  const SteadyTime now = call_.clock.steady();
  while (!kept_places_.empty() && kept_places_.front() <= now) kept_places_.pop_front();
}

}  // namespace

std::size_t window_size(const lowstate::BatchSize& batch, std::size_t minions) {
  const auto all = static_cast<double>(minions);
  const double wanted = batch.percent ? batch.amount / 100 * all : batch.amount;
  return static_cast<std::size_t>(std::max(1.0, std::trunc(std::min(wanted, all))));
}

Result<Reply> cmd_batch(const ChunkCall& call) {
  return Batch(call).run();
}

}  // namespace rest_fcgi::client

// SPDX-License-Identifier: MIT
#include "master/salt/job_listener.h"

#include <utility>

#include "master/salt/event_return.h"

namespace rest_fcgi::salt {

JobListener::JobListener(std::weak_ptr<master::Returns> returns, const std::vector<std::string>& minions,
                         Options options)
    : returns_(std::move(returns)), minions_(minions.begin(), minions.end()), options_(options) {}

void JobListener::hear(const Topic& topic, std::string_view data) {
  const std::shared_ptr<master::Returns> returns = returns_.lock();
  if (!returns) return;
  if (topic.kind == Topic::Kind::job_return) return hear_return(*returns, topic, data);
  if (topic.kind != Topic::Kind::syndic || !options_.syndics) return;
  std::vector<std::string> more = read_syndic(data);
  minions_.insert(more.begin(), more.end());
  if (!more.empty()) returns->put(master::MoreMinions{std::move(more)});
}

void JobListener::hear_return(master::Returns& returns, const Topic& topic, std::string_view data) const {
  // Below a syndic minions may return before it has named them.
  if (!options_.syndics && minions_.count(std::string(topic.who)) == 0) return;
  auto ret = read_return(topic, data, options_.whole_events);
  if (!ret) return;
  if (options_.has_function) {
    const std::string& names = ret->ret.text();
    ret->ret = Json::boolean(names.starts_with('[') && names != "[]");
  }
  returns.put(*std::move(ret));
}

void JobListener::lost(const Error& error) {
  if (const auto returns = returns_.lock()) returns->put(error);
}

void RunnerListener::hear(const Topic& topic, std::string_view data) {
  const std::shared_ptr<master::RunnerReturns> returns = returns_.lock();
  if (!returns || topic.kind != Topic::Kind::runner_return) return;
  if (auto ret = read_runner_return(topic, data, whole_event_)) returns->put(*std::move(ret));
}

void RunnerListener::lost(const Error& error) {
  if (const auto returns = returns_.lock()) returns->put(error);
}

}  // namespace rest_fcgi::salt

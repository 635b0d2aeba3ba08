// SPDX-License-Identifier: MIT
#include "master/salt/job_listener.h"

#include <utility>

namespace rest_fcgi::salt {
namespace {

/// The syndics on the way of an event, from the upper one to the lower: each puts `syndic/<its id>` before
/// the tag that it hands on.
std::vector<std::string> syndics_in(std::string_view who) {
  constexpr std::string_view between = "/syndic/";
  std::vector<std::string> syndics;
  for (std::size_t end = who.find(between); end != std::string_view::npos; end = who.find(between)) {
    syndics.emplace_back(who.substr(0, end));
    who.remove_prefix(end + between.size());
  }
  syndics.emplace_back(who);
  return syndics;
}

}  // namespace

JobListener::JobListener(std::weak_ptr<master::Returns> returns, const std::vector<std::string>& minions,
                         Published published, Options options)
    : returns_(std::move(returns)),
      minions_(minions.begin(), minions.end()),
      published_(std::move(published)),
      options_(options) {}

void JobListener::hear(const Topic& topic, std::string_view data) {
  const std::shared_ptr<master::Returns> returns = returns_.lock();
  if (!returns) return;
  if (topic.kind == Topic::Kind::job_return) return hear_return(*returns, topic, data);
  if (topic.kind != Topic::Kind::syndic || !options_.syndics) return;
  master::MoreMinions more{read_syndic(data), syndics_in(topic.who)};
  if (!more.minions.empty()) returns->put(std::move(more));
}

void JobListener::hear_beginning(const Topic& topic, std::string_view beginning, std::uint64_t size) {
  const std::shared_ptr<master::Returns> returns = returns_.lock();
  if (!returns || topic.kind != Topic::Kind::job_return || !expects(topic)) return;
  if (auto ret = read_large_return(topic, beginning, size, form())) hand_on(*returns, *std::move(ret));
}

bool JobListener::expects(const Topic& topic) const {
  // Below a syndic minions may return before it has named them.
  return options_.syndics || minions_.count(std::string(topic.who)) > 0;
}

void JobListener::hear_return(master::Returns& returns, const Topic& topic, std::string_view data) {
  if (!expects(topic)) return;
  auto ret = read_return(topic, data, form());
  if (!ret) return;
  if (options_.has_function) {
    const std::string& names = ret->ret.text();
    ret->ret = Json::boolean(names.starts_with('[') && names != "[]");
  }
  hand_on(returns, *std::move(ret));
}

void JobListener::hand_on(master::Returns& returns, master::Return ret) {
  minions_.erase(ret.minion);
  returns.put(std::move(ret));
}

void JobListener::lost(const Error& error) {
  if (const auto returns = returns_.lock()) returns->put(error);
}

void RunnerListener::hear(const Topic& topic, std::string_view data) {
  const std::shared_ptr<master::RunnerReturns> returns = returns_.lock();
  if (!returns || topic.kind != Topic::Kind::runner_return) return;
  if (auto ret = read_runner_return(topic, data, whole_event_)) returns->put(*std::move(ret));
}

void RunnerListener::hear_beginning(const Topic& topic, std::string_view beginning, std::uint64_t size) {
  const std::shared_ptr<master::RunnerReturns> returns = returns_.lock();
  if (!returns || topic.kind != Topic::Kind::runner_return) return;
  if (auto ret = read_large_runner_return(topic, beginning, size)) returns->put(*std::move(ret));
}

void RunnerListener::lost(const Error& error) {
  if (const auto returns = returns_.lock()) returns->put(error);
}

}  // namespace rest_fcgi::salt

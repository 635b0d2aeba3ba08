// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "master/salt/events/listener.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::salt {

/// Hears the events of one published job and hands returns on, for as long as somebody holds the mailbox.
/// Returns of minions that the job does not expect go nowhere.
class JobListener final : public Listener {
 public:
  struct Options {
    bool whole_events = false;  ///< returns come with their events
    bool has_function = false;  ///< what returns is the list of a function's names: is it there?
    bool syndics = false;       ///< syndics may name minions of theirs
  };

  JobListener(std::weak_ptr<master::Returns> returns, const std::vector<std::string>& minions,
              Options options);

  [[nodiscard]] bool wanted() const override { return !returns_.expired(); }
  void hear(const Topic& topic, std::string_view data) override;
  void lost(const Error& error) override;

 private:
  void hear_return(master::Returns& returns, const Topic& topic, std::string_view data) const;

  const std::weak_ptr<master::Returns> returns_;
  std::unordered_set<std::string> minions_;
  const Options options_;
};

/// Hears the events of one runner.
class RunnerListener final : public Listener {
 public:
  RunnerListener(std::weak_ptr<master::RunnerReturns> returns, bool whole_event)
      : returns_(std::move(returns)), whole_event_(whole_event) {}

  [[nodiscard]] bool wanted() const override { return !returns_.expired(); }
  void hear(const Topic& topic, std::string_view data) override;
  void lost(const Error& error) override;

 private:
  const std::weak_ptr<master::RunnerReturns> returns_;
  const bool whole_event_;
};

}  // namespace rest_fcgi::salt

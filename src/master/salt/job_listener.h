// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "master/salt/event_return.h"
#include "master/salt/events/listener.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::salt {

/// Hears the events of one published job and hands returns on, for as long as somebody holds the mailbox.
/// Returns of minions that the job does not expect go nowhere, nor do those that name another function or
/// user than were published, nor what a minion returns after its first one: there is no end to that, and
/// whoever holds the mailbox may be busy.
class JobListener final : public Listener {
 public:
  struct Options {
    bool whole_events = false;  ///< returns come with their events
    bool has_function = false;  ///< what returns is the list of a function's names: is it there?
    bool syndics = false;       ///< minions of theirs return as well, named by them before or not
  };

  JobListener(std::weak_ptr<master::Returns> returns, const std::vector<std::string>& minions,
              Published published, Options options);

  [[nodiscard]] bool wanted() const override { return !returns_.expired(); }
  void hear(const Topic& topic, std::string_view data) override;
  void hear_beginning(const Topic& topic, std::string_view beginning, std::uint64_t size) override;
  void lost(const Error& error) override;

 private:
  [[nodiscard]] bool expects(const Topic& topic) const;
  void hear_return(master::Returns& returns, const Topic& topic, std::string_view data);
  void hand_on(master::Returns& returns, master::Return ret);

  [[nodiscard]] ReturnForm form() const { return {options_.whole_events, options_.syndics, &published_}; }

  const std::weak_ptr<master::Returns> returns_;
  std::unordered_set<std::string> minions_;  ///< that have not returned
  const Published published_;
  const Options options_;
};

/// Hears the events of one runner.
class RunnerListener final : public Listener {
 public:
  RunnerListener(std::weak_ptr<master::RunnerReturns> returns, bool whole_event)
      : returns_(std::move(returns)), whole_event_(whole_event) {}

  [[nodiscard]] bool wanted() const override { return !returns_.expired(); }
  void hear(const Topic& topic, std::string_view data) override;
  void hear_beginning(const Topic& topic, std::string_view beginning, std::uint64_t size) override;
  void lost(const Error& error) override;

 private:
  const std::weak_ptr<master::RunnerReturns> returns_;
  const bool whole_event_;
};

}  // namespace rest_fcgi::salt

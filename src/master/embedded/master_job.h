// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "master/embedded/jobs/jobs.h"
#include "master/embedded/minion.h"
#include "master/embedded/runners/master_function.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::embedded {

/// One call of a runner or wheel, with arguments of its own. Immutable once its jid is set; then it may be
/// shared by threads.
class MasterJob {
 public:
  enum class Form { runner, wheel };

  /// What became of it.
  struct Outcome {
    Json ret;
    bool success = true;
    /// The job cache could not be asked: whoever waits is told so, in place of a return.
    std::optional<Error> unavailable{};
  };

  /// Errors: internal, where the arguments cannot be copied.
  [[nodiscard]] static Result<std::shared_ptr<MasterJob>> make(Form form, const lowstate::Function& call,
                                                               std::string_view user, WallTime now);

  void set_jid(std::string jid) { jid_ = std::move(jid); }
  [[nodiscard]] const std::string& jid() const noexcept { return jid_; }

  /// `salt/run/<jid>` or `salt/wheel/<jid>`.
  [[nodiscard]] std::string tag() const;

  /// May a request's own thread run it? True for a function that does not exist: saying so is quick.
  [[nodiscard]] bool quick() const noexcept { return function_ == nullptr || function_->quick; }

  /// The job as the job cache keeps it, without a jid: a master's own minion runs it.
  [[nodiscard]] returner::Load load(const std::string& master_id) const;

  /// Runs the function. What goes wrong is an outcome without success, in a sentence.
  [[nodiscard]] Outcome run(const MasterFacts& facts, Jobs& jobs, const std::stop_token& stop) const;

  /// Salt's event about the return.
  [[nodiscard]] Json event(const Outcome& outcome) const;

 private:
  MasterJob(Form form, std::string_view name, std::string_view user, WallTime now);
  [[nodiscard]] std::string full_name() const;
  [[nodiscard]] Outcome invalid_arguments(const std::string& complaint) const;

  const Form form_;
  const std::string name_;
  const std::string user_;
  const WallTime started_;
  const MasterFunction* const function_;  // null: no such function
  std::shared_ptr<const lowstate::MasterArguments> arguments_;
  std::string jid_;
};

}  // namespace rest_fcgi::embedded

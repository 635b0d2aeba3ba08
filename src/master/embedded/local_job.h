// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/execution.h"
#include "master/embedded/minion.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::embedded {

/// The functions of a local chunk with all that they need to run on any minion. Immutable once its jid is
/// set; then it may be shared by threads.
class LocalJob {
 public:
  /// Its arguments stay where they are: it must not outlive the chunk.
  [[nodiscard]] static LocalJob borrowing(const lowstate::LocalCall& call, std::string_view user);

  /// With arguments of its own: it may outlive the request. Errors: internal, where they cannot be copied.
  [[nodiscard]] static Result<std::shared_ptr<LocalJob>> owning(const lowstate::LocalCall& call,
                                                                std::string_view user);

  LocalJob(LocalJob&&) = default;

  /// The job as the job cache keeps it, without jid and minions.
  [[nodiscard]] returner::Load load(const lowstate::LocalCall& call) const;

  /// It is for these minions alone, whatever the chunk's target says. Call before `load`.
  void narrow(const std::vector<std::string>& minions);

  void set_jid(std::string jid) { jid_ = std::move(jid); }
  [[nodiscard]] const std::string& jid() const noexcept { return jid_; }
  [[nodiscard]] const std::string& ret() const noexcept { return ret_; }

  /// Runs all functions on one minion.
  [[nodiscard]] master::Return run(const Engine& engine, const Minion& minion,
                                   const std::stop_token& stop) const;

 private:
  LocalJob(const lowstate::LocalCall& call, std::string_view user);
  Result<void> own(const lowstate::LocalCall& call);
  [[nodiscard]] master::Return run_one(const Engine& engine, const Minion& minion, std::size_t index,
                                       const std::stop_token& stop) const;

  std::string jid_;
  std::string user_;
  std::string_view tgt_type_;  // a constant's text
  std::string ret_;
  std::string tgt_json_;
  bool compound_;
  std::vector<std::string> arg_json_;  // of each function
  struct Owned {
    JsonDocument arguments;
    std::vector<lowstate::Function> functions;  ///< look into `arguments`
  };
  std::unique_ptr<Owned> owned_;
  const std::vector<lowstate::Function>* functions_;  // the chunk's, or the owned ones
};

/// May a request's own thread run all of these functions?
[[nodiscard]] bool all_quick(const Modules& modules, const std::vector<lowstate::Function>& functions);

}  // namespace rest_fcgi::embedded

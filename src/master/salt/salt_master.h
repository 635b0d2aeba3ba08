// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "master/salt/callers.h"
#include "master/salt/calls/nodegroups.h"
#include "master/salt/runtime.h"
#include "rest_fcgi/master/salt/salt.h"

namespace rest_fcgi::salt {

/// The seam's calls as requests to a real master. It decides what is permitted; here credentials are traded
/// for a token once, so that no password is in what the master stores and shows. Thread-safe: it holds
/// nothing that changes.
class SaltMaster final : public master::Master {
 public:
  SaltMaster(const Options& options, std::unique_ptr<auth::Logins> logins,
             std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<SaltRuntime> runtime);

  [[nodiscard]] Result<master::Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline) override;
  [[nodiscard]] Result<master::Job> publish(const master::Permit& permit,
                                            const master::Publication& publication,
                                            std::shared_ptr<master::Returns> returns) override;
  [[nodiscard]] Result<master::Job> publish_async(const master::Permit& permit) override;
  [[nodiscard]] Result<master::Started> runner(const master::Permit& permit,
                                               std::shared_ptr<master::RunnerReturns> returns) override;
  [[nodiscard]] Result<master::Started> runner_async(const master::Permit& permit) override;
  [[nodiscard]] Result<master::WheelReply> wheel(const master::Permit& permit) override;
  [[nodiscard]] Result<master::Started> wheel_async(const master::Permit& permit) override;
  [[nodiscard]] Result<Secret> make_token(const auth::Credentials& credentials) override;

 private:
  /// For who is logged in: what it says tells of the configuration. Errors: invocation, authorization.
  [[nodiscard]] Result<void> check_local(const lowstate::Chunk& chunk, const auth::Subject& subject) const;
  [[nodiscard]] Result<master::Job> send(const master::Permit& permit,
                                         const master::Publication& publication) const;

  const Options options_;
  const Nodegroups nodegroups_;
  const Callers callers_;
  const std::unique_ptr<auth::Permissions> permissions_;
  const std::shared_ptr<SaltRuntime> runtime_;
};

}  // namespace rest_fcgi::salt

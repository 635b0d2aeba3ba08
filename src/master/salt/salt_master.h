// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "master/salt/calls/load.h"
#include "master/salt/calls/nodegroups.h"
#include "master/salt/calls/reply.h"
#include "master/salt/runtime.h"
#include "rest_fcgi/master/salt/salt.h"

namespace rest_fcgi::salt {

/// The seam's calls as requests to a real master. It decides what is permitted; here credentials are traded
/// for a token once, so that no password is in what the master stores and shows. Thread-safe: it holds
/// nothing that changes.
class SaltMaster final : public master::Master {
 public:
  SaltMaster(const Options& options, std::unique_ptr<auth::RemoteLogins> logins,
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
  using GrantPtr = std::shared_ptr<const auth::Grant>;

  /// Who makes a call: the grant, or null where credentials go along inline.
  [[nodiscard]] Result<GrantPtr> login(const auth::Credentials& credentials, SteadyTime deadline) const;
  [[nodiscard]] Result<auth::Grant> ask_for_grant(const auth::Credentials& credentials,
                                                  SteadyTime deadline) const;
  [[nodiscard]] Result<PublishLoad> load_for(const master::Permit& permit,
                                             const master::Publication& publication) const;
  [[nodiscard]] Result<master::Job> publish_load_of(const master::Permit& permit,
                                                    const master::Publication& publication) const;

  /// One request under a permit. `write` makes its load for a Caller, `read` reads the master's answer.
  template <class Write, class Read>
  [[nodiscard]] auto call(const master::Permit& permit, Lane lane, const Write& write,
                          const Read& read) const;

  const Options options_;
  const Nodegroups nodegroups_;
  const std::unique_ptr<auth::RemoteLogins> logins_;
  const std::unique_ptr<auth::Permissions> permissions_;
  const std::shared_ptr<SaltRuntime> runtime_;
};

}  // namespace rest_fcgi::salt

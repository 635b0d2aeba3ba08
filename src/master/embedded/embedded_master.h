// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "master/embedded/master_caller.h"
#include "master/embedded/minion.h"
#include "master/embedded/publisher.h"
#include "master/embedded/runtime.h"
#include "master/embedded/target/rule_targets.h"
#include "rest_fcgi/auth/authenticator.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::embedded {

/// The master whose minions live in this process: asks who calls and what they may do, then hands the call to
/// who runs it. Thread-safe; all it has is constant or synchronizes itself.
class EmbeddedMaster : public master::Master {
 public:
  EmbeddedMaster(const std::shared_ptr<const MasterFacts>& facts,
                 std::unique_ptr<auth::Authenticator> authenticator,
                 std::unique_ptr<auth::Permissions> permissions, RuleTargets targets,
                 const std::shared_ptr<EmbeddedRuntime>& runtime);

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
  [[nodiscard]] Result<void> authorize_local(const auth::Identity& identity,
                                             const lowstate::LocalCall& call) const;
  [[nodiscard]] Result<void> authorize_master(const auth::Identity& identity, auth::Form form,
                                              const lowstate::MasterCall& call) const;
  [[nodiscard]] Result<Publisher::Order> order_for(const master::Permit& permit,
                                                   const std::optional<std::vector<std::string>>& only) const;

  const std::shared_ptr<const Minions> minions_;
  const std::unique_ptr<auth::Authenticator> authenticator_;
  const std::unique_ptr<auth::Permissions> permissions_;
  const RuleTargets targets_;
  Publisher publisher_;
  MasterCaller caller_;
};

}  // namespace rest_fcgi::embedded

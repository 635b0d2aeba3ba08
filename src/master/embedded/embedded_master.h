// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "master/embedded/jobs/jobs.h"
#include "master/embedded/master_caller.h"
#include "master/embedded/minion.h"
#include "master/embedded/publisher.h"
#include "master/embedded/rules.h"
#include "rest_fcgi/auth/authenticator.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/master/embedded/embedded.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/master/workers.h"

namespace rest_fcgi::embedded {

/// The only Runtime there is. Tasks on the workers share `jobs`, never this object, which waits for them as
/// it goes.
class EmbeddedRuntime : public Runtime {
 public:
  EmbeddedRuntime(const Options& options, std::unique_ptr<returner::Returners> returners, const Clock& clock,
                  std::unique_ptr<ProcDir> proc);

  std::size_t shutdown(SteadyTime deadline) override;

  [[nodiscard]] const std::shared_ptr<Jobs>& jobs() const noexcept { return jobs_; }
  [[nodiscard]] master::Workers& workers() noexcept { return workers_; }

 private:
  const std::shared_ptr<Jobs> jobs_;
  master::Workers workers_;
};

/// The master whose minions live in this process: asks who calls and what they may do, then hands the call to
/// who runs it. Thread-safe; all it has is constant or synchronizes itself.
class EmbeddedMaster : public master::Master {
 public:
  EmbeddedMaster(const std::shared_ptr<const MasterFacts>& facts,
                 std::unique_ptr<auth::Authenticator> authenticator,
                 std::unique_ptr<auth::Permissions> permissions, RuleTargets targets,
                 std::shared_ptr<EmbeddedRuntime> runtime);

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
  using Admitted = Result<std::shared_ptr<const master::Admitted>>;
  [[nodiscard]] Admitted admit_local(const auth::Identity& identity, const lowstate::LocalCall& call) const;
  [[nodiscard]] Admitted admit_master(const auth::Identity& identity, auth::Form form,
                                      const lowstate::MasterCall& call) const;
  [[nodiscard]] Publisher::Order order_for(const master::Permit& permit,
                                           const std::optional<std::vector<std::string>>& only) const;

  const std::shared_ptr<const Minions> minions_;
  const std::unique_ptr<auth::Authenticator> authenticator_;
  const std::unique_ptr<auth::Permissions> permissions_;
  const RuleTargets targets_;
  const std::shared_ptr<EmbeddedRuntime> runtime_;
  Publisher publisher_;
  MasterCaller caller_;
};

}  // namespace rest_fcgi::embedded

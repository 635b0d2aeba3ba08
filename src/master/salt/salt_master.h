// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "master/salt/calls/nodegroups.h"
#include "master/salt/job_listener.h"
#include "master/salt/master_client.h"
#include "master/salt/runtime.h"
#include "master/salt/ssh_client.h"
#include "rest_fcgi/master/salt/salt.h"

namespace rest_fcgi::salt {

/// Implements `Master` with requests to a real master, which checks all permissions. Credentials are
/// exchanged for a token, so that passwords are not in what the master stores and shows. Thread-safe.
class SaltMaster final : public master::Master {
 public:
  SaltMaster(const Options& options, std::unique_ptr<auth::Logins> logins,
             std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<LiveRuntime> runtime);

  [[nodiscard]] Result<master::Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                                             const master::Permit* before) override;
  [[nodiscard]] Result<master::Job> publish(const master::Permit& permit,
                                            const master::Publication& publication,
                                            std::shared_ptr<master::Addressee> returns) override;
  [[nodiscard]] Result<master::Job> publish_async(const master::Permit& permit) override;
  [[nodiscard]] Result<master::Started> runner(const master::Permit& permit,
                                               std::shared_ptr<master::RunnerReturns> returns) override;
  [[nodiscard]] Result<master::Started> runner_async(const master::Permit& permit) override;
  [[nodiscard]] Result<master::WheelReply> wheel(const master::Permit& permit) override;
  [[nodiscard]] Result<master::Started> wheel_async(const master::Permit& permit) override;
  [[nodiscard]] Result<master::SshReply> ssh(const master::Permit& permit, std::size_t max_bytes) override;
  [[nodiscard]] Result<master::Session> login(const auth::Credentials& credentials,
                                              SteadyTime deadline) override;
  [[nodiscard]] Result<master::Session> session(SecretView token, SteadyTime deadline) override;
  [[nodiscard]] Result<void> logout(SecretView token, SteadyTime deadline) override;
  [[nodiscard]] Result<void> fire_event(std::string_view tag, Json data, const master::Session* caller,
                                        SteadyTime deadline) override;
  [[nodiscard]] Result<std::unique_ptr<master::EventReader>> events(const master::EventPermit& permit,
                                                                    std::string_view after) override;

 private:
  /// Checks a chunk of a logged-in user, since the errors reveal configuration. Errors: invocation,
  /// authorization.
  [[nodiscard]] Result<void> check_local(const lowstate::Chunk& chunk, const auth::Subject& subject,
                                         const auth::Permissions& rules, bool goes_inline) const;
  /// Checks a chunk for the client ssh, in which the master has no part. Errors: authentication, for a token
  /// that the master refuses; authorization; unavailable, without salt-ssh.
  [[nodiscard]] Result<void> check_ssh(const lowstate::Chunk& chunk, const auth::Subject& subject,
                                       const auth::Permissions& rules, SteadyTime deadline) const;
  [[nodiscard]] Result<master::Job> send(const master::Permit& permit, const master::Publication& publication,
                                         const MasterClient::Before& before) const;
  /// A started runner and its listener.
  struct StartedRunner {
    std::shared_ptr<RunnerListener> listener;
    master::Started started;
  };
  [[nodiscard]] Result<StartedRunner> start(const master::Permit& permit, const lowstate::MasterCall& call,
                                            const std::shared_ptr<master::RunnerReturns>& returns);
  [[nodiscard]] Result<master::Started> send_runner(const master::Permit& permit,
                                                    const lowstate::MasterCall& call,
                                                    const MasterClient::Before& before) const;
  [[nodiscard]] Result<void> wait_until_started(const master::Permit& permit, RunnerListener& listener);
  [[nodiscard]] std::optional<bool> has_runner(const master::Permit& permit, std::string_view runner);
  /// Fires an event with the master's runner `event.send`, as the caller. Errors: those of `start`; internal,
  /// if the runner failed.
  [[nodiscard]] Result<void> send_event(std::string_view tag, const Json& data, const master::Session& caller,
                                        SteadyTime deadline);
  [[nodiscard]] Result<master::Session> session_of(const Result<MasterClient::GrantPtr>& grant) const;

  const Options options_;
  const Nodegroups nodegroups_;
  const MasterClient client_;
  const std::unique_ptr<auth::Permissions> permissions_;
  const SshClient ssh_;
  const std::shared_ptr<LiveRuntime> runtime_;
  std::mutex mutex_;
  std::set<std::string, std::less<>>
      known_runners_;  ///< functions that have started before; guarded by mutex_
};

/// Checks whether a user may run each function of a compound call, by the master's `external_auth`. The
/// master itself accepts a list if any one function is allowed (`auth_check`), and `saltutil.find_job` is
/// allowed to all users. A rule for some minions counts only if the target is certainly within it: the same
/// text, or ids that its glob matches. Single functions are left to the master. Errors: authorization.
[[nodiscard]] Result<void> check_each_function(const auth::Permissions& permissions,
                                               const auth::Subject& subject, const lowstate::LocalCall& call);

/// Checks whether a user may run a function on hosts of a roster. Salt's netapi compares the target of a rule
/// with the minions whose keys the master has, which do not include a roster's hosts (`_authorize_ssh`; 3008
/// makes an exception for `*`). If the target matches no minion, every rule with a target allows it (compare
/// CVE-2022-22941). So only rules without a target count here. Errors: authorization.
[[nodiscard]] Result<void> check_on_roster(const auth::Permissions& permissions, const auth::Subject& subject,
                                           const lowstate::LocalCall& call);

/// Returns the permissions that the master keeps in the token, as for the back end `rest`; null if the rules
/// of the master's file apply.
[[nodiscard]] std::unique_ptr<auth::Permissions> permissions_of_token(const auth::Grant& grant);

/// Refuses keyword arguments `arg` and `kwarg` of a wheel. For rules with conditions on arguments, a master
/// looks for these names among the keyword arguments (`wheel_check`), so a caller could show it other
/// arguments than the function gets. Errors: invocation.
[[nodiscard]] Result<void> check_wheel_arguments(const lowstate::MasterCall& call);

/// Removes the file of a token, so that the master refuses the token. The file's name is the token, in 3008
/// with `.p` at the end; a token that is not hexadecimal names no file. Does not follow links. Errors:
/// unavailable, with the reason for the log.
[[nodiscard]] Result<void> remove_token_file(const std::string& token_dir, std::string_view token);

}  // namespace rest_fcgi::salt

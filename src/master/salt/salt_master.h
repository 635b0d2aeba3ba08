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
/// exchanged for a token, so that no password is in the data that the master stores and shows. Thread-safe.
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
  /// Checks a chunk for one of the local clients. If the errors would reveal configuration, `admit` confirms
  /// the login before this call. Errors: invocation, authorization.
  [[nodiscard]] Result<void> check_local(const lowstate::Chunk& chunk, const auth::Subject& subject,
                                         const auth::Permissions& rules, bool goes_inline) const;
  /// Checks a chunk for the client ssh, which does not use the master. Errors: authentication, for a token
  /// that the master refuses; authorization; unavailable, if salt-ssh is not installed.
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
  /// Fires an event with the master's runner `event.send`, with the permissions of the caller. Errors: those
  /// of `start`; internal, if the runner failed.
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
      known_runners_;  ///< The runners that have started before; guarded by mutex_.
};

/// Checks by the master's `external_auth` whether a user may run each function of a compound call. The master
/// itself accepts a list if one of its functions is allowed (`auth_check`), and `saltutil.find_job` is
/// allowed to all users. A rule for some minions counts only if it surely covers the target: the target is
/// the same text, or consists of ids that match the glob of the rule. The master checks single functions.
/// Errors: authorization.
[[nodiscard]] Result<void> check_each_function(const auth::Permissions& permissions,
                                               const auth::Subject& subject, const lowstate::LocalCall& call);

/// Checks whether a user may run a function on hosts of a roster. Salt's netapi compares the target of a rule
/// with the minions whose keys the master has. A roster's hosts are not among these minions
/// (`_authorize_ssh`; 3008 makes an exception for `*`). If the target matches no minion, every rule with a
/// target allows the call (compare CVE-2022-22941). So only rules without a target count here. Errors:
/// authorization.
[[nodiscard]] Result<void> check_on_roster(const auth::Permissions& permissions, const auth::Subject& subject,
                                           const lowstate::LocalCall& call);

/// Returns the permissions that the master keeps in the token, as for the back end `rest`. Null if the rules
/// in the master's file apply.
[[nodiscard]] std::unique_ptr<auth::Permissions> permissions_of_token(const auth::Grant& grant);

/// Refuses the keyword arguments `arg` and `kwarg` of a wheel. If a rule has conditions on arguments, the
/// master looks for these two names among the keyword arguments (`wheel_check`). A caller could thus show the
/// master other arguments than the function gets. Errors: invocation.
[[nodiscard]] Result<void> check_wheel_arguments(const lowstate::MasterCall& call);

/// Removes the file of a token, so that the master refuses the token. The name of the file is the token; in
/// 3008 `.p` follows. A token that is not hexadecimal is refused, since it names no file. Does not follow
/// links. Errors: unavailable, with the reason for the log.
[[nodiscard]] Result<void> remove_token_file(const std::string& token_dir, std::string_view token);

}  // namespace rest_fcgi::salt

// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "master/salt/calls/nodegroups.h"
#include "master/salt/job_listener.h"
#include "master/salt/master_client.h"
#include "master/salt/ssh_client.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/master/salt/salt.h"

namespace rest_fcgi::salt {

/// Implements `Master` with requests to a real master, which checks all permissions. Credentials are
/// exchanged for a token, so that the master stores no password. Thread-safe.
class SaltMaster final : public master::Master {
 public:
  SaltMaster(const Options& options, std::unique_ptr<auth::Logins> logins,
             std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<Runtime> runtime);

  Result<master::Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                               const master::Permit* before) override;
  Result<void> prepare(master::Permit& permit) override;
  Result<master::Job> publish(const master::Permit& permit, const master::Publication& publication,
                              std::shared_ptr<master::Addressee> returns) override;
  Result<master::Job> publish_async(const master::Permit& permit) override;
  Result<master::Started> runner(const master::Permit& permit,
                                 std::shared_ptr<master::RunnerReturns> returns) override;
  Result<master::Started> runner_async(const master::Permit& permit) override;
  Result<master::WheelReply> wheel(const master::Permit& permit) override;
  Result<master::Started> wheel_async(const master::Permit& permit) override;
  Result<master::SshReply> ssh(const master::Permit& permit, std::size_t max_bytes) override;
  Result<master::Session> login(const auth::Credentials& credentials, SteadyTime deadline) override;
  Result<master::Session> session(SecretView token, SteadyTime deadline) override;
  Result<void> logout(SecretView token, SteadyTime deadline) override;
  Result<void> fire_event(std::string_view tag, Json data, const master::Session* caller,
                          SteadyTime deadline) override;
  Result<std::unique_ptr<master::EventReader>> events(const master::EventPermit& permit,
                                                      std::string_view after) override;

 private:
  /// Checks a chunk for a local client. Fails with `invocation` or `authorization`. REQUIRES: the login is
  /// checked if an error would reveal configuration (`needs_lookup`).
  Result<void> check_local(const lowstate::Chunk& chunk, const auth::Subject& subject,
                           const auth::Permissions& rules, bool goes_inline) const;
  /// Checks a chunk for the client ssh. Such a chunk runs without the master. Fails with `authentication` for
  /// a refused token, with `authorization`, or with `unavailable` if salt-ssh is missing.
  Result<void> check_ssh(const lowstate::Chunk& chunk, const auth::Subject& subject,
                         const auth::Permissions& rules, SteadyTime deadline) const;
  /// Returns whether the rules of external_auth allow the permit's chunk for all minions of its target. If
  /// the Salt master refuses a load that has a job id, it shows the load and its token on its event bus.
  [[nodiscard]] static bool is_surely_allowed(const master::Permit& permit);
  /// Returns the id that `prepare` has chosen, or a new one.
  [[nodiscard]] std::string jid_of(const master::Permit& permit) const {
    return permit.jid().empty() ? runtime_->next_jid() : permit.jid();
  }
  Result<master::Job> send(const master::Permit& permit, const master::Publication& publication,
                           const MasterClient::Before& before) const;
  struct StartedRunner {
    std::shared_ptr<RunnerListener> listener;
    master::Started started;
  };
  Result<StartedRunner> start(const master::Permit& permit, const lowstate::MasterCall& call,
                              const std::shared_ptr<master::RunnerReturns>& returns);
  Result<master::Started> send_runner(const master::Permit& permit, const lowstate::MasterCall& call,
                                      const MasterClient::Before& before) const;
  Result<void> wait_until_started(const master::Permit& permit, RunnerListener& listener);
  [[nodiscard]] std::optional<bool> has_runner(const master::Permit& permit, std::string_view runner);
  /// Fires an event with the master's runner `event.send`, with the permissions of the caller. Fails with the
  /// errors of `start`, or with `internal` if the runner failed.
  Result<void> send_event(std::string_view tag, const Json& data, const master::Session& caller,
                          SteadyTime deadline);
  Result<master::Session> session_of(const Result<MasterClient::GrantPtr>& grant) const;

  const Options options_;
  const Nodegroups nodegroups_;
  const MasterClient client_;
  const std::unique_ptr<auth::Permissions> permissions_;
  const SshClient ssh_;
  const std::shared_ptr<Runtime> runtime_;
  Mutex mutex_;
  /// The names of runners that have started at least once.
  std::set<std::string, std::less<>> known_runners_ GUARDED_BY(mutex_);
};

/// Checks by the master's `external_auth` whether a user may run each function of a compound call. The master
/// itself accepts the call if one of its functions is allowed (`auth_check`). A rule with a target counts in
/// two cases: its target equals the call's target, or its glob matches all ids of the call. Only then is it
/// certain that the rule covers all minions of the call. Fails with `authorization`.
Result<void> check_each_function(const auth::Permissions& permissions, const auth::Subject& subject,
                                 const lowstate::LocalCall& call);

/// Checks whether a user may run a function on hosts of a roster. Only rules without a target count. Salt's
/// netapi (`_authorize_ssh`) compares the target of a rule with the master's minions, not with the roster. If
/// the target matches no minion, Salt therefore allows the call (compare CVE-2022-22941). Fails with
/// `authorization`.
Result<void> check_on_roster(const auth::Permissions& permissions, const auth::Subject& subject,
                             const lowstate::LocalCall& call);

/// Returns the permissions that the master stores in a token of the back end `rest`. Returns null if the
/// rules in the master's file apply.
[[nodiscard]] std::unique_ptr<auth::Permissions> permissions_of_token(const auth::Grant& grant);

/// Refuses a wheel's keyword arguments `arg` and `kwarg`. The master would compare its rules with these two
/// (`wheel_check`), and not with the arguments that the wheel gets. Fails with `invocation`.
Result<void> check_wheel_arguments(const lowstate::MasterCall& call);

/// Removes the file of a token, so that the master refuses the token. The file has the token's name, to which
/// Salt 3008 adds `.p`. Refuses a token that is not hexadecimal. Does not follow links. Fails with
/// `unavailable`.
Result<void> remove_token_file(const std::string& token_dir, std::string_view token);

}  // namespace rest_fcgi::salt

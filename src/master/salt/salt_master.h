// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "master/salt/callers.h"
#include "master/salt/calls/nodegroups.h"
#include "master/salt/job_listener.h"
#include "master/salt/runtime.h"
#include "master/salt/ssh_client.h"
#include "rest_fcgi/master/salt/salt.h"

namespace rest_fcgi::salt {

/// The calls of `Master` as requests to a real master. It decides what is permitted; here credentials are
/// traded for a token once, so that no password is in what the master stores and shows. Thread-safe.
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
  /// For who is logged in: what it says tells of the configuration. Errors: invocation, authorization.
  [[nodiscard]] Result<void> check_local(const lowstate::Chunk& chunk, const auth::Subject& subject,
                                         const auth::Permissions& rules, bool goes_inline) const;
  /// Nobody else looks at it: a master has no part in the client ssh. Errors: authentication, for a token
  /// that it no longer takes; authorization; unavailable, where there is no salt-ssh.
  [[nodiscard]] Result<void> check_ssh(const lowstate::Chunk& chunk, const auth::Subject& subject,
                                       const auth::Permissions& rules, SteadyTime deadline) const;
  [[nodiscard]] Result<master::Job> send(const master::Permit& permit, const master::Publication& publication,
                                         const Callers::Before& before) const;
  /// A runner that was started, and who hears of it.
  struct Heard {
    std::shared_ptr<RunnerListener> listener;
    master::Started started;
  };
  [[nodiscard]] Result<Heard> start(const master::Permit& permit, const lowstate::MasterCall& call,
                                    const std::shared_ptr<master::RunnerReturns>& returns);
  [[nodiscard]] Result<master::Started> send_runner(const master::Permit& permit,
                                                    const lowstate::MasterCall& call,
                                                    const Callers::Before& before) const;
  [[nodiscard]] Result<void> wait_until_begun(const master::Permit& permit, RunnerListener& listener);
  [[nodiscard]] std::optional<bool> is_there(const master::Permit& permit, std::string_view runner);
  /// Fires an event with the master's runner `event.send`, as the caller. Errors: those of `start`; internal,
  /// where the runner did not fire it.
  [[nodiscard]] Result<void> send_event(std::string_view tag, const Json& data, const master::Session& caller,
                                        SteadyTime deadline);
  [[nodiscard]] Result<master::Session> session_of(const Result<Callers::GrantPtr>& grant) const;

  const Options options_;
  const Nodegroups nodegroups_;
  const Callers callers_;
  const std::unique_ptr<auth::Permissions> permissions_;
  const SshClient ssh_;
  const std::shared_ptr<LiveRuntime> runtime_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> known_runners_;  ///< functions that have begun here; guarded by mutex_
};

/// May somebody run this list of functions? A master lets a list pass where any one function of it is
/// permitted (`auth_check`, on all living lines), and `saltutil.find_job` is permitted to everybody. So each
/// function has to be permitted here, by the master's own `external_auth`, alone; a rule for some minions
/// only counts where it is plain that the target lies within: the same text, or ids that its glob matches. A
/// single function is left to the master. Errors: authorization.
[[nodiscard]] Result<void> check_each_function(const auth::Permissions& permissions,
                                               const auth::Subject& subject, const lowstate::LocalCall& call);

/// May somebody run this on hosts of a roster? Salt's netapi holds the target of a rule against the minions
/// whose keys the master has, and a roster's hosts are none of these (`_authorize_ssh`; 3008 alone makes an
/// exception for `*`); where the target matches nobody at all, each such rule allows it (compare
/// CVE-2022-22941). So only rules without a target count here, which no line takes for less. Errors:
/// authorization.
[[nodiscard]] Result<void> check_on_roster(const auth::Permissions& permissions, const auth::Subject& subject,
                                           const lowstate::LocalCall& call);

/// Returns the rights that the master keeps in a grant's token, as the back end `rest` gives them; null where
/// it keeps none there, and the rules of its file count.
[[nodiscard]] std::unique_ptr<auth::Permissions> permissions_of_token(const auth::Grant& grant);

/// A rule may have conditions on a wheel's arguments. A master looks for these under the names `arg` and
/// `kwarg` among the keyword arguments (`wheel_check`, on all living lines): whoever sends keyword arguments
/// of such names would choose what it looks at, beside what the function gets. Errors: invocation.
[[nodiscard]] Result<void> check_wheel_arguments(const lowstate::MasterCall& call);

/// Removes the file of a token, so that its master does not take it any more, from whomever it comes. The
/// token's text is the file's name, with `.p` behind it in 3008, so a text that is not hexadecimal digits
/// alone names no file. Follows no link. Errors: unavailable, with why it stays, for the log.
[[nodiscard]] Result<void> remove_token_file(const std::string& token_dir, std::string_view token);

}  // namespace rest_fcgi::salt

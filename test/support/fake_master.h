// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "rest_fcgi/master/master.h"

namespace rest_fcgi::test {

/// A master whose minions follow a test. By default every user with a password other than `wrong` may do
/// everything, each minion returns true at once, and find_job reports no running job. It records what was
/// started. Set the public members before the first call; everything else is thread-safe.
class FakeMaster final : public master::Master {
 public:
  using Returns = std::shared_ptr<master::Addressee>;
  using What = master::Publication::What;

  std::vector<std::string> minions{"ms-0", "ms-1", "ms-2"};  ///< every target matches them
  std::vector<std::string> missing;
  std::vector<std::string> below_syndic;  ///< part of `minions` that the master calls missing
  std::vector<std::string> gone;          ///< minions that answer a ping but get no call
  std::vector<std::string> at_once;  ///< returns of the first minions that come with the job, as JSON ...
  What at_once_to = What::call;      ///< ... for publications of this kind
  /// Called for each minion and publication, with its `jid`.
  std::function<void(const std::string& minion, const master::Publication&, const std::string& jid, Returns)>
      on_minion;
  std::function<void(std::shared_ptr<master::RunnerReturns>)> on_runner;
  std::function<std::optional<Error>(const lowstate::Chunk&)> on_admit;
  bool has_ssh = true;
  bool says_at_once = true;  ///< whether the caller may start an asynchronous wheel
  /// Called with a token and the deadline; an error becomes the answer.
  std::function<std::optional<Error>(SteadyTime deadline)> on_session;
  std::string wheel_data = "{}";                            ///< `data` of a wheel's return, as JSON
  std::string ssh_reply = R"({"web1": {"return": true}})";  ///< return of the client ssh, as JSON
  /// Called with a word of `started()` before a start; an error prevents it.
  std::function<std::optional<Error>(const std::string& what)> on_start;

  /// The starts in order: `call ms-0,ms-1`, `ping ms-0`, `find_job ms-2`, `async`, `runner`, `wheel`, ...
  [[nodiscard]] std::vector<std::string> started() const;

  /// Fired events: `salt/netapi/hook/x {"a": 1}`. An error of `on_fire` prevents one.
  std::function<std::optional<Error>(std::string_view tag)> on_fire;
  [[nodiscard]] std::vector<std::string> fired() const;

  /// Runs something on another thread after a delay. The destructor waits for it.
  void later(std::chrono::milliseconds delay, std::function<void()> action);

  ~FakeMaster() override;
  [[nodiscard]] bool has(lowstate::Client client) const noexcept override {
    return has_ssh || client != lowstate::Client::ssh;
  }
  Result<master::Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                               const master::Permit* before = nullptr) override;
  Result<master::Job> publish(const master::Permit& permit, const master::Publication& publication,
                              Returns returns) override;
  Result<master::Job> publish_async(const master::Permit& permit) override;
  Result<master::Started> runner(const master::Permit& permit,
                                 std::shared_ptr<master::RunnerReturns> returns) override;
  Result<master::Started> runner_async(const master::Permit& permit) override;
  Result<master::WheelReply> wheel(const master::Permit& permit) override;
  Result<master::Started> wheel_async(const master::Permit& permit) override;
  Result<master::SshReply> ssh(const master::Permit& permit, std::size_t max_bytes) override;
  /// Each login gets its own token, `f0` and 62 digits, for `user` with the back end `eauth`.
  Result<master::Session> login(const auth::Credentials& credentials, SteadyTime deadline) override;
  Result<master::Session> session(SecretView token, SteadyTime deadline) override;
  Result<void> logout(SecretView token, SteadyTime deadline) override;
  Result<void> fire_event(std::string_view tag, Json data, const master::Session* caller,
                          SteadyTime deadline) override;
  Result<std::unique_ptr<master::EventReader>> events(const master::EventPermit& permit,
                                                      std::string_view after) override;

  /// The events of this master.
  const std::shared_ptr<master::EventLog> log = std::make_shared<master::EventLog>(system_clock());
  std::atomic<auth::EventScope> scope = auth::EventScope::all;  ///< visible events of all sessions
  /// The end of sessions: 12 hours after the start of a ManualClock.
  WallTime expire{std::chrono::seconds(1700000000) + std::chrono::hours(12)};

 private:
  /// Records a start and returns the id of the new job.
  Result<std::string> start(const std::string& what);
  Result<master::Started> start_function(const std::string& what, const std::string& prefix);

  mutable std::mutex mutex_;
  std::vector<std::string> started_;  // guarded by mutex_
  std::vector<std::string> fired_;    // guarded by mutex_
  std::uint64_t jobs_ = 0;            // guarded by mutex_
  std::vector<std::thread> threads_;  // guarded by mutex_
  /// Maps tokens of logged-in users to user and eauth.
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> sessions_;  // guarded by mutex_
  std::uint64_t logins_ = 0;                                                          // guarded by mutex_
};

/// Returns the id of the n-th job of a FakeMaster, counted from 1.
[[nodiscard]] std::string fake_jid(std::uint64_t n);

/// Returns a return of that minion.
[[nodiscard]] master::Return returned(const std::string& minion, std::string json = "true", int retcode = 0);

}  // namespace rest_fcgi::test

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

/// A master whose minions do what a test tells them. Without being told: everybody may do everything whose
/// password is not `wrong`, each minion returns true at once, and runs no job any more when asked. It writes
/// down what it was asked to start. Set the public members before the first call; the rest is thread-safe.
class FakeMaster final : public master::Master {
 public:
  using Returns = std::shared_ptr<master::Addressee>;
  using What = master::Publication::What;

  std::vector<std::string> minions{"ms-0", "ms-1", "ms-2"};  ///< whom every target matches
  std::vector<std::string> missing;
  std::vector<std::string> below_syndic;  ///< of `minions`, whom the master itself calls missing
  std::vector<std::string> gone;          ///< whom a call does not reach, though a ping did
  std::vector<std::string> at_once;       ///< what the first minions return with the job, as JSON ...
  What at_once_to = What::call;           ///< ... to publications of this kind
  /// What one minion does about one publication, of the job `jid`.
  std::function<void(const std::string& minion, const master::Publication&, const std::string& jid, Returns)>
      on_minion;
  std::function<void(std::shared_ptr<master::RunnerReturns>)> on_runner;
  std::function<std::optional<Error>(const lowstate::Chunk&)> on_admit;
  bool has_ssh = true;
  bool says_at_once = true;  ///< whether the caller may start a wheel that nobody waits for
  /// Asked whose a token is, with the deadline; an error is the answer.
  std::function<std::optional<Error>(SteadyTime deadline)> on_session;
  std::string wheel_data = "{}";                            ///< `data` of what a wheel gives, as JSON
  std::string ssh_reply = R"({"web1": {"return": true}})";  ///< what the client ssh gives, as JSON
  /// Asked with a word from `started()` before something is started: an error keeps it from starting.
  std::function<std::optional<Error>(const std::string& what)> on_start;

  /// What was started, in order: `call ms-0,ms-1`, `ping ms-0`, `find_job ms-2`, `async`, `runner`, `wheel`,
  /// ...
  [[nodiscard]] std::vector<std::string> started() const;

  /// What was fired: `salt/netapi/hook/x {"a": 1}`. An error of `on_fire` keeps it from being fired.
  std::function<std::optional<Error>(std::string_view tag)> on_fire;
  [[nodiscard]] std::vector<std::string> fired() const;

  /// Does something on another thread after a while. Before this master goes, all of it is done.
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
  /// Each login gets a token of its own, `f0` and 62 digits, for `user` with the back end `eauth`.
  Result<master::Session> login(const auth::Credentials& credentials, SteadyTime deadline) override;
  Result<master::Session> session(SecretView token, SteadyTime deadline) override;
  Result<void> logout(SecretView token, SteadyTime deadline) override;
  Result<void> fire_event(std::string_view tag, Json data, const master::Session* caller,
                          SteadyTime deadline) override;
  Result<std::unique_ptr<master::EventReader>> events(const master::EventPermit& permit,
                                                      std::string_view after) override;

  /// What happens at it.
  const std::shared_ptr<master::EventLog> log = std::make_shared<master::EventLog>(system_clock());
  std::atomic<auth::EventScope> scope = auth::EventScope::all;  ///< of all sessions
  /// When sessions end: 12 hours behind what a ManualClock begins with.
  WallTime expire{std::chrono::seconds(1700000000) + std::chrono::hours(12)};

 private:
  /// Writes down that it starts, and gives the new job's id.
  Result<std::string> start(const std::string& what);
  Result<master::Started> start_function(const std::string& what, const std::string& prefix);

  mutable std::mutex mutex_;
  std::vector<std::string> started_;  // guarded by mutex_
  std::vector<std::string> fired_;    // guarded by mutex_
  std::uint64_t jobs_ = 0;            // guarded by mutex_
  std::vector<std::thread> threads_;  // guarded by mutex_
  /// Token to user and eauth of those who are logged in.
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> sessions_;  // guarded by mutex_
  std::uint64_t logins_ = 0;                                                          // guarded by mutex_
};

/// The id of the n-th job of a FakeMaster, counted from 1.
[[nodiscard]] std::string fake_jid(std::uint64_t n);

/// A return of that minion.
[[nodiscard]] master::Return returned(const std::string& minion, std::string json = "true", int retcode = 0);

}  // namespace rest_fcgi::test

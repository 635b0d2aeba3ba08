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

/// A master whose behaviour a test sets with the public members, before the first call. By default, every
/// user may run everything, unless the password is `wrong`, and each minion returns true. Calls are
/// thread-safe.
class FakeMaster final : public master::Master {
 public:
  using Returns = std::shared_ptr<master::Addressee>;
  using What = master::Publication::What;

  /// The minions that every target matches.
  std::vector<std::string> minions{"ms-0", "ms-1", "ms-2"};
  std::vector<std::string> missing;
  std::vector<std::string> below_syndic;  ///< A job reports the minions in `below_syndic` as missing.
  std::vector<std::string> gone;          ///< The minions in `gone` answer a ping but not a call.
  std::vector<std::string> silent;        ///< The minions in `silent` never answer.
  /// `publish` returns `at_once` (JSON) as the first returns of a job.
  std::vector<std::string> at_once;
  /// The master calls `on_minion` for each minion of a job. `on_minion` passes the return to its parameter
  /// `Returns`.
  std::function<void(const std::string& minion, const master::Publication&, const std::string& jid, Returns)>
      on_minion;
  std::function<void(std::shared_ptr<master::RunnerReturns>)> on_runner;
  std::function<std::optional<Error>(const lowstate::Chunk&)> on_admit;
  bool has_ssh = true;
  bool says_at_once = true;  ///< `wheel_async` returns `says_at_once` as `is_accepted`.
  /// `session` calls `on_session`, and returns the error of `on_session`, if any.
  std::function<std::optional<Error>(SteadyTime deadline)> on_session;
  std::string wheel_data = "{}";  ///< `wheel_data` is the member `data` of each wheel's return.
  /// `ssh_reply` is the return of each call of the client `ssh`, as JSON.
  std::string ssh_reply = R"({"web1": {"return": true}})";
  /// The master calls `on_start` before a job starts. `what` is the text of the job in `started()`. After an
  /// error, the job does not start.
  std::function<std::optional<Error>(const std::string& what)> on_start;

  /// Returns the jobs that were started, in order. Each job is a text such as `call ms-0,ms-1`, `find_job
  /// ms-2` or `runner`.
  [[nodiscard]] std::vector<std::string> started() const;

  /// The master calls `on_fire` before it fires an event. After an error, the event is not fired.
  std::function<std::optional<Error>(std::string_view tag)> on_fire;
  [[nodiscard]] std::vector<std::string> fired() const;

  /// Calls `action` on another thread after a delay. The destructor of the master waits for this thread.
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
  /// Returns a session with a new token for the user and the back end in the credentials.
  Result<master::Session> login(const auth::Credentials& credentials, SteadyTime deadline) override;
  Result<master::Session> session(SecretView token, SteadyTime deadline) override;
  Result<void> logout(SecretView token, SteadyTime deadline) override;
  Result<void> fire_event(std::string_view tag, Json data, const master::Session* caller,
                          SteadyTime deadline) override;
  Result<std::unique_ptr<master::EventReader>> events(const master::EventPermit& permit,
                                                      std::string_view after) override;

  const std::shared_ptr<master::EventLog> log = std::make_shared<master::EventLog>(system_clock());
  std::atomic<auth::EventScope> scope = auth::EventScope::all;  ///< Each session may see the events of
                                                                ///< `scope`.
  /// All sessions end at `expire`, 12 hours after the time at which a ManualClock starts.
  WallTime expire{std::chrono::seconds(1700000000) + std::chrono::hours(12)};

 private:
  Result<std::string> start(const std::string& what);
  Result<master::Started> start_function(const std::string& what, const std::string& prefix);

  mutable std::mutex mutex_;
  std::vector<std::string> started_;
  std::vector<std::string> fired_;
  std::uint64_t jobs_ = 0;
  std::vector<std::thread> threads_;
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> sessions_;
  std::uint64_t logins_ = 0;
};

/// Returns the jid of the n-th job of a FakeMaster. The first job has n = 1.
[[nodiscard]] std::string fake_jid(std::uint64_t n);

[[nodiscard]] master::Return returned(const std::string& minion, std::string json = "true", int retcode = 0);

}  // namespace rest_fcgi::test

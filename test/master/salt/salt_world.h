// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/eventually.h"
#include "../../support/fake_event_bus.h"
#include "../../support/fake_ret_port.h"
#include "../../support/temp_dir.h"
#include "calls/fixtures.h"
#include "master/salt/packed/packed.h"
#include "rest_fcgi/auth/revocation_list.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/salt/salt.h"

namespace rest_fcgi::test {

inline constexpr const char* kPing = R"("client": "local", "tgt": "*", "fun": "test.ping")";

/// A `SaltMaster` with a fake master port and a fake event bus. A test sets the replies by the member `cmd`
/// of the load. By default, every password except `wrong` gets a token, a job goes to the minion `ms-0`, and
/// every runner and wheel starts.
class SaltWorld {
 public:
  static constexpr const char* kJid = "20261121000000000001";
  static constexpr const char* kToken = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";
  /// Returns the reply to a load as JSON text. For an empty text, no reply is sent.
  using Answer = std::function<std::string(const std::string& load)>;

  explicit SaltWorld(salt::Options options = {}, std::vector<auth::EauthOptions> rules = {},
                     const auth::LoginGuardOptions& guard = {},
                     std::chrono::seconds ttl = std::chrono::seconds(30))
      : bus_(dir_ / "master_event_pub.ipc"), port_([this](std::string body) { return answer(body); }, 4) {
    options.ret_port = static_cast<unsigned>(std::stoul(port_.uri().substr(port_.uri().rfind(':') + 1)));
    options.sock_dir = dir_.path().string();
    options.conf_file = "/etc/salt/master";
    options.token_dir = token_dir();
    auto runtime = salt::make_runtime(options, system_clock());
    REQUIRE(runtime);
    runtime_ = *runtime;
    const std::shared_ptr<store::Store> store = *store::Store::open({});
    auto logins = std::make_unique<auth::Logins>(
        guard, ttl, system_clock(), store, std::make_shared<auth::RevocationList>(store, system_clock()));
    auto permissions = auth::Permissions::make(rules);
    REQUIRE(permissions);
    auto master = salt::make_master(options, std::move(logins), *std::move(permissions), runtime_);
    REQUIRE(master);
    master_ = *master;
  }

  void on(const std::string& cmd, Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_[cmd] = std::move(answer);
  }

  /// Makes the master reply with the JSON text `reply` to each load whose member `cmd` has this value.
  void always(const std::string& cmd, const std::string& reply) {
    on(cmd, [reply](const std::string&) { return reply; });
  }

  void refuse(const std::string& cmd, std::string_view name,
              std::string_view message = "Authorization error occurred.") {
    always(cmd, format(R"({{"error": {{"name": "{}", "message": "{}"}}}})", name, message));
  }

  /// Returns the master's reply about a token. `more` contains additional members as JSON.
  static std::string grant(std::string_view token, std::string_view user = "fred",
                           std::string_view more = {}) {
    return format(
        R"({{"token": "{}", "name": "{}", "eauth": "pam", "start": 1.5, "expire": 9999999999.5{}}})", token,
        user, more);
  }

  std::vector<std::string> loads(std::string_view cmd) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    for (const auto& [name, load] : loads_) {
      if (name == cmd) found.push_back(load);
    }
    return found;
  }

  /// Returns a chunk with a password. The chunk lives as long as this object.
  const lowstate::Chunk& chunk(const std::string& members, const std::string& password = "secret") {
    const std::string credentials =
        format(R"("eauth": "pam", "username": "fred", "password": "{}")", password);
    chunks_.push_back(std::make_unique<ReadChunk>(format("{{{}, {}}}", credentials, members)));
    return **chunks_.back();
  }

  const lowstate::Chunk& chunk_with_token(std::string_view members, std::string_view token = kToken) {
    chunks_.push_back(std::make_unique<ReadChunk>(format(R"({{"token": "{}", {}}})", token, members)));
    return **chunks_.back();
  }

  master::Permit permit(const std::string& members = kPing) {
    Result<master::Permit> permit = master_->admit(chunk(members), soon());
    if (!permit) FAIL(permit.error().message);
    return *std::move(permit);
  }

  Error refusal(const std::string& members, const std::string& password = "secret") {
    const Result<master::Permit> permit = master_->admit(chunk(members, password), soon());
    REQUIRE_FALSE(permit);
    return permit.error();
  }

  static std::string runner_reply(std::string_view jid = kJid) {
    return format(R"({{"tag": "salt/run/{0}", "jid": "{0}"}})", jid);
  }

  Result<master::Started> start_runner(const master::Permit& permit) {
    return master_->runner(permit, std::make_shared<master::RunnerReturns>());
  }

  void send_return(const std::string& minion, const std::string& value, const std::string& jid = kJid) {
    bus_.send(
        format("salt/job/{}/ret/{}", jid, minion),
        packed(format(R"({{"cmd": "_return", "id": "{}", "jid": "{}", "return": {}}})", minion, jid, value)));
  }

  void begin_runner(const std::string& jid = kJid) {
    bus_.send(format("salt/run/{}/new", jid), packed(format(R"({{"jid": "{}"}})", jid)));
  }

  static SteadyTime soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

  [[nodiscard]] master::Master& master() { return *master_; }
  [[nodiscard]] salt::Runtime& runtime() { return *runtime_; }
  [[nodiscard]] FakeEventBus& bus() { return bus_; }
  [[nodiscard]] FakeRetPort& port() { return port_; }
  [[nodiscard]] FakeEventPull& pull() { return pull_; }
  /// The master's token folder does not exist until a test creates it.
  [[nodiscard]] std::string token_dir() const { return dir_ / "tokens"; }

 private:
  std::optional<std::string> answer(const std::string& body) {
    const auto envelope = salt::Fields::read(body, {"load"});
    const auto load = salt::Fields::read(envelope->find("load")->packed, {"cmd"});
    const std::string cmd(load->text("cmd"));
    const std::string json = salt::to_json(envelope->find("load")->packed)->text();
    Answer how;
    {
      const std::lock_guard lock(mutex_);
      loads_.emplace_back(cmd, json);
      if (const auto found = answers_.find(cmd); found != answers_.end()) how = found->second;
    }
    if (!how && cmd == "runner") begin_runner();
    const std::string reply = how ? how(json) : usual(cmd, json);
    if (reply.empty()) return std::nullopt;
    return packed(reply);
  }

  static std::string usual(const std::string& cmd, const std::string& load) {
    if (cmd == "mk_token") {
      return load.find("wrong") != std::string::npos ? R"("")" : grant("t0ken");
    }
    if (cmd == "get_token") return load.find("t0ken") == std::string::npos ? "{}" : grant("t0ken");
    if (cmd == "publish") {
      return format(R"({{"enc": "clear", "load": {{"jid": "{}", "minions": ["ms-0"], "missing": []}}}})",
                    kJid);
    }
    if (cmd == "runner") return runner_reply();
    return format(R"({{"tag": "salt/wheel/{0}", "data": {{"jid": "{0}", "return": [], "success": true}}}})",
                  kJid);
  }

  TempDir dir_;
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::vector<std::pair<std::string, std::string>> loads_;
  FakeEventBus bus_;
  FakeEventPull pull_{dir_ / "master_event_pull.ipc"};
  FakeRetPort port_;
  std::deque<std::unique_ptr<ReadChunk>> chunks_;
  std::shared_ptr<salt::Runtime> runtime_;
  std::shared_ptr<master::Master> master_;
};

}  // namespace rest_fcgi::test

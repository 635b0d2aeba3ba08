// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "eventually.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/embedded/embedded.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::test {

/// An embedded engine with the minions of `options`, or with three minions if `options` names none. All users
/// have the password `secret`. The function `external_auth` sets the permissions of the users.
class EmbeddedEngine {
 public:
  using Returns = std::map<std::string, master::Return>;

  explicit EmbeddedEngine(embedded::Options options = {}, const returner::Options& cache = {},
                          const std::shared_ptr<store::Store>& store = *store::Store::open({}))
      : options_(std::move(options)), store_(store) {
    if (options_.minions.empty()) {
      options_.minions = {{"ms-0", Json::trusted(R"({"role": "web"})"), Json::empty_object()},
                          {"ms-1", Json::trusted(R"({"role": "web"})"), Json::empty_object()},
                          {"ms-2", Json::trusted(R"({"role": "db"})"), Json::empty_object()}};
    }
    auto returners = returner::Returners::make(cache, store, system_clock());
    REQUIRE(returners);
    runtime = embedded::make_runtime(options_, *std::move(returners), store, system_clock());
    master = reloaded();
    runtime->announce_minions();
  }

  [[nodiscard]] std::shared_ptr<master::Master> reloaded() const { return reloaded(options_); }
  [[nodiscard]] std::shared_ptr<master::Master> reloaded(const embedded::Options& options) const {
    auth::Options auth;
    auth.external_auth = external_auth();
    auth.sharedsecret = Secret("secret");
    auto authenticator = auth::Authenticator::make(auth, system_clock(), store_);
    auto permissions = auth::Permissions::make(auth.external_auth);
    REQUIRE(authenticator);
    REQUIRE(permissions);
    auto made = embedded::make_master(options, *std::move(authenticator), *std::move(permissions), runtime);
    REQUIRE(made);
    return *made;
  }

  /// Returns a chunk (one command of a request) with the JSON members `members` and with credentials of
  /// `user`. The chunk lives as long as this object.
  const lowstate::Chunk& chunk(std::string_view members, std::string_view user = "fred",
                               std::string_view password = "secret") {
    return read(format(R"([{{"eauth": "sharedsecret", "username": "{}", "password": "{}", {}}}])", user,
                       password, members));
  }

  const lowstate::Chunk& chunk_with_token(std::string_view members, std::string_view token) {
    return read(format(R"([{{"token": "{}", {}}}])", token, members));
  }

  const lowstate::Chunk& read(const std::string& text) {
    Request& request = requests_.emplace_back();
    REQUIRE(request.document.parse(text));
    Result<std::vector<lowstate::Chunk>> read = lowstate::read(request.document.root(), {});
    if (!read) FAIL(read.error().message);
    request.chunks = *std::move(read);
    return request.chunks.front();
  }

  Error refusal(std::string_view members, std::string_view user = "fred",
                std::string_view password = "secret") {
    return master->admit(chunk(members, user, password), soon()).error();
  }

  master::Permit permit(std::string_view members, std::string_view user = "fred") {
    Result<master::Permit> permit = master->admit(chunk(members, user), soon());
    if (!permit) FAIL(permit.error().message);
    return *std::move(permit);
  }

  bool admits(std::string_view members, std::string_view user = "fred") {
    return master->admit(chunk(members, user), soon()).ok();
  }

  std::pair<master::Job, Returns> publish(std::string_view members,
                                          const master::Publication& publication = {}) {
    auto mailbox = std::make_shared<master::Returns>();
    const Result<master::Job> job = master->publish(permit(members), publication, mailbox);
    if (!job) FAIL(job.error().message);
    Returns returns;
    for (const master::Return& ret : job->returned) returns.emplace(ret.minion, ret);
    while (returns.size() < job->minions.size()) {
      auto one = mailbox->take(soon());
      REQUIRE(one.has_value());
      auto& ret = std::get<master::Return>(*one);
      returns.emplace(ret.minion, std::move(ret));
    }
    return {*job, std::move(returns)};
  }

  /// Publishes a job and returns the returns of all minions as one JSON object.
  std::string call(std::string_view members, const master::Publication& publication = {}) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_object();
    for (const auto& [minion, ret] : publish(members, publication).second) writer.key(minion).json(ret.ret);
    writer.end_object();
    return text;
  }

  master::RunnerReturn runner(std::string_view members, std::string_view user = "fred") {
    auto mailbox = std::make_shared<master::RunnerReturns>();
    const auto started = master->runner(permit(format(R"("client": "runner", {})", members), user), mailbox);
    REQUIRE(started);
    last_started = *started;
    auto ret = mailbox->take(soon());
    REQUIRE(ret.has_value());
    REQUIRE(*ret);
    return **std::move(ret);
  }

  /// Starts an asynchronous job at once. Unlike this function, the server starts such a job only after its
  /// reply.
  [[nodiscard]] Result<master::Job> publish_async(const master::Permit& permit) const {
    return begun(master->publish_async(permit));
  }

  /// Starts an asynchronous job that sleeps for ten minutes. Returns its jid.
  std::string start_sleep(std::string_view tgt) {
    const auto job = publish_async(
        permit(format(R"("client": "local_async", "tgt": "{}", "fun": "test.sleep", "arg": [600])", tgt)));
    REQUIRE(job);
    return job->jid;
  }

  master::Started start_runner(std::string_view members) {
    const auto started =
        begun(master->runner_async(permit(format(R"("client": "runner_async", {})", members))));
    REQUIRE(started);
    return *started;
  }

  std::string lookup(std::string_view jid) {
    return runner(format(R"("fun": "jobs.lookup_jid", "jid": "{}")", jid)).ret.text();
  }

  template <class Accepted>
  static Result<Accepted> begun(Result<Accepted> accepted) {
    if (accepted) accepted->gate.reset();
    return accepted;
  }

  static SteadyTime soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

  std::shared_ptr<embedded::Runtime> runtime;
  std::shared_ptr<master::Master> master;
  master::Started last_started;

 private:
  struct Request {
    JsonDocument document;
    std::vector<lowstate::Chunk> chunks;
  };

  static std::vector<auth::EauthOptions> external_auth() {
    const auto any = [](const char* scope) { return auth::Rule{scope, {{".*", {}}}}; };
    return {{"sharedsecret",
             {},
             {{"fred", {any(""), any("@runner"), any("@wheel")}},
              {"ann", {{"G@role:web", {{"test.ping", {}}, {"test.arg", {}}}}}},
              {"joe", {{"@jobs", {}}}},
              {"bob", {{"@runner", {{"manage.up", {}}}}}},
              {"dan", {{"@runner", {{"test.arg", {{{"(?!99$).*"}, {}}}}}}}},
              {"cat", {{"P@role:web", {{"test.ping", {}}}}}},
              {"gus", {{"", {{"test.ping", {}}}}, {"ms-0", {{"pillar.get", {}}}}}},
              {"hal", {{"", {{"test.ping", {}}}}, {"@runner", {{"manage.up", {}}}}}},
              {"eve", {}}}}};
  }

  embedded::Options options_;
  std::shared_ptr<store::Store> store_;
  std::deque<Request> requests_;
};

}  // namespace rest_fcgi::test

// SPDX-License-Identifier: MIT
#include "rest_fcgi/netapi/stream_registry.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../client/admitted.h"
#include "../support/captured_log.h"
#include "../support/embedded_engine.h"
#include "../support/fake_master.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;
using netapi::StreamRegistry;

namespace {

struct Table {
  explicit Table(netapi::StreamLimits limits = {}) {
    master->expire = system_clock().wall() + std::chrono::hours(1);
    streams->use(client, limits);
  }

  master::Session log_in(const char* user = "fred") const {
    return *client->master().login({.kind = auth::Credentials::Kind::eauth,
                                    .eauth = "auto",
                                    .username = user,
                                    .password = SecretView("x")},
                                   SteadyTime::max());
  }

  Result<std::unique_ptr<StreamRegistry::Subscription>> open(const master::Session& session) const {
    return streams->open(session, *client->admit_events(session));
  }

  std::shared_ptr<FakeMaster> master = std::make_shared<FakeMaster>();
  std::shared_ptr<const client::NetapiClient> client =
      std::make_shared<const client::NetapiClient>(quick_options(), master);
  std::shared_ptr<StreamRegistry> streams = std::make_shared<StreamRegistry>(system_clock());
};

StreamRegistry::Subscription::Update next_update(StreamRegistry::Subscription& subscription) {
  const auto woken = std::make_shared<std::atomic<int>>(0);
  const auto wake = std::make_shared<const std::function<void()>>([woken] { ++*woken; });
  auto poll = subscription.poll(wake);
  if (!poll.permit && poll.end_reason.empty()) {
    CHECK(test::eventually([&] { return *woken > 0; }));
    poll = subscription.poll(nullptr);
  }
  return poll;
}

}  // namespace

TEST_CASE("the number of streams is limited in total and per user") {
  const Table table({.max_streams = 3, .max_streams_per_user = 2});
  const auto fred = table.log_in(), again = table.log_in(), joe = table.log_in("joe");
  auto one = table.open(fred);
  const auto two = table.open(again);
  CHECK(
      table.open(fred).error().message ==
      "max_streams_per_user: 2 event streams are open for this user, which is the maximum; close some first");
  CHECK(table.open(fred).error().kind == ErrorKind::unavailable);
  const auto three = table.open(joe);
  REQUIRE(three);
  CHECK(table.open(joe).error().message ==
        "max_streams: 3 event streams are open, which is the maximum; close some first");
  one->reset();
  CHECK(table.open(fred));
}

TEST_CASE("a stream ends after its token was revoked elsewhere, and with end_streams at once") {
  const Table table;
  const auto fred = table.log_in(), joe = table.log_in("joe");
  const auto mine = table.open(fred), also_mine = table.open(fred), other = table.open(joe);
  CHECK((*mine)->poll(nullptr).end_reason.empty());
  REQUIRE(table.master->logout(fred.token, SteadyTime::max()));
  CHECK(next_update(**mine).end_reason == "The session has ended.");
  CHECK(next_update(**also_mine).end_reason == "The session has ended.");
  CHECK((*other)->poll(nullptr).end_reason.empty());
  CHECK(table.open(joe));
  const auto ann = table.open(table.log_in("ann"));
  REQUIRE(table.master->logout(joe.token, SteadyTime::max()));
  table.streams->end_streams(joe.token);
  CHECK_FALSE((*other)->poll(nullptr).end_reason.empty());
  CHECK((*ann)->poll(nullptr).end_reason.empty());
}

TEST_CASE("a stream gets changed permissions, and a reload replaces the client that is asked") {
  const Table table;
  const auto session = table.log_in();
  const auto subscription = table.open(session);
  table.master->scope = auth::EventScope::own;
  const auto poll = next_update(**subscription);
  REQUIRE(poll.permit);
  CHECK(poll.permit->scope == auth::EventScope::own);
  CHECK(poll.permit->user == "fred");
  table.master->scope = auth::EventScope::nothing;
  CHECK(next_update(**subscription).end_reason == "No rule of external_auth lets you see events.");
  table.master->scope = auth::EventScope::all;
  const auto other = table.open(table.log_in());
  const auto fresh = std::make_shared<FakeMaster>();
  table.streams->use(std::make_shared<const client::NetapiClient>(quick_options(), fresh), {});
  CHECK(next_update(**other).end_reason == "The session has ended.");
}

TEST_CASE("streams survive a silent master until the token expires") {
  std::atomic<bool> away = false;
  std::atomic<int> checks = 0;
  const Table table;
  table.master->expire = system_clock().wall() + std::chrono::seconds(3);
  table.master->on_session = [&](SteadyTime) -> std::optional<Error> {
    if (!away) return std::nullopt;
    ++checks;
    return Error{ErrorKind::unavailable, "gone"};
  };
  const auto session = table.log_in();
  const auto subscription = table.open(session);
  away = true;
  CHECK(test::eventually([&] { return checks > 0; }));
  CHECK((*subscription)->poll(nullptr).end_reason.empty());
  CHECK(next_update(**subscription).end_reason == "The session has ended.");
  CHECK(system_clock().wall() >= session.expire);
  CHECK(system_clock().wall() < session.expire + std::chrono::seconds(15));
}

TEST_CASE("a slow check of one token does not delay the others") {
  // While `away` is true, the master does not answer checks of sessions. After the deadline, a check uses the
  // cached answer.
  std::atomic<bool> away = false;
  const Table table;
  table.master->on_session = [&away](SteadyTime deadline) -> std::optional<Error> {
    if (!away || deadline <= system_clock().steady()) return std::nullopt;
    return Error{ErrorKind::unavailable, "gone"};
  };
  const auto fred = table.log_in(), joe = table.log_in("joe");
  const auto mine = table.open(fred), other = table.open(joe);
  away = true;
  REQUIRE(table.master->logout(joe.token, SteadyTime::max()));
  CHECK(next_update(**other).end_reason == "The session has ended.");
}

namespace {

struct Slow {
  StreamRegistry::Subscription::Call call() {
    return [this](const client::NetapiClient& client, SecretView token, std::string_view chunk) {
      CHECK(client.master().session(token, SteadyTime::max())->user == "fred");
      ++checks;
      while (!go) std::this_thread::yield();
      return Json::string(chunk);
    };
  }
  [[nodiscard]] bool begun() const {
    return test::eventually([this] { return checks == 1; });
  }

  std::atomic<bool> go = false;
  std::atomic<int> checks = 0;
};

/// Returns the number of new answers of a subscription. Each answer must have the subject `it` and the value
/// `q`, the chunk that `Slow` sends back.
std::size_t received_by(StreamRegistry::Subscription& subscription) {
  const auto answers = subscription.poll(nullptr).answers;
  for (const auto& [subject, answer] : answers) CHECK((subject == "it" && answer == Json::string("q")));
  return answers.size();
}

}  // namespace

TEST_CASE("equal calls of one token run once, and the queue is limited") {
  Slow slow;
  const Table table;
  const CapturedLog log;
  const auto session = table.log_in();
  const auto one = table.open(session), two = table.open(session);
  auto gone = table.open(session);
  (*one)->call("q", slow.call(), "it");
  (*gone)->call("q", slow.call(), "it");
  CHECK(slow.begun());
  gone->reset();
  for (int i = 0; i < 200; ++i) (*two)->call("q", slow.call(), "it");
  CHECK(log.text().empty());
  for (int i = 0; i < 200; ++i) (*two)->call(std::to_string(i), slow.call());
  CHECK(log.text().find("replies are incomplete") != std::string::npos);
  slow.go = true;
  CHECK(test::eventually([&] { return slow.checks == 100; }));
  CHECK(received_by(**one) == 1);
  CHECK(received_by(**two) == 200);
  CHECK(received_by(**two) == 0);
}

TEST_CASE("a slow call does not delay a logout") {
  Slow slow;
  const Table table;
  const auto fred = table.log_in(), joe = table.log_in("joe");
  const auto mine = table.open(fred), other = table.open(joe);
  (*mine)->call("q", slow.call());
  CHECK(slow.begun());
  (*other)->call("q", slow.call(), "it");
  REQUIRE(table.master->logout(joe.token, SteadyTime::max()));
  CHECK(next_update(**other).end_reason == "The session has ended.");
  slow.go = true;
  (*mine)->call("last", slow.call());
  CHECK(test::eventually([&] { return slow.checks == 2; }));
}

// SPDX-License-Identifier: MIT
#include "rest_fcgi/netapi/streams.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../client/admitted.h"
#include "../support/captured_log.h"
#include "../support/embedded_engine.h"
#include "../support/fake_master.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;
using netapi::Streams;

namespace {

/// A table of streams over a FakeMaster whose sessions last for an hour.
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

  Result<std::unique_ptr<Streams::Seat>> open(const master::Session& session) const {
    return streams->open(session, *client->admit_events(session));
  }

  std::shared_ptr<FakeMaster> master = std::make_shared<FakeMaster>();
  std::shared_ptr<const client::NetapiClient> client =
      std::make_shared<const client::NetapiClient>(quick_options(), master);
  std::shared_ptr<Streams> streams = std::make_shared<Streams>(system_clock());
};

/// What the next wake tells.
Streams::Seat::News next_news(Streams::Seat& seat) {
  const auto woken = std::make_shared<std::atomic<int>>(0);  // the seat may keep it for longer than this call
  const auto wake = std::make_shared<const std::function<void()>>([woken] { ++*woken; });
  auto news = seat.news(wake);
  if (!news.permit && news.over.empty()) {
    CHECK(EmbeddedEngine::eventually([&] { return *woken > 0; }));
    news = seat.news(nullptr);
  }
  return news;
}

}  // namespace

TEST_CASE("there are at most so many streams, and so many for each user") {
  const Table table({.max_streams = 3, .max_streams_per_user = 2});
  const auto fred = table.log_in(), again = table.log_in(), joe = table.log_in("joe");
  auto one = table.open(fred);
  const auto two = table.open(again);
  CHECK(table.open(fred).error().message ==
        "Your 2 streams of events are open; there may be no more (max_streams_per_user)");
  CHECK(table.open(fred).error().kind == ErrorKind::unavailable);
  const auto three = table.open(joe);
  REQUIRE(three);
  CHECK(table.open(joe).error().message ==
        "All 3 streams of events are open; there may be no more (max_streams)");
  one->reset();
  CHECK(table.open(fred));
}

TEST_CASE("a stream ends soon after a logout, and no other does") {
  const Table table;
  const auto fred = table.log_in(), joe = table.log_in("joe");
  const auto mine = table.open(fred), also_mine = table.open(fred), other = table.open(joe);
  CHECK((*mine)->news(nullptr).over.empty());
  REQUIRE(table.master->logout(fred.token, SteadyTime::max()));
  CHECK(next_news(**mine).over == "The session has ended.");
  CHECK(next_news(**also_mine).over == "The session has ended.");
  CHECK((*other)->news(nullptr).over.empty());
  CHECK(table.open(joe));
}

TEST_CASE("a logout here ends streams at once") {
  const Table table;
  const auto fred = table.log_in();
  const auto seat = table.open(fred), other = table.open(table.log_in("joe"));
  REQUIRE(table.master->logout(fred.token, SteadyTime::max()));
  table.streams->end(fred.token);
  CHECK_FALSE((*seat)->news(nullptr).over.empty());
  CHECK((*other)->news(nullptr).over.empty());
}

TEST_CASE("a stream sees what its user may see now") {
  const Table table;
  const auto session = table.log_in();
  const auto seat = table.open(session);
  table.master->scope = auth::EventScope::own;
  const auto news = next_news(**seat);
  REQUIRE(news.permit);
  CHECK(news.permit->scope == auth::EventScope::own);
  CHECK(news.permit->user == "fred");
  table.master->scope = auth::EventScope::nothing;
  CHECK(next_news(**seat).over == "No rule of external_auth lets you see events.");
}

TEST_CASE("the client of a reload is asked") {
  const Table table;
  const auto seat = table.open(table.log_in());
  const auto fresh = std::make_shared<FakeMaster>();
  table.streams->use(std::make_shared<const client::NetapiClient>(quick_options(), fresh), {});
  CHECK(next_news(**seat).over == "The session has ended.");
}

TEST_CASE("a master that does not answer ends no stream, and the end of the session does all the same") {
  std::atomic<bool> away = false;
  std::atomic<int> asked = 0;
  const Table table;
  table.master->expire = system_clock().wall() + std::chrono::seconds(4);
  table.master->on_session = [&](SteadyTime) -> std::optional<Error> {
    if (!away) return std::nullopt;
    ++asked;
    return Error{ErrorKind::unavailable, "gone"};
  };
  const auto session = table.log_in();
  const auto seat = table.open(session);
  away = true;
  CHECK(EmbeddedEngine::eventually([&] { return asked > 0; }));
  CHECK((*seat)->news(nullptr).over.empty());
  CHECK(next_news(**seat).over == "The session has ended.");
  CHECK(system_clock().wall() >= session.expire);
  CHECK(system_clock().wall() < session.expire + std::chrono::seconds(15));
}

TEST_CASE("one token that cannot be answered keeps no other from being looked at") {
  // Whoever waits gets no answer; what is known without waiting is said.
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
  CHECK(next_news(**other).over == "The session has ended.");
}

TEST_CASE("a stream that joins others of its token sees what they see") {
  const Table table;
  const auto session = table.log_in();
  const auto before = *table.client->admit_events(session);
  const auto seat = table.open(session);
  table.master->scope = auth::EventScope::own;
  REQUIRE(next_news(**seat).permit);
  const auto late = table.streams->open(session, before);
  const auto news = (*late)->news(nullptr);
  REQUIRE(news.permit);
  CHECK(news.permit->scope == auth::EventScope::own);
}

namespace {

/// A question that is answered when `go` is set.
struct Slow {
  Streams::Seat::Ask ask() {
    return [this](const client::NetapiClient& client, SecretView token, std::string_view question) {
      CHECK(client.master().session(token, SteadyTime::max())->user == "fred");
      ++asked;
      while (!go) std::this_thread::yield();
      return Json::string(question);
    };
  }
  [[nodiscard]] bool begun() const {
    return EmbeddedEngine::eventually([this] { return asked == 1; });
  }

  std::atomic<bool> go = false;
  std::atomic<int> asked = 0;
};

/// How many answers the seat hears next; each is to `q`, and said to be about it.
std::size_t heard_by(Streams::Seat& seat) {
  const auto answers = seat.news(nullptr).answers;
  for (const auto& [about, answer] : answers) CHECK((about == "it" && answer == Json::string("q")));
  return answers.size();
}

}  // namespace

TEST_CASE("what streams of one token ask in the same words is asked once, and not too much of it") {
  Slow slow;
  const Table table;
  const CapturedLog log;
  const auto session = table.log_in();
  const auto one = table.open(session), two = table.open(session);
  auto gone = table.open(session);
  (*one)->ask("q", slow.ask(), "it");
  (*gone)->ask("q", slow.ask(), "it");
  CHECK(slow.begun());
  gone->reset();
  for (int i = 0; i < 200; ++i) (*two)->ask("q", slow.ask(), "it");
  CHECK(log.text().empty());
  for (int i = 0; i < 200; ++i) (*two)->ask(std::to_string(i), slow.ask());
  CHECK(log.text().find("they stay incomplete") != std::string::npos);
  slow.go = true;
  CHECK(EmbeddedEngine::eventually([&] { return slow.asked == 100; }));
  CHECK(heard_by(**one) == 1);
  CHECK(heard_by(**two) == 200);
  CHECK(heard_by(**two) == 0);
}

TEST_CASE("what fails while a stream is told of an answer ends nothing, and what is asked next is answered") {
  Slow slow;
  slow.go = true;
  const Table table;
  const CapturedLog log;
  const auto seat = table.open(table.log_in());
  const auto failing = std::make_shared<const std::function<void()>>([] { throw std::bad_alloc(); });
  static_cast<void>((*seat)->news(failing));
  (*seat)->ask("q", slow.ask(), "it");
  CHECK(EmbeddedEngine::eventually(
      [&] { return log.has("Not all streams of events heard the master's answer: std::bad_alloc"); }));
  CHECK(heard_by(**seat) == 1);
  (*seat)->ask("q", slow.ask(), "it");
  CHECK(EmbeddedEngine::eventually([&] { return heard_by(**seat) == 1; }));
}

TEST_CASE("what is asked holds up no logout, and nothing is asked for a session that has ended") {
  Slow slow;
  const Table table;
  const auto fred = table.log_in(), joe = table.log_in("joe");
  const auto mine = table.open(fred), other = table.open(joe);
  (*mine)->ask("q", slow.ask());
  CHECK(slow.begun());
  (*other)->ask("q", slow.ask(), "it");
  REQUIRE(table.master->logout(joe.token, SteadyTime::max()));
  CHECK(next_news(**other).over == "The session has ended.");
  slow.go = true;
  (*mine)->ask("last", slow.ask());
  CHECK(EmbeddedEngine::eventually([&] { return slow.asked == 2; }));
}

// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/request_keys.h"

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/store/process.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {
namespace {

using State = Claim::State;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

struct Keys {
  test::TempDir dir;
  test::ManualClock clock;
  std::shared_ptr<store::Store> store = *store::Store::open({.path = dir / "state/state.db"});
  std::shared_ptr<RequestKeys> keys = request_keys_in_store(store, clock);

  [[nodiscard]] KeyedRequest request(std::string_view key = "k", std::string_view body = "body",
                                     std::string_view user = "file fred") const {
    KeyedRequest made = make_keyed_request(user, key, "POST /", body);
    made.jids = "20261128000000000001";
    made.until = clock.wall() + seconds(300);
    return made;
  }

  State state(KeyedRequest request) const { return keys->claim(request)->state; }

  KeyedRequest claimed(std::string_view key = "k", std::string_view user = "file fred") {
    KeyedRequest made = request(key, "body", user);
    const auto claim = keys->claim(made);
    REQUIRE(claim);
    REQUIRE(claim->state == State::is_new);
    clock.advance(microseconds(1));
    return made;
  }

  std::int64_t number(const char* sql) const {
    std::int64_t value = -1;
    CHECK(store->read([&](store::Connection& connection) -> Result<void> {
      const auto found = connection.number(sql);
      if (found) value = found->value_or(-1);
      return found ? Result<void>() : found.error();
    }));
    return value;
  }
};

constexpr const char* kCount = "SELECT count(*) FROM request_key";
constexpr const char* kBytes = "SELECT value FROM meta WHERE name = 'request_key_bytes'";
constexpr const char* kSum = "SELECT total(bytes) FROM request_key";

TEST_CASE("a repeated request finds the reply of the first request") {
  Keys keys;
  const KeyedRequest first = keys.claimed();
  KeyedRequest again = keys.request();
  again.jids = "another";
  const auto running = *keys.keys->claim(again);
  CHECK(running.state == State::runs);
  CHECK(running.jids == first.jids);
  keys.keys->keep(first, {202, "application/json", R"({"a": 1})"});
  const auto found = *keys.keys->claim(again);
  CHECK(found.state == State::has_reply);
  CHECK(found.jids == first.jids);
  CHECK(found.reply.status == 202);
  CHECK(found.reply.type == "application/json");
  CHECK(found.reply.body == R"({"a": 1})");
}

TEST_CASE("another body is refused, and another user has own keys") {
  Keys keys;
  keys.claimed();
  CHECK(keys.state(keys.request("k", "other body")) == State::other_content);
  CHECK(keys.state(keys.request("k", "body", "pam fred")) == State::is_new);
  CHECK(keys.state(keys.request("k2")) == State::is_new);
  const auto url = make_keyed_request("u", "k", "POST /run", "x");
  CHECK(url.id == make_keyed_request("u", "k", "POST /", "x").id);
  CHECK(url.content != make_keyed_request("u", "k", "POST /", "x").content);
  CHECK(url.content != make_keyed_request("u", "k2", "POST /run", "x").content);
  CHECK(url.content != make_keyed_request("u", "k", "POST /r", "unx").content);
}

TEST_CASE("a released key runs again, and a key without a reply never") {
  Keys keys;
  keys.keys->release(keys.claimed());
  CHECK(keys.number(kCount) == 0);
  keys.keys->keep(keys.claimed(), {});
  CHECK(keys.state(keys.request()) == State::may_have_run);
}

TEST_CASE("a request may have run if its process ended or its deadline has passed") {
  Keys keys;
  const KeyedRequest late = keys.claimed("late");
  keys.claimed("killed");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(keys.store->execute("UPDATE request_key SET pid = ? WHERE id = ?", std::int64_t{child},
                            keys.request("killed").id));
  const auto killed = *keys.keys->claim(*std::make_unique<KeyedRequest>(keys.request("killed")));
  CHECK(killed.state == State::may_have_run);
  CHECK(killed.jids == late.jids);
  CHECK(keys.state(keys.request("late")) == State::runs);
  keys.clock.advance(seconds(301));
  CHECK(keys.state(keys.request("late")) == State::may_have_run);
  keys.keys->keep(late, {200, "", "a late reply"});
  CHECK(keys.state(keys.request("late")) == State::has_reply);
}

TEST_CASE("a key is forgotten after a day") {
  Keys keys;
  const KeyedRequest first = keys.claimed();
  keys.keys->keep(first, {200, "", "x"});
  keys.clock.advance(hours(24) - seconds(1));
  CHECK(keys.state(keys.request()) == State::has_reply);
  keys.clock.advance(seconds(1));
  CHECK(keys.state(keys.request()) == State::is_new);
  CHECK(keys.number(kCount) == 1);
  CHECK(keys.number(kBytes) == keys.number(kSum));
  keys.keys->keep(first, {200, "", "the reply of the forgotten request"});
  CHECK(keys.state(keys.request()) == State::runs);
}

TEST_CASE("the store has neither keys nor bodies of requests") {
  Keys keys;
  auto request = keys.request("the-key", "the-body");
  CHECK(keys.keys->claim(request));
  std::string all;
  CHECK(keys.store->read([&](store::Connection& connection) {
    return connection.each("SELECT * FROM request_key", [&](const store::Row& row) {
      for (int column = 0; column < 12; ++column) all.append(row.text(column)).append(" ");
      return true;
    });
  }));
  CHECK(all.find("file fred") != std::string::npos);
  CHECK(all.find("the-") == std::string::npos);
}

TEST_CASE("a user has at most 10,000 keys, and a running request keeps its key") {
  Keys keys;
  keys.store = *store::Store::open({});
  keys.keys = request_keys_in_store(keys.store, keys.clock);
  const KeyedRequest oldest = keys.claimed("oldest");
  keys.claimed("other", "file joe");
  keys.keys->keep(keys.claimed("second"), {200, "", "x"});
  const KeyedRequest third = keys.claimed("third");
  for (int i = 1; i < 10'000; ++i) keys.claimed(std::to_string(i));
  constexpr const char* kOfFred = "SELECT count(*) FROM request_key WHERE user = 'file fred'";
  CHECK(keys.state(keys.request("oldest")) == State::runs);
  CHECK(keys.number(kOfFred) == 10'001);
  for (const auto& ended : {oldest, third}) keys.keys->keep(ended, {200, "", "x"});
  CHECK(keys.state(keys.request("second")) == State::is_new);
  CHECK(keys.number(kOfFred) == 10'000);
  CHECK(keys.number("SELECT count(*) FROM request_key WHERE user = 'file joe'") == 1);
}

TEST_CASE("the replies have at most 100 MB, and the oldest are forgotten") {
  Keys keys;
  const std::string large(RequestKeys::kMostReply, 'x');
  for (int i = 0; i < 100; ++i) {
    keys.keys->keep(keys.claimed(std::to_string(i), "file u" + std::to_string(i % 3)), {200, "", large});
  }
  CHECK(keys.number(kCount) == 95);
  CHECK(keys.number(kBytes) == keys.number(kSum));
  CHECK(keys.number(kBytes) <= 100'000'000);
  CHECK(keys.state(keys.request("4", "body", "file u1")) == State::is_new);
  CHECK(keys.state(keys.request("5", "body", "file u2")) == State::has_reply);
}

TEST_CASE("without a writable store no request is claimed") {
  Keys keys;
  CHECK(keys.store->execute("DROP TABLE request_key"));
  auto request = keys.request();
  const auto claim = keys.keys->claim(request);
  REQUIRE_FALSE(claim);
  CHECK(claim.error().kind == ErrorKind::unavailable);
}

TEST_CASE("two hosts share keys in etcd") {
  if (test::no_etcd()) return;
  test::EtcdCluster etcd;
  etcd::Options cluster;
  cluster.endpoints = etcd.urls();
  Keys here;
  Keys there;
  here.keys = *request_keys_in_etcd({cluster, "/salt/tokens"}, here.store, here.clock);
  there.keys = *request_keys_in_etcd({cluster, "/salt/tokens"}, there.store, there.clock);
  const KeyedRequest first = here.claimed();
  CHECK(first.lease != 0);
  CHECK(there.state(there.request()) == State::runs);
  CHECK(there.state(there.request("k", "other")) == State::other_content);
  const std::string body = "{\"a\": \"\\n\"}\nsecond line";
  here.keys->keep(first, {200, "application/json", body});
  auto again = there.request();
  const auto found = *there.keys->claim(again);
  CHECK(found.state == State::has_reply);
  CHECK(found.jids == first.jids);
  CHECK(found.reply.body == body);
  CHECK(here.number("SELECT total(length(body)) FROM request_key") == 0);
  there.keys->release(there.claimed("r"));
  CHECK(here.state(here.request("r")) == State::is_new);
  const KeyedRequest late = here.claimed("late");
  there.clock.advance(seconds(301));
  CHECK(there.state(there.request("late")) == State::may_have_run);
  etcd.kill(0);
  auto unreachable = here.request("new");
  const auto refused = here.keys->claim(unreachable);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
}

}  // namespace
}  // namespace rest_fcgi::auth

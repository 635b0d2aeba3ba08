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

enum class State { is_new, other_content, runs, may_have_run, has_reply };

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

struct Keys {
  test::TempDir dir;
  test::ManualClock clock;
  std::shared_ptr<store::Store> store = *store::Store::open({.path = dir / "state/state.db"});
  std::shared_ptr<RequestKeys> keys = std::make_shared<RequestKeys>(store, clock);

  [[nodiscard]] KeyedRequest request(std::string_view key = "k", std::string_view body = "body",
                                     std::string_view user = "file fred") const {
    KeyedRequest made = make_keyed_request(user, key, "POST /", body);
    made.jids = "20261128000000000001";
    return made;
  }

  Result<std::optional<KeyedRequest>> claim(KeyedRequest request) const {
    return keys->claim(request, clock.steady());
  }

  State state(const KeyedRequest& request) const {
    const auto found = claim(request);
    if (found) return found->has_value() ? State::has_reply : State::is_new;
    if (found.error().kind == ErrorKind::key_reused) return State::other_content;
    return found.error().kind == ErrorKind::timeout ? State::runs : State::may_have_run;
  }

  void keep(KeyedRequest request, int status = 200, std::string type = "", std::string body = "x") const {
    request.status = status;
    request.type = std::move(type);
    request.body = std::move(body);
    keys->keep(request);
  }

  KeyedRequest claimed(std::string_view key = "k", std::string_view user = "file fred") {
    KeyedRequest made = request(key, "body", user);
    const auto claim = keys->claim(made, clock.steady() + seconds(290));
    REQUIRE(claim);
    REQUIRE_FALSE(claim->has_value());
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
  CHECK(keys.state(again) == State::runs);
  CHECK(keys.claim(again).error().jid == first.jids);
  keys.keep(first, 202, "application/json", R"({"a": 1})");
  CHECK(keys.state(again) == State::has_reply);
  const KeyedRequest found = **keys.claim(again);
  CHECK(found.jids == first.jids);
  CHECK(found.status == 202);
  CHECK(found.type == "application/json");
  CHECK(found.body == R"({"a": 1})");
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
  keys.keep(keys.claimed(), 0, "", "");
  CHECK(keys.state(keys.request()) == State::may_have_run);
}

TEST_CASE("a request may have run if its process ended or its deadline has passed") {
  Keys keys;
  const KeyedRequest late = keys.claimed("late");
  keys.claimed("killed");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  const auto own = "\t" + std::to_string(::getpid()) + "\t";
  CHECK(*keys.store->execute("UPDATE request_key SET request = replace(request, ?, ?) WHERE id = ?", own,
                             "\t" + std::to_string(child) + "\t", keys.request("killed").id) == 1);
  CHECK(keys.state(keys.request("killed")) == State::may_have_run);
  CHECK(keys.claim(keys.request("killed")).error().jid == late.jids);
  CHECK(keys.state(keys.request("late")) == State::runs);
  keys.clock.advance(seconds(301));
  CHECK(keys.state(keys.request("late")) == State::may_have_run);
  keys.keep(late, 200, "", "a late reply");
  CHECK(keys.state(keys.request("late")) == State::has_reply);
}

TEST_CASE("a key is forgotten after a day") {
  Keys keys;
  const KeyedRequest first = keys.claimed();
  keys.keep(first);
  keys.clock.advance(hours(24) - seconds(1));
  CHECK(keys.state(keys.request()) == State::has_reply);
  keys.clock.advance(seconds(1));
  CHECK(keys.state(keys.request()) == State::is_new);
  CHECK(keys.number(kCount) == 1);
  CHECK(keys.number(kBytes) == keys.number(kSum));
  keys.keep(first, 200, "", "the reply of the forgotten request");
  CHECK(keys.state(keys.request()) == State::runs);
}

TEST_CASE("the store has neither keys nor bodies of requests") {
  Keys keys;
  CHECK(keys.claim(keys.request("the-key", "the-body")));
  std::string all;
  CHECK(keys.store->read([&](store::Connection& connection) {
    return connection.each("SELECT * FROM request_key", [&](const store::Row& row) {
      for (int column = 0; column < 5; ++column) all.append(row.text(column)).append(" ");
      return true;
    });
  }));
  CHECK(all.find("file fred") != std::string::npos);
  CHECK(all.find("the-") == std::string::npos);
}

TEST_CASE("a user has at most 10,000 keys, and a running request keeps its key") {
  Keys keys;
  keys.store = *store::Store::open({});
  keys.keys = std::make_shared<RequestKeys>(keys.store, keys.clock);
  const KeyedRequest oldest = keys.claimed("oldest");
  keys.claimed("other", "file joe");
  keys.keep(keys.claimed("second"));
  const KeyedRequest third = keys.claimed("third");
  for (int i = 1; i < 10'000; ++i) keys.keep(keys.claimed(std::to_string(i)));
  constexpr const char* kOfFred = "SELECT count(*) FROM request_key WHERE user = 'file fred'";
  CHECK(keys.state(keys.request("oldest")) == State::runs);
  CHECK(keys.number(kOfFred) == 10'001);
  for (const auto& ended : {oldest, third}) keys.keep(ended);
  CHECK(keys.number(kOfFred) == 10'000);
  CHECK(keys.state(keys.request("second")) == State::is_new);
  CHECK(keys.number("SELECT count(*) FROM request_key WHERE user = 'file joe'") == 1);
}

TEST_CASE("the replies have at most 100 MB, and the oldest are forgotten") {
  Keys keys;
  const std::string large(RequestKeys::kMostReply, 'x');
  for (int i = 0; i < 100; ++i) {
    keys.keep(keys.claimed(std::to_string(i), "file u" + std::to_string(i % 3)), 200, "", large);
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
  const auto claim = keys.claim(keys.request());
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
  const TokensInEtcd shared{cluster, "/salt/tokens"};
  REQUIRE(here.keys->share(shared));
  REQUIRE(there.keys->share(shared));
  const KeyedRequest first = here.claimed();
  CHECK(first.lease != 0);
  CHECK(there.state(there.request()) == State::runs);
  CHECK(there.state(there.request("k", "other")) == State::other_content);
  const std::string body = "{\"a\": \"\\n\"}\nsecond line";
  here.keep(first, 200, "application/json", body);
  CHECK(there.state(there.request()) == State::has_reply);
  CHECK((*there.claim(there.request()))->jids == first.jids);
  CHECK((*there.claim(there.request()))->body == body);
  CHECK(here.number("SELECT total(length(request)) FROM request_key") == 0);
  there.keys->release(there.claimed("r"));
  CHECK(here.state(here.request("r")) == State::is_new);
  const KeyedRequest late = here.claimed("late");
  there.clock.advance(seconds(301));
  CHECK(there.state(there.request("late")) == State::may_have_run);
  etcd.kill(0);
  const auto refused = here.claim(here.request("new"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
}

}  // namespace
}  // namespace rest_fcgi::auth

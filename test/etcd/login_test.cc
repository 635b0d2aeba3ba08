// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "client_calls.h"
#include "etcd/gateway.h"

namespace rest_fcgi::etcd {
namespace {

using namespace std::chrono_literals;

Token token(std::string_view text) {
  return std::make_shared<const Secret>(text);
}

Login::Fetch gives(std::string_view text) {
  return [text]() -> Tried<Token> { return token(text); };
}

Failure wrong_password() {
  return {{ErrorKind::authentication, "wrong password"}};
}

std::string text_of(const Tried<Token>& tried) {
  return std::string(std::get<Token>(tried)->reveal().text);
}

TEST_CASE("a token is fetched once, and kept until it is refused") {
  Login login;
  const Tried<Token> first = login.token(gives("one"), in(1s));
  CHECK(text_of(first) == "one");
  CHECK(text_of(login.token(gives("two"), in(1s))) == "one");
  login.refused(std::get<Token>(first));
  CHECK(text_of(login.token(gives("two"), in(1s))) == "two");
  login.refused(std::get<Token>(first));
  CHECK(text_of(login.token(gives("three"), in(1s))) == "two");
  login.forget();
  CHECK(text_of(login.token(gives("four"), in(1s))) == "four");
}

TEST_CASE("a login that failed is not remembered") {
  Login login;
  const Tried<Token> failed = login.token([]() -> Tried<Token> { return wrong_password(); }, in(1s));
  CHECK(std::get<Failure>(failed).error.message == "wrong password");
  CHECK(text_of(login.token(gives("one"), in(1s))) == "one");
}

TEST_CASE("many threads log in once, and share what it gave") {
  Login login;
  std::atomic<int> fetches{0};
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const Tried<Token> got = login.token(
          [&]() -> Tried<Token> {
            ++fetches;
            std::this_thread::sleep_for(20ms);
            return token("one");
          },
          in(30s));
      if (text_of(got) == "one") ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(fetches == 1);
  CHECK(good == 8);
}

TEST_CASE("who waits for another thread's login is told its failure, or comes back in time") {
  Login login;
  std::atomic<bool> fetching{false};
  std::atomic<bool> waits{false};
  std::promise<void> go_on;
  std::thread slow([&] {
    const Tried<Token> got = login.token(
        [&]() -> Tried<Token> {
          fetching = true;
          go_on.get_future().wait();
          return wrong_password();
        },
        in(30s));
    CHECK(std::holds_alternative<Failure>(got));
  });
  while (!fetching) std::this_thread::yield();
  const Tried<Token> late = login.token(gives("other"), in(10ms));
  REQUIRE(std::holds_alternative<Failure>(late));
  CHECK(std::get<Failure>(late).error.kind == ErrorKind::unavailable);
  CHECK(std::get<Failure>(late).remedy == Remedy::next_member);
  std::thread waiting([&] {
    waits = true;
    const Tried<Token> got = login.token(gives("other"), in(30s));
    // Either it waited for the slow one, or that one had come back before.
    if (const Failure* failure = std::get_if<Failure>(&got))
      CHECK(failure->error.message == "wrong password");
  });
  while (!waits) std::this_thread::yield();
  go_on.set_value();
  slow.join();
  waiting.join();
}

TEST_CASE("a fetch that throws leaves nobody waiting") {
  Login login;
  CHECK_THROWS_AS(static_cast<void>(login.token([]() -> Tried<Token> { throw std::bad_alloc(); }, in(1s))),
                  std::bad_alloc);
  CHECK(text_of(login.token(gives("one"), in(1s))) == "one");
}

}  // namespace
}  // namespace rest_fcgi::etcd

// SPDX-License-Identifier: MIT
#include "auth/tokens.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/manual_clock.h"
#include "../support/soon.h"
#include "../support/temp_dir.h"
#include "auth/digest.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const std::string kForeign(64, 'a');

/// Tokens of 60 seconds in a database.
class TokensFixture {
 public:
  std::string add(std::string name = "fred", std::string eauth = "file") {
    auto token = tokens.add(std::move(name), std::move(eauth), {"ops"});
    REQUIRE(token);
    clock.advance(std::chrono::microseconds(1));
    return std::string(token->reveal().text);
  }

  /// Why a token is refused, or whose it is.
  std::string find(std::string_view token) const {
    const auto record = tokens.find(SecretView(token));
    if (record) return "of " + record->name;
    CHECK((record.error().kind == ErrorKind::not_found) ==
          record.error().message.starts_with("it has expired"));
    return record.error().message;
  }

  std::shared_ptr<store::Store> open() const {
    auto opened = store::Store::open({.path = dir / "state/state.db"});
    REQUIRE(opened);
    return *std::move(opened);
  }

  test::TempDir dir;
  test::ManualClock clock;
  std::shared_ptr<store::Store> store = open();
  Tokens tokens{tokens_in_store(store, clock), seconds(60), clock};
};

}  // namespace

TEST_CASE("a token leads to its user, also in another process") {
  TokensFixture fixture;
  const WallTime start = fixture.clock.wall();
  const std::string token = fixture.add();
  const Tokens others(tokens_in_store(fixture.open(), fixture.clock), seconds(60), fixture.clock);
  for (const Tokens* tokens : {static_cast<const Tokens*>(&fixture.tokens), &others}) {
    const auto record = tokens->find(SecretView(token));
    REQUIRE(record);
    CHECK(record->name == "fred");
    CHECK(record->eauth == "file");
    CHECK(record->groups == std::vector<std::string>{"ops"});
    CHECK(record->start == start);
    CHECK(record->expire == start + seconds(60));
  }
}

TEST_CASE("tokens are 64 hexadecimal digits, never the same, and not in the database") {
  TokensFixture fixture;
  const std::string token = fixture.add();
  CHECK(token.size() == 64);
  CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(fixture.add() != token);
  const std::string files = fixture.dir.read("state/state.db") + fixture.dir.read("state/state.db-wal");
  CHECK(files.find(sha256_digits({token})) != std::string::npos);
  CHECK(files.find(token) == std::string::npos);
  CHECK(fixture.find(sha256_digits({token})) == "there is no such token");
}

TEST_CASE("a token that has expired is refused, and known for a day as one that was good") {
  TokensFixture fixture;
  const std::string token = fixture.add();
  fixture.clock.advance(seconds(59));
  CHECK(fixture.find(token) == "of fred");
  fixture.clock.advance(seconds(1));
  CHECK(fixture.find(token) == "it has expired (user fred)");
  fixture.clock.advance(hours(24));
  CHECK(test::holds_soon([&] { return fixture.find(token) == "there is no such token"; }));
}

TEST_CASE("nothing is left of a token that was revoked, and an unknown one is no failure") {
  TokensFixture fixture;
  const std::string token = fixture.add();
  for (int i = 0; i < 2; ++i) {
    REQUIRE(fixture.tokens.revoke(SecretView(token)));
    CHECK(fixture.find(token) == "there is no such token");
  }
  CHECK(fixture.tokens.revoke(SecretView(kForeign)));
}

TEST_CASE("all tokens of a user are revoked, those of one back end or of all, and no others") {
  TokensFixture fixture;
  std::vector<std::string> freds;
  for (int i = 0; i < 5; ++i) freds.push_back(fixture.add());
  const std::string anns = fixture.add("ann");
  const std::string from_pam = fixture.add("fred", "pam");
  REQUIRE(fixture.tokens.revoke(SecretView(freds[0])));

  CHECK(*fixture.tokens.revoke_all("file", "fred") == 4);
  CHECK(fixture.find(freds[0]) == "there is no such token");
  for (std::size_t i = 1; i < freds.size(); ++i)
    CHECK(fixture.find(freds[i]) == "it has expired (user fred)");
  CHECK(fixture.find(anns) == "of ann");
  CHECK(fixture.find(from_pam) == "of fred");
  CHECK(*fixture.tokens.revoke_all("", "fred") == 1);
  CHECK(*fixture.tokens.revoke_all("", "fred") == 0);
  CHECK(*fixture.tokens.revoke_all("", "Ann") == 0);
  CHECK(fixture.find(anns) == "of ann");
  CHECK(fixture.find(fixture.add()) == "of fred");
}

TEST_CASE("of more than 1,000 tokens of a user the oldest goes") {
  TokensFixture fixture;
  const std::string anns = fixture.add("ann");
  const std::string first = fixture.add();
  const std::string second = fixture.add();
  for (int i = 2; i < 1000; ++i) fixture.add();
  CHECK(fixture.find(first) == "of fred");
  fixture.add();
  CHECK(fixture.find(first) == "there is no such token");
  CHECK(fixture.find(second) == "of fred");
  CHECK(fixture.find(anns) == "of ann");
}

TEST_CASE("only 40 to 128 hexadecimal digits are looked up, just as they were sent") {
  const TokensFixture fixture;
  for (const std::string& token :
       {std::string(), std::string(39, 'a'), std::string(129, 'a'), std::string(63, 'a') + "g",
        std::string(63, 'a') + '\0', "../" + std::string(61, 'a'), "/" + std::string(63, 'a')}) {
    CHECK(fixture.find(token) == "it is not 40 to 128 hexadecimal digits");
  }
  const auto store = tokens_in_store(fixture.store, fixture.clock);
  const WallTime now = fixture.clock.wall();
  for (const std::string& token : {std::string(40, 'a'), std::string(128, 'F')}) {
    CHECK(fixture.find(token) == "there is no such token");
    REQUIRE(store->add(sha256_digits({token}), {"x", "file", {}, now, now + seconds(1)}));
    CHECK(fixture.find(token) == "of x");
  }
  CHECK(fixture.find(std::string(40, 'A')) == "there is no such token");
}

TEST_CASE("many threads may make and use tokens at once") {
  TokensFixture fixture;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, name = "user" + std::to_string(t)] {
      for (int i = 0; i < 20; ++i) {
        const auto token = fixture.tokens.add(name, "file", {});
        if (!token) {
          ++wrong;
          continue;
        }
        const auto record = fixture.tokens.find(*token);
        if (!record || record->name != name) ++wrong;
        if (!fixture.tokens.revoke(*token) || fixture.tokens.find(*token)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include "auth/tokens.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/eventually.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "auth/digest.h"
#include "rest_fcgi/auth/revocation_list.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const std::string kForeign(64, 'a');
constexpr const char* kUnknown = "unknown token";

class TokensFixture {
 public:
  explicit TokensFixture(std::shared_ptr<store::Store> given = nullptr)
      : store(given ? std::move(given) : open()) {}

  std::string add(std::string name = "fred", std::string eauth = "file") {
    auto token = *tokens.add(std::move(name), std::move(eauth), {"ops"});
    clock.advance(std::chrono::microseconds(1));
    return std::string(token.reveal().text);
  }

  std::string find(std::string_view token) const {
    const auto record = tokens.find(SecretView(token));
    if (record) return "of " + record->name;
    CHECK(record.error().kind == ErrorKind::authentication);
    return record.error().message;
  }

  std::shared_ptr<store::Store> open() const { return *store::Store::open({.path = dir / "state/state.db"}); }

  test::TempDir dir;
  test::ManualClock clock;
  std::shared_ptr<store::Store> store;
  Tokens tokens{tokens_in_store(store, clock), seconds(60), clock};
};

TEST_CASE("a token has a user, also in another process") {
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

TEST_CASE("tokens are 64 random hexadecimal digits, and the database has only their hashes") {
  TokensFixture fixture;
  const std::string token = fixture.add();
  CHECK(token.size() == 64);
  CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(fixture.add() != token);
  const std::string files = fixture.dir.read("state/state.db") + fixture.dir.read("state/state.db-wal");
  CHECK(files.find(sha256_digits({token})) != std::string::npos);
  CHECK(files.find(token) == std::string::npos);
  CHECK(fixture.find(sha256_digits({token})) == kUnknown);
}

TEST_CASE("an expired token is refused, and its row is removed; a revoked token is unknown") {
  TokensFixture fixture;
  const std::string token = fixture.add();
  fixture.clock.advance(seconds(59));
  CHECK(fixture.find(token) == "of fred");
  fixture.clock.advance(seconds(1));
  CHECK(fixture.find(token) != "of fred");
  CHECK(test::eventually([&] { return fixture.find(token) == kUnknown; }));
  const std::string revoked = fixture.add();
  for (int i = 0; i < 2; ++i) {
    REQUIRE(fixture.tokens.revoke(SecretView(revoked)));
    CHECK(fixture.find(revoked) == kUnknown);
  }
  CHECK(fixture.tokens.revoke(SecretView(kForeign)));
}

TEST_CASE("all tokens of a user can be revoked, of one back end or of all") {
  TokensFixture fixture;
  std::vector<std::string> freds;
  for (int i = 0; i < 5; ++i) freds.push_back(fixture.add());
  const std::string anns = fixture.add("ann");
  const std::string from_pam = fixture.add("fred", "pam");
  REQUIRE(fixture.tokens.revoke(SecretView(freds[0])));

  CHECK(*fixture.tokens.revoke_all("file", "fred") == 4);
  for (const std::string& token : freds) CHECK(fixture.find(token) == kUnknown);
  CHECK(fixture.find(anns) == "of ann");
  CHECK(fixture.find(from_pam) == "of fred");
  CHECK(*fixture.tokens.revoke_all("", "fred") == 1);
  CHECK(*fixture.tokens.revoke_all("", "fred") == 0);
  CHECK(*fixture.tokens.revoke_all("", "Ann") == 0);
  CHECK(fixture.find(anns) == "of ann");
  CHECK(fixture.find(fixture.add()) == "of fred");
}

TEST_CASE("of more than 1,000 tokens of a user the oldest is removed") {
  TokensFixture fixture(*store::Store::open({}));  // A commit in memory is fast.
  const std::string anns = fixture.add("ann");
  const std::string first = fixture.add();
  const std::string second = fixture.add();
  for (int i = 2; i < 1000; ++i) fixture.add();
  CHECK(fixture.find(first) == "of fred");
  fixture.add();
  CHECK(fixture.find(first) == kUnknown);
  CHECK(fixture.find(second) == "of fred");
  CHECK(fixture.find(anns) == "of ann");
}

TEST_CASE("only 40 to 128 hexadecimal digits are looked up, as they were sent") {
  const TokensFixture fixture;
  for (const std::string& token :
       {std::string(), std::string(39, 'a'), std::string(129, 'a'), std::string(63, 'a') + "g",
        std::string(63, 'a') + '\0', "../" + std::string(61, 'a'), "/" + std::string(63, 'a')}) {
    CHECK(fixture.find(token) == "the token is malformed: expected 40 to 128 hexadecimal digits");
  }
  const auto store = tokens_in_store(fixture.store, fixture.clock);
  const WallTime now = fixture.clock.wall();
  for (const std::string& token : {std::string(40, 'a'), std::string(128, 'F')}) {
    CHECK(fixture.find(token) == kUnknown);
    REQUIRE(store->add(sha256_digits({token}), {"x", "file", {}, now, now + seconds(1)}));
    CHECK(fixture.find(token) == "of x");
  }
  CHECK(fixture.find(std::string(40, 'A')) == kUnknown);
}

const std::string kRevokedToken(64, 'a');
const std::string kOtherRevoked(64, 'b');

struct Host {
  [[nodiscard]] std::shared_ptr<store::Store> open() const {
    return *store::Store::open({.path = dir / "state/state.db"});
  }
  [[nodiscard]] std::unique_ptr<RevocationList> process() const {
    return std::make_unique<RevocationList>(open(), clock);
  }

  test::TempDir dir;
  test::ManualClock clock;
};

std::int64_t rows(store::Store& store, const char* sql) {
  std::int64_t count = -1;
  REQUIRE(store.read([&](store::Connection& from) -> Result<void> {
    count = (*from.number(sql)).value_or(-1);
    return {};
  }));
  return count;
}

constexpr const char* kTokenRows = "SELECT count(*) FROM revoked_token";
constexpr const char* kUserRows = "SELECT count(*) FROM revoked_user";

TEST_CASE("a revoked token is known at once in all processes and after a restart, by its hash") {
  Host host;
  const auto here = host.process();
  const auto there = host.process();
  const SecretView token(kRevokedToken);
  CHECK_FALSE(*here->has(token));
  REQUIRE(here->add(token, host.clock.wall() + seconds(60)));
  REQUIRE(there->add(token, host.clock.wall() + seconds(60)));
  const auto restarted = host.process();
  for (const RevocationList* one : {here.get(), there.get(), restarted.get()}) {
    CHECK(*one->has(token));
    CHECK_FALSE(*one->has(SecretView(kOtherRevoked)));
  }
  CHECK(host.dir.read("state/state.db-wal").find(kRevokedToken) == std::string::npos);
}

TEST_CASE("a revocation is removed when its token would have expired") {
  Host host;
  const auto store = host.open();
  RevocationList list(store, host.clock);
  REQUIRE(list.add(SecretView(kRevokedToken), host.clock.wall() + seconds(60)));
  REQUIRE(list.add(SecretView(kOtherRevoked), host.clock.wall() + seconds(90)));
  host.clock.advance(seconds(60));
  CHECK(test::eventually([&] { return rows(*store, kTokenRows) == 1; }));
  CHECK(*list.has(SecretView(kOtherRevoked)));
}

TEST_CASE("all tokens of a user that started until then are revoked, of one back end or of all") {
  Host host;
  const auto here = host.process();
  const auto there = host.process();
  const WallTime now = host.clock.wall();
  REQUIRE(here->add_user("pam", "fred", now));
  REQUIRE(here->add_user("", "ann", now));
  const auto restarted = host.process();
  for (const RevocationList* one : {here.get(), there.get(), restarted.get()}) {
    CHECK(*one->has_user("pam", "fred", now));
    CHECK(*one->has_user("pam", "fred", now - seconds(1)));
    CHECK_FALSE(*one->has_user("pam", "fred", now + seconds(1)));
    CHECK_FALSE(*one->has_user("file", "fred", now));
    CHECK_FALSE(*one->has_user("pam", "Fred", now));
    CHECK(*one->has_user("pam", "ann", now));
    CHECK(*one->has_user("file", "ann", now));
  }
}

TEST_CASE("repeated revocations of a user take one row, which is removed after the longest token life") {
  Host host;
  const auto store = host.open();
  RevocationList list(store, host.clock);
  for (int i = 0; i < 3; ++i) {
    host.clock.advance(seconds(10));
    REQUIRE(list.add_user("pam", "fred", host.clock.wall()));
    CHECK(*list.has_user("pam", "fred", host.clock.wall()));
  }
  CHECK(rows(*store, kUserRows) == 1);
  host.clock.advance(hours(24 * 365));
  CHECK(*list.has_user("pam", "fred", host.clock.wall() - hours(24 * 365)));
  host.clock.advance(hours(25));
  CHECK(test::eventually([&] { return rows(*store, kUserRows) == 0; }));
}

}  // namespace
}  // namespace rest_fcgi::auth

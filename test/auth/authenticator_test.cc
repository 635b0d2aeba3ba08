// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/authenticator.h"

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/limit.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "auth/login_guard.h"
#include "auth/tokens.h"
#include "logins_fixture.h"
#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/auth/password_hash_limiter.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::seconds;

/// The deadline of a request; each is one of its own, for the credentials of one request are asked about
/// once.
SteadyTime request_end() {
  static std::atomic<int> requests = 0;
  return SteadyTime() + std::chrono::hours(24 * 365) + std::chrono::microseconds(++requests);
}

/// An authenticator with the user fred, whose password is sesame, in a file, and with the shared secret
/// canary.
class AuthenticatorFixture {
 public:
  AuthenticatorFixture() {
    options.external_auth.push_back({"file", {{"filename", dir.write("users", "fred:sesame\n")}}, {}});
    options.external_auth.push_back({"sharedsecret", {}, {}});
    options.sharedsecret = Secret("canary");
    options.login_guard.tries = 0;
    start();
  }

  /// Anew, with what `options` now say.
  void start() {
    limiter = make_hash_limiter(options.login_guard);
    auto made = Authenticator::make(options, clock, store, limiter);
    REQUIRE(made);
    authenticator = *std::move(made);
  }

  /// From now on nobody's turn to have a password verified comes.
  void keep_busy() {
    while (busy_.size() < PasswordHashLimiter::cores()) {
      busy_.push_back(*limiter->enter("", 0, SteadyTime()));
    }
  }

  /// A file counts as changed for a moment.
  static void let_file_rest() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

  Result<Identity> login(std::string_view username, std::string_view password,
                         std::string_view eauth = "file") {
    return authenticator->authenticate(with_password(username, password, eauth), request_end());
  }

  /// Are they refused with what everybody gets to see, and does the log say why?
  void refuses(const Credentials& credentials, std::string_view cause) {
    CAPTURE(cause);
    const test::CapturedLog log;
    const auto identity = authenticator->authenticate(credentials, request_end());
    REQUIRE_FALSE(identity);
    CHECK(identity.error().kind == ErrorKind::authentication);
    CHECK(identity.error().message == "Authorization error occurred.");
    CAPTURE(log.text());
    CHECK(log.has(cause));
    CHECK_FALSE(log.has("canary"));
  }

  test::TempDir dir;
  test::ManualClock clock;
  Options options;
  std::shared_ptr<store::Store> store = *store::Store::open({});
  std::shared_ptr<PasswordHashLimiter> limiter;
  std::unique_ptr<Authenticator> authenticator;

 private:
  std::vector<PasswordHashLimiter::Pass> busy_;
};

}  // namespace

TEST_CASE("good credentials make an identity") {
  AuthenticatorFixture fixture;
  const auto identity = fixture.login("fred", "sesame");
  REQUIRE(identity);
  CHECK(identity->name() == "fred");
  CHECK(identity->eauth() == "file");
  CHECK(identity->groups().empty());
  CHECK(fixture.login("anybody", "canary", "sharedsecret"));
}

TEST_CASE("the back ends that are on have their names") {
  CHECK(AuthenticatorFixture().authenticator->eauths() == std::vector<std::string>{"file", "sharedsecret"});
}

TEST_CASE(
    "salt#34750: whatever is wrong with credentials, the answer is the same, and the log says what it was") {
  AuthenticatorFixture fixture;
  fixture.refuses({}, "authentication refused at form: there are no credentials");
  fixture.refuses(with_password("fred", "canary", "file"),
                  "at verification: unknown user or wrong password; eauth \"file\", user \"fred\"");
  fixture.refuses(with_password("nobody", "canary", "file"),
                  "at verification: unknown user or wrong password");
  fixture.refuses(with_password("fred", "canary", "pam"),
                  "at verification: no such back end is on; eauth \"pam\"");
  fixture.refuses(with_password("fred", "canary", ""), "at limits: the name of the back end is empty");
  fixture.refuses(with_token(SecretView("canary")),
                  "at limits: the token is not 32 to 128 hexadecimal digits");
}

TEST_CASE("a back end that is not on is told from a wrong password neither by its count nor by its answer") {
  for (const char* eauth : {"file", "pam"}) {
    CAPTURE(eauth);
    AuthenticatorFixture fixture;
    fixture.options.login_guard.tries = 2;
    fixture.start();
    for (int i = 0; i < 2; ++i) {
      CHECK(fixture.login("fred", "wrong", eauth).error().kind == ErrorKind::authentication);
    }
    CHECK(fixture.login("fred", "wrong", eauth).error().kind == ErrorKind::throttled);
  }
}

TEST_CASE("a back end that is not on costs a look at the users, as a wrong password does") {
  AuthenticatorFixture fixture;
  std::filesystem::remove(fixture.dir / "users");
  fixture.refuses(with_password("fred", "canary", "pam"), "external_auth: file: ");
}

TEST_CASE("names and passwords may be as long as the limits") {
  AuthenticatorFixture fixture;
  const std::string name(256, 'n');
  const std::string password(1024, 'p');
  fixture.dir.write("users", name + ":" + password + "\n");
  CHECK(fixture.login(name, password));
}

TEST_CASE("a name in the log is short, and forges no line") {
  AuthenticatorFixture fixture;
  fixture.refuses(with_password(std::string(63, 'n') + "\n" + std::string(100, 'm'), "x", "file"),
                  "user \"" + std::string(63, 'n') + "\\");
}

TEST_CASE("a back end that fails by itself slows who meets it") {
  AuthenticatorFixture fixture;
  fixture.options.login_guard.tries = 1;
  fixture.start();
  const test::CapturedLog log;
  std::filesystem::remove(fixture.dir / "users");
  CHECK(fixture.login("fred", "sesame").error().kind == ErrorKind::internal);
  CHECK(fixture.login("fred", "sesame").error().kind == ErrorKind::throttled);
}

TEST_CASE("without a descriptor for the file nobody is refused, and nothing counts as a guess") {
  AuthenticatorFixture fixture;
  fixture.options.login_guard.tries = 1;
  fixture.start();
  const test::CapturedLog log;
  fixture.dir.write("users", "fred:anew\n");
  {
    const test::Limit no_files(RLIMIT_NOFILE, 0);
    for (const std::string_view password : {"anew", "wrong"}) {
      CHECK(fixture.login("fred", password).error().kind == ErrorKind::unavailable);
    }
  }
  CHECK(log.has("users cannot be opened: Too many open files"));
  CHECK(fixture.login("fred", "anew"));
}

TEST_CASE("who guesses is refused, whether the user exists or not, and others are not") {
  for (const std::string_view user : {"fred", "nobody"}) {
    AuthenticatorFixture fixture;
    fixture.options.login_guard.tries = 2;
    fixture.start();
    const test::CapturedLog log;
    CHECK(fixture.login(user, "wrong").error().kind == ErrorKind::authentication);
    CHECK(fixture.login(user, "wrong").error().kind == ErrorKind::authentication);
    const auto third = fixture.login(user, "sesame");
    REQUIRE_FALSE(third);
    CHECK(third.error().kind == ErrorKind::throttled);
    CHECK(third.error().retry_after == seconds(300));
    Credentials elsewhere = with_password("fred", "sesame", "file");
    elsewhere.remote = "192.0.2.8";
    CHECK(fixture.authenticator->authenticate(elsewhere, request_end()));
    fixture.clock.advance(seconds(300));
    CHECK(fixture.login("fred", "sesame"));
  }
}

TEST_CASE("bad tokens are counted, but not those that have expired or were revoked, however often") {
  AuthenticatorFixture fixture;
  fixture.options.login_guard.address_tries = 2;
  fixture.options.login_guard.tries = 1;
  fixture.start();
  const auto token = fixture.authenticator->make_token(*fixture.login("fred", "sesame"));
  REQUIRE(token);
  const test::CapturedLog log;
  const std::string bad(64, 'a');
  CHECK(fixture.authenticator->authenticate(with_token(SecretView(bad)), request_end()).error().kind ==
        ErrorKind::authentication);
  CHECK(fixture.authenticator->authenticate(with_token(token->token), request_end()));
  fixture.clock.advance(fixture.options.token_expire);
  const auto ended = fixture.authenticator->make_token(*fixture.login("fred", "sesame"));
  REQUIRE(ended);
  REQUIRE(revoke_tokens_of(fixture.options, fixture.store, "", "fred", fixture.clock));
  for (const SecretView stale : {SecretView(token->token), SecretView(ended->token)}) {
    for (int i = 0; i < 3; ++i) {
      CHECK(fixture.authenticator->authenticate(with_token(stale), request_end()).error().kind ==
            ErrorKind::authentication);
    }
  }
  for (int i = 0; i < 2; ++i) {
    CHECK(fixture.authenticator->authenticate(with_token(SecretView(bad)), request_end()).error().kind ==
          ErrorKind::authentication);
  }
  CHECK(fixture.authenticator->authenticate(with_token(SecretView(bad)), request_end()).error().kind ==
        ErrorKind::throttled);
  CHECK(fixture.authenticator->authenticate(with_token(token->token), request_end()).error().kind ==
        ErrorKind::authentication);
  const auto fresh = fixture.authenticator->make_token(*fixture.login("fred", "sesame"));
  REQUIRE(fresh);
  CHECK(fixture.authenticator->authenticate(with_token(fresh->token), request_end()));
}

TEST_CASE("salt-api#151: a verified password is not verified again for a while") {
  AuthenticatorFixture fixture;
  AuthenticatorFixture::let_file_rest();
  CHECK(fixture.login("fred", "sesame"));
  fixture.keep_busy();
  fixture.clock.advance(seconds(29));
  CHECK(fixture.login("fred", "sesame"));
  fixture.clock.advance(seconds(1));
  const auto late =
      fixture.authenticator->authenticate(with_password("fred", "sesame", "file"), SteadyTime());
  CHECK(late.error().kind == ErrorKind::timeout);
}

TEST_CASE("what is remembered of a file's user ends at once when the file says so") {
  AuthenticatorFixture fixture;
  fixture.options.auth_cache_ttl = seconds(300);
  fixture.start();
  for (const std::string now : {"fred:changed\n", "fred:!sesame\n", "somebody:sesame\n"}) {
    CAPTURE(now);
    fixture.dir.write("users", "fred:sesame\n");
    AuthenticatorFixture::let_file_rest();
    CHECK(fixture.login("fred", "sesame"));
    fixture.dir.write("users", now);
    CHECK_FALSE(fixture.login("fred", "sesame"));
  }
}

TEST_CASE("CVE-2023-20898: a new authenticator remembers nothing of the one before") {
  AuthenticatorFixture fixture;
  CHECK(fixture.login("fred", "sesame"));
  fixture.dir.write("users", "fred:changed\n");
  fixture.start();
  CHECK_FALSE(fixture.login("fred", "sesame"));
}

TEST_CASE("without the cache each password is verified") {
  AuthenticatorFixture fixture;
  fixture.options.auth_cache_ttl = seconds(0);
  fixture.start();
  CHECK(fixture.login("fred", "sesame"));
  fixture.dir.write("users", "fred:changed\n");
  CHECK_FALSE(fixture.login("fred", "sesame"));
}

TEST_CASE("CVE-2016-9639: what one back end verified is nothing to another") {
  AuthenticatorFixture fixture;
  CHECK(fixture.login("fred", "canary", "sharedsecret"));
  CHECK_FALSE(fixture.login("fred", "canary", "file"));
}

TEST_CASE("a token stands for whom it was made") {
  AuthenticatorFixture fixture;
  const auto identity = fixture.login("fred", "sesame");
  REQUIRE(identity);
  const auto token = fixture.authenticator->make_token(*identity);
  REQUIRE(token);
  const auto again = fixture.authenticator->authenticate(with_token(token->token), request_end());
  REQUIRE(again);
  CHECK(again->name() == "fred");
  CHECK(again->eauth() == "file");
  fixture.clock.advance(fixture.options.token_expire);
  fixture.refuses(with_token(token->token), "at token: it has expired (user fred)");
}

TEST_CASE("a token brings the groups that it was made with") {
  AuthenticatorFixture fixture;
  Tokens tokens(tokens_in_store(fixture.store, fixture.clock), seconds(60), fixture.clock);
  const auto token = tokens.add("fred", "file", {"ops"});
  REQUIRE(token);
  const auto identity = fixture.authenticator->authenticate(with_token(*token), request_end());
  REQUIRE(identity);
  CHECK(identity->groups() == std::vector<std::string>{"ops"});
}

TEST_CASE("tokens of a back end that is off are refused") {
  AuthenticatorFixture fixture;
  const auto identity = fixture.login("fred", "canary", "sharedsecret");
  REQUIRE(identity);
  const auto token = fixture.authenticator->make_token(*identity);
  REQUIRE(token);
  fixture.options.external_auth.pop_back();
  fixture.start();
  fixture.refuses(with_token(token->token), "at token: its eauth \"sharedsecret\" is not on (user \"fred\")");
}

TEST_CASE("a token tells whose it is and how long it lasts, until it is ended") {
  AuthenticatorFixture fixture;
  const auto made = fixture.authenticator->make_token(*fixture.login("fred", "sesame"));
  REQUIRE(made);
  const auto held = fixture.authenticator->holder(made->token);
  REQUIRE(held);
  CHECK(held->identity.name() == "fred");
  CHECK(held->identity.eauth() == "file");
  CHECK(held->token.reveal().text == made->token.reveal().text);
  CHECK(held->expire - held->start == fixture.options.token_expire);
  CHECK(fixture.authenticator->revoke_token(made->token));
  CHECK(fixture.authenticator->holder(made->token).error().kind == ErrorKind::authentication);
  CHECK(fixture.authenticator->revoke_token(made->token).error().kind == ErrorKind::authentication);
  fixture.refuses(with_token(made->token), "there is no such token");
}

TEST_CASE("a user whom the rule names chooses how long a token lives") {
  AuthenticatorFixture fixture;
  const auto life_of = [&fixture](std::chrono::milliseconds life) {
    const auto made = fixture.authenticator->make_token(*fixture.login("fred", "sesame"), life);
    REQUIRE(made);
    const auto held = fixture.authenticator->holder(made->token);
    REQUIRE(held);
    CHECK(held->expire == made->expire);
    return made->expire - made->start;
  };
  CHECK(life_of(seconds(60)) == fixture.options.token_expire);
  fixture.options.token_expire_user_override.users = {{"pam", "fred"}, {"file", "joe"}};
  fixture.start();
  CHECK(life_of(seconds(60)) == fixture.options.token_expire);
  fixture.options.token_expire_user_override.users.insert({"file", "fred"});
  fixture.start();
  CHECK(life_of(seconds(60)) == seconds(60));
  CHECK(life_of(std::chrono::milliseconds(500)) == std::chrono::milliseconds(500));
  CHECK(life_of(seconds(10'000'000)) == seconds(10'000'000));
  fixture.options.token_expire_user_override = {.everybody = true, .users = {}};
  fixture.start();
  const auto made = fixture.authenticator->make_token(*fixture.login("fred", "sesame"), seconds(60));
  REQUIRE(made);
  fixture.clock.advance(seconds(61));
  CHECK_FALSE(fixture.authenticator->holder(made->token));
}

TEST_CASE("a question for the holder of a token is no guess, whatever comes of it") {
  AuthenticatorFixture fixture;
  fixture.options.login_guard = {.tries = 1, .address_tries = 1};
  fixture.start();
  const auto made = fixture.authenticator->make_token(*fixture.login("fred", "sesame"));
  REQUIRE(made);
  const std::string unknown(64, 'a');
  for (int i = 0; i < 3; ++i) {
    CHECK(fixture.authenticator->holder(SecretView(unknown)).error().message ==
          "Authorization error occurred.");
  }
  CHECK(fixture.authenticator->authenticate(with_token(made->token), request_end()));
  fixture.clock.advance(fixture.options.token_expire);
  CHECK(fixture.authenticator->holder(made->token).error().kind == ErrorKind::authentication);
}

TEST_CASE("an authenticator is not made of what cannot work") {
  const test::ManualClock clock;
  const test::TempDir dir;
  Options no_secret;
  no_secret.external_auth.push_back({"sharedsecret", {}, {}});
  const auto first = Authenticator::make(no_secret, clock);
  REQUIRE_FALSE(first);
  CHECK(first.error().kind == ErrorKind::configuration);
}

TEST_CASE("a good password gets in however many bring it at once") {
  AuthenticatorFixture fixture;
  fixture.options.login_guard.tries = 1;
  fixture.options.login_guard.max_delayed = 0;  // nobody may wait for a turn
  fixture.start();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] { wrong += fixture.login("fred", "sesame") ? 0 : 1; });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace rest_fcgi::auth

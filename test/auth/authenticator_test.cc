// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/authenticator.h"

#include <filesystem>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "auth/login_guard.h"
#include "auth/tokens.h"
#include "logins_fixture.h"
#include "rest_fcgi/auth/logins.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::seconds;

constexpr SteadyTime kLater{std::chrono::hours(24 * 365)};

/// An authenticator whose password file has the user `fred` with the password `sesame`. The password of the
/// eauth `sharedsecret` is `canary`.
struct AuthenticatorFixture {
  AuthenticatorFixture() {
    options.external_auth.push_back({"file", {{"filename", dir.write("users", "fred:sesame\n")}}, {}});
    options.external_auth.push_back({"sharedsecret", {}, {}});
    options.sharedsecret = Secret("canary");
    options.login_guard.tries = 0;
    start();
  }

  void start() {
    auto made = Authenticator::make(options, clock, store);
    REQUIRE(made);
    authenticator = *std::move(made);
  }

  Result<Identity> login(std::string_view username, std::string_view password,
                         std::string_view eauth = "file") {
    return authenticator->authenticate(with_password(username, password, eauth), kLater);
  }

  /// Checks that the message is the usual one, and that the log has the text `cause`.
  void refuses(const Credentials& credentials, std::string_view cause) {
    CAPTURE(cause);
    const test::CapturedLog log;
    const Error refused = authenticator->authenticate(credentials, kLater).error();
    CHECK(refused.kind == ErrorKind::authentication);
    CHECK(refused.message == "Authorization error occurred.");
    CAPTURE(log.text());
    CHECK(log.has(cause));
    CHECK_FALSE(log.has("canary"));
  }

  test::TempDir dir;
  test::ManualClock clock;
  Options options;
  std::shared_ptr<store::Store> store = *store::Store::open({});
  std::unique_ptr<Authenticator> authenticator;
};

}  // namespace

TEST_CASE("salt#34750: all bad credentials get the same answer, and a short log line has the cause") {
  AuthenticatorFixture fixture;
  fixture.refuses({}, "there are no credentials");
  fixture.refuses(with_password("fred", "canary", "file"),
                  "at verification: unknown user or wrong password; eauth \"file\", user \"fred\"");
  fixture.refuses(with_password("nobody", "canary", "file"),
                  "at verification: unknown user or wrong password");
  fixture.refuses(with_password("fred", "canary", "pam"), "the back end is not enabled; eauth \"pam\"");
  fixture.refuses(with_password("fred", "canary", ""), "the name of the back end is empty");
  fixture.refuses(with_token(SecretView("canary")), "at token: the token is malformed");
  fixture.refuses(with_password(std::string(63, 'n') + "\n" + std::string(100, 'm'), "x", "file"),
                  "user \"" + std::string(63, 'n') + "\\");
  // If the back end is not enabled, the check uses the password file, so that the login takes the same time.
  std::filesystem::remove(fixture.dir / "users");
  fixture.refuses(with_password("fred", "canary", "pam"), "external_auth: file: ");
}

TEST_CASE("guesses are refused alike for a user, an unknown user and a back end that is not enabled") {
  for (const auto& guess :
       {std::pair{"fred", "file"}, std::pair{"nobody", "file"}, std::pair{"fred", "pam"}}) {
    const char* const user = guess.first;
    const char* const eauth = guess.second;
    CAPTURE(user);
    CAPTURE(eauth);
    AuthenticatorFixture fixture;
    fixture.options.login_guard.tries = 2;
    fixture.start();
    for (int i = 0; i < 2; ++i) {
      CHECK(fixture.login(user, "wrong", eauth).error().kind == ErrorKind::authentication);
    }
    CHECK(fixture.login(user, "sesame", eauth).error().kind == ErrorKind::throttled);
    Credentials elsewhere = with_password("fred", "sesame", "file");
    elsewhere.remote = "192.0.2.8";
    CHECK(fixture.authenticator->authenticate(elsewhere, kLater));
  }
}

TEST_CASE("CVE-2016-9639: after a change of the password file, no login is remembered") {
  AuthenticatorFixture fixture;
  fixture.options.auth_cache_ttl = seconds(300);
  fixture.start();
  for (const std::string now : {"fred:changed\n", "fred:!sesame\n", "somebody:sesame\n"}) {
    CAPTURE(now);
    fixture.dir.write("users", "fred:sesame\n");
    // A login is not remembered if the password file changed less than 20 ms ago.
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    CHECK(fixture.login("fred", "sesame"));
    fixture.dir.write("users", now);
    CHECK_FALSE(fixture.login("fred", "sesame"));
  }
}

TEST_CASE("CVE-2023-20898: a new authenticator remembers no login of the old authenticator") {
  AuthenticatorFixture fixture;
  CHECK(fixture.login("fred", "sesame"));
  fixture.dir.write("users", "fred:changed\n");
  fixture.start();
  CHECK_FALSE(fixture.login("fred", "sesame"));
}

TEST_CASE("tokens of a back end that is not enabled are refused") {
  AuthenticatorFixture fixture;
  const auto identity = *fixture.login("fred", "canary", "sharedsecret");
  const auto token = *fixture.authenticator->make_token(identity);
  fixture.options.external_auth.pop_back();
  fixture.start();
  fixture.refuses(with_token(token.token), "back end \"sharedsecret\" is not enabled (user \"fred\")");
}

TEST_CASE("holder returns user and times of a token, until it is revoked") {
  AuthenticatorFixture fixture;
  const auto made = *fixture.authenticator->make_token(*fixture.login("fred", "sesame"));
  const auto held = *fixture.authenticator->holder(made.token);
  CHECK(held.identity.name() == "fred");
  CHECK(held.identity.eauth() == "file");
  CHECK(held.token.reveal().text == made.token.reveal().text);
  CHECK(held.expire - held.start == fixture.options.token_expire);
  CHECK(fixture.authenticator->revoke_token(made.token));
  CHECK(fixture.authenticator->holder(made.token).error().kind == ErrorKind::authentication);
  CHECK(fixture.authenticator->revoke_token(made.token).error().kind == ErrorKind::authentication);
  fixture.refuses(with_token(made.token), "unknown token");
}

TEST_CASE("a user whom the rule names chooses the life of a token") {
  AuthenticatorFixture fixture;
  const auto life_of = [&fixture](std::chrono::milliseconds life) {
    const auto made = *fixture.authenticator->make_token(*fixture.login("fred", "sesame"), life);
    const auto held = *fixture.authenticator->holder(made.token);
    CHECK(held.expire == made.expire);
    return made.expire - made.start;
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
  fixture.options.token_expire_user_override = {.all_users = true, .users = {}};
  fixture.start();
  const auto made = *fixture.authenticator->make_token(*fixture.login("fred", "sesame"), seconds(60));
  fixture.clock.advance(seconds(61));
  CHECK_FALSE(fixture.authenticator->holder(made.token));
  fixture.refuses(with_token(made.token), "at token: the token has expired (user fred)");
}

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include "../support/manual_clock.h"
#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/auth/revocation_list.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

inline Credentials with_password(std::string_view username, std::string_view password,
                                 std::string_view eauth = "pam") {
  return {Credentials::Kind::eauth, eauth, username, SecretView(password), {}};
}

inline Credentials with_token(SecretView token) {
  return {Credentials::Kind::token, {}, {}, {}, token};
}
inline Credentials with_token(std::string_view token) {
  return with_token(SecretView(token));
}

/// A `Logins` object with a check that accepts every token, and only the password `sesame`. Thread-safe,
/// except for changes of the public members.
class LoginsFixture {
 public:
  explicit LoginsFixture(LoginGuardOptions guard = {.tries = 0},
                         std::chrono::seconds ttl = std::chrono::seconds(30),
                         std::shared_ptr<RevocationList> revocations = nullptr) {
    remote =
        std::make_unique<Logins>(guard, ttl, clock, *store::Store::open({}), std::move(revocations), counts);
  }

  Result<std::shared_ptr<const Grant>> login(const Credentials& credentials) {
    return login(credentials, clock.steady() + std::chrono::hours(1));
  }

  Result<std::shared_ptr<const Grant>> login(const Credentials& credentials, SteadyTime deadline,
                                             std::string_view stamp = {}) {
    return remote->login(
        credentials, [this](const Credentials& in_question) { return check(in_question); }, deadline, stamp);
  }

  Result<std::shared_ptr<const Grant>> login_anew(const Credentials& credentials) {
    return remote->login_anew(
        credentials, [this](const Credentials& in_question) { return check(in_question); },
        clock.steady() + std::chrono::hours(1));
  }

  test::ManualClock clock;
  const std::shared_ptr<LoginCounts> counts = std::make_shared<LoginCounts>();
  std::unique_ptr<Logins> remote;
  std::atomic<int> asked = 0;
  std::chrono::seconds lasts{std::chrono::hours(12)};
  std::chrono::seconds keep = std::chrono::seconds::max();
  /// If set, `answer` replaces the usual check, and returns an error for wrong credentials.
  std::function<std::optional<Error>(const Credentials&)> answer;

 private:
  Result<Grant> check(const Credentials& credentials) {
    const int number = ++asked;
    std::optional<Error> error;
    if (answer) {
      error = answer(credentials);
    } else if (credentials.kind == Credentials::Kind::eauth && credentials.password.reveal() != "sesame") {
      error = Error{ErrorKind::authentication, "not good"};
    }
    if (error) return *std::move(error);
    return Grant{std::string(credentials.username),
                 std::string(credentials.eauth),
                 {},
                 Secret("token " + std::to_string(number)),
                 clock.wall() + lasts,
                 clock.wall(),
                 keep};
  }
};

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::test {

/// Checks the behaviour of sessions that `Master` requires of both engines. `good` and `bad` are valid and
/// wrong credentials of the user `fred`. `chunk` makes a chunk with a given token.
template <class WithToken>
void keeps_session_contract(master::Master& master, const auth::Credentials& good,
                            const auth::Credentials& bad, const WithToken& chunk) {
  const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::seconds(20); };
  const auto refused = [](const auto& result) {
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::authentication);
    CHECK(result.error().message == "Authorization error occurred.");
  };

  refused(master.login(bad, soon()));
  const auto session = master.login(good, soon());
  if (!session) FAIL(session.error().message);
  CHECK(session->user == "fred");
  CHECK(session->eauth == good.eauth);
  CHECK(session->expire > session->start);
  const std::string token(session->token.reveal().text);

  const auto seen = master.session(SecretView(token), soon());
  REQUIRE(seen);
  CHECK(seen->token.reveal().text == token);
  CHECK(seen->user == session->user);
  CHECK(seen->eauth == session->eauth);
  CHECK(seen->start == session->start);
  CHECK(seen->expire == session->expire);
  CHECK(seen->perms == session->perms);
  CHECK(master.admit(chunk(token), soon()));

  const std::string unknown(64, '0');
  for (const std::string& other : {unknown, std::string(), std::string("../../etc/passwd"), token + "\n",
                                   std::string(200, 'a'), token.substr(1)}) {
    CAPTURE(other);
    refused(master.session(SecretView(other), soon()));
    refused(master.logout(SecretView(other), soon()));
  }

  const auto second = master.login(good, soon());
  REQUIRE(second);
  const std::string another(second->token.reveal().text);
  CHECK(another != token);
  REQUIRE(master.logout(SecretView(token), soon()));
  refused(master.session(SecretView(token), soon()));
  refused(master.logout(SecretView(token), soon()));
  refused(master.admit(chunk(token), soon()));
  CHECK(master.session(SecretView(another), soon()));
  CHECK(master.admit(chunk(another), soon()));
  REQUIRE(master.logout(SecretView(another), soon()));

  const auto event = [&](std::string_view tag, const char* data) {
    return master.fire_event(tag, Json::trusted(data), nullptr, soon());
  };
  CHECK(event("salt/netapi/hook/x", R"({"post": {}})"));
  CHECK(event("a\nb", "{}").error().kind == ErrorKind::invocation);
}

}  // namespace rest_fcgi::test

// SPDX-License-Identifier: MIT
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

using std::chrono::seconds;

std::string guard_mistake(const std::string& guard) {
  return error_of("rest_fcgi: {login_guard: {" + guard + "}}\n");
}

TEST_CASE("the page offers the back ends that are enabled") {
  const std::string back_ends =
      "external_auth: {pam: {a: []}, auto: {a: []}, ldap: {a: []}, file: {a: []}}\n";
  const auto offered = [](const Settings& settings) { return settings.rest_cherrypy.common.eauths; };
  CHECK(offered(settings_of("")).empty());
  CHECK(offered(settings_of(back_ends)) == std::vector<std::string>{"pam", "file"});
  CHECK(offered(settings_of(back_ends + "rest_fcgi: {allow_auto_eauth: true}\n")) ==
        std::vector<std::string>{"pam", "auto", "file"});
  const Settings real = settings_of(back_ends + "rest_fcgi: {engine: salt}\n");
  CHECK(offered(real) == std::vector<std::string>{"pam", "auto", "ldap", "file"});
  CHECK(real.rest_tornado.common.eauths == offered(real));
}

TEST_CASE("the keys of login_guard are read, and have defaults") {
  auth::LoginGuardOptions guard = settings_of("").auth.login_guard;
  CHECK(guard.tries == 10);
  CHECK(guard.address_tries == 100);
  CHECK(guard.window == seconds(300));
  CHECK(guard.refuse == seconds(300));
  guard = settings_of("rest_fcgi:\n  login_guard: {tries: 3, address_tries: 7, window: 60, refuse: 90}\n")
              .auth.login_guard;
  CHECK(guard.tries == 3);
  CHECK(guard.address_tries == 7);
  CHECK(guard.window == seconds(60));
  CHECK(guard.refuse == seconds(90));
}

TEST_CASE("a malformed key of login_guard is a mistake with its place") {
  CHECK(guard_mistake("tries: 1001") ==
        "master:1: rest_fcgi: login_guard: tries: found 1001, expected an integer from 0 to 1000");
  CHECK(guard_mistake("address_tries: 0") ==
        "master:1: rest_fcgi: login_guard: address_tries: found 0, expected an integer from 1 to 4000");
  CHECK(guard_mistake("window: 0").ends_with("expected whole seconds from 1 to 86400"));
  CHECK(guard_mistake("refuse: 86401").ends_with("expected whole seconds from 1 to 86400"));
  CHECK(guard_mistake("trie: 1").ends_with("did you mean tries?"));
}

TEST_CASE("waiting logins leave threads for other requests") {
  CHECK(settings_of("").auth.login_guard.max_delayed == 64);
  for (const std::size_t threads : {5U, 8U, 100U, 16384U}) {
    const Settings settings =
        settings_of("rest_fcgi: {min_threads: 1, max_threads: " + std::to_string(threads) + "}\n");
    const auth::LoginGuardOptions& guard = settings.auth.login_guard;
    CHECK(guard.threads == threads);
    for (const std::size_t most : {guard.max_delayed, guard.max_queued, settings.auth.pam.max_waiting,
                                   settings.salt.max_waiting_logins}) {
      CHECK(most <= threads / 5);
    }
  }
  CHECK(settings_of("rest_fcgi: {max_threads: 1}\n").auth.login_guard.max_delayed == 1);
}

TEST_CASE("pam_helper is a path or a socket, and auth.pam.service is read") {
  const Settings standard = settings_of("");
  CHECK(standard.auth.pam.helper.empty());
  CHECK(standard.auth.pam.service == "login");
  const Settings path = settings_of("rest_fcgi: {pam_helper: /opt/rest_fcgi_pam}\nauth.pam.service: salt\n");
  CHECK(path.auth.pam.helper == "/opt/rest_fcgi_pam");
  CHECK(path.auth.pam.service == "salt");
  CHECK(settings_of("rest_fcgi: {pam_helper: 'unix:/run/x/pam.sock'}\n").auth.pam.helper ==
        "unix:/run/x/pam.sock");
  for (const char* wrong : {"rest_fcgi_pam", "'unix:pam.sock'", "[]", "7"}) {
    CAPTURE(wrong);
    CHECK(error_of("rest_fcgi: {pam_helper: " + std::string(wrong) + "}\n").find("pam_helper: found ") !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "config/sections.h"

namespace rest_fcgi::config {
namespace {

void read_pam_helper(Reader& section, auth::PamOptions& options) {
  static constexpr std::string_view kExpected =
      "the path of rest_fcgi_pam, or unix:PATH of a socket where it answers; paths begin with a slash";
  const Node* helper = section.value("pam_helper");
  if (helper == nullptr) return;
  if (!helper->is(Kind::string) || !(helper->text.starts_with('/') || helper->text.starts_with("unix:/"))) {
    return section.unexpected(*helper, "pam_helper", kExpected);
  }
  options.helper = helper->text;
}

void read_login_guard(Reader guard, auth::LoginGuardOptions& options) {
  constexpr std::int64_t kDayInSeconds = 86400;
  std::size_t tries = options.tries;
  std::size_t address_tries = options.address_tries;
  guard.count("tries", tries, {0, 1000});
  guard.count("address_tries", address_tries, {1, 4000});
  options.tries = static_cast<unsigned>(tries);
  options.address_tries = static_cast<unsigned>(address_tries);
  guard.whole_seconds("window", options.window, {1, kDayInSeconds});
  guard.whole_seconds("refuse", options.refuse, {1, kDayInSeconds});
  options.file_is_default = guard.value("file") == nullptr;
  options.file = format("/dev/shm/rest_fcgi-{}.guard", ::geteuid());
  guard.absolute_path("file", options.file);
  guard.refuse_unknown_keys();
}

/// Who fails to log in waits, and so does who comes while too many tries for the same user are under way;
/// most threads have to stay free for others.
void bound_waiting(Settings& settings) {
  const std::size_t most = std::max<std::size_t>(1, settings.gateway.max_threads / 4);
  auth::Options& auth = settings.auth;
  auth.login_guard.max_delayed = std::min(auth.login_guard.max_delayed, most);
  auth.pam.max_waiting = std::min(auth.pam.max_waiting, most);
  settings.salt.max_waiting_logins = std::min(settings.salt.max_waiting_logins, most);
}

}  // namespace

void read_logins(Reader& section, Settings& settings) {
  read_pam_helper(section, settings.auth.pam);
  read_login_guard(section.section("login_guard"), settings.auth.login_guard);
  bound_waiting(settings);
}

}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"
#include "auth/eauth.h"
#include "rest_fcgi/auth/options.h"

namespace rest_fcgi::auth {

/// The eauth `pam` with its own PAM service, whose modules are scripts. pam_exec gives a script the password
/// on standard input, and the user name in the variable PAM_USER. Not synchronized.
class PamFixture {
 public:
  /// Creates scripts that accept the password `sesame` of any user and refuse the account `expired`.
  PamFixture() {
    script("auth", "read -r word; test \"$word\" = sesame");
    script("account", "test \"$PAM_USER\" != expired");
    const std::string yes_or_no = " requisite pam_deny.so\n";
    dir.write("stack/private", "auth [success=1 default=ignore] pam_exec.so quiet expose_authtok " +
                                   dir / "auth" + "\nauth" + yes_or_no + "auth required pam_permit.so\n" +
                                   "account [success=1 default=ignore] pam_exec.so quiet " + dir / "account" +
                                   "\naccount" + yes_or_no + "account required pam_permit.so\n");
    options.service = "private";
    options.helper = script("helper", "exec " + program() + " --confdir " + dir / "stack");
  }

  static std::string program() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "rest_fcgi_pam";
  }

  std::string script(std::string_view name, std::string_view commands) const {
    const std::string path = dir.write(name, "#!/bin/sh\n" + std::string(commands) + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  void start() {
    auto made = make_pam_eauth(options);
    REQUIRE(made);
    eauth = *std::move(made);
  }

  enum class LoginResult { yes, no, internal, unavailable };
  LoginResult login(std::string_view username, std::string_view password,
                    std::string_view remote = "192.0.2.7") {
    if (!eauth) start();
    const auto verdict = eauth->verify({username, SecretView(password), remote});
    if (verdict) {
      groups = verdict->groups;
      keep = verdict->keep;
      return verdict->good ? LoginResult::yes : LoginResult::no;
    }
    CHECK(verdict.error().message == "The eauth back end failed; the log has the cause.");
    return verdict.error().kind == ErrorKind::unavailable ? LoginResult::unavailable : LoginResult::internal;
  }

  struct Dir : test::TempDir {
    Dir() { std::filesystem::create_directory(path() / "stack"); }
  };

  const Dir dir;
  PamOptions options;
  std::optional<Eauth> eauth;
  std::vector<std::string> groups;
  std::chrono::seconds keep{0};
};

}  // namespace rest_fcgi::auth

// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

using std::chrono::milliseconds;

TEST_CASE("netapi_enable_clients names the clients that are on, as a list or as one name") {
  using lowstate::Client;
  CHECK(settings_of(
            "netapi_enable_clients: [local, local_async, local_batch, local_subset, runner, runner_async,\n"
            "  wheel, wheel_async, ssh]\n")
            .client.enabled ==
        std::vector<Client>(std::begin(lowstate::kClients), std::end(lowstate::kClients)));
  CHECK(settings_of("netapi_enable_clients:\n  - runner\n").client.enabled == std::vector{Client::runner});
  CHECK(settings_of("netapi_enable_clients:\n").client.enabled.empty());
  CHECK(settings_of("netapi_enable_clients: []\n").client.enabled.empty());
  CHECK(settings_of("netapi_enable_clients: local\n").client.enabled == std::vector{Client::local});
  check_message(error_of("netapi_enable_clients: [{local: true}]\n"),
                "master:1: netapi_enable_clients: found a map", {"local_async", "ssh"});
}

TEST_CASE("Salt's timeouts are read") {
  const Settings settings =
      settings_of("timeout: 7\ngather_job_timeout: 8\nrest_timeout: 0.5\ntoken_expire: 60\n");
  CHECK(settings.client.timeout == milliseconds(7000));
  CHECK(settings.client.gather_job_timeout == milliseconds(8000));
  CHECK(settings.client.rest_timeout == milliseconds(500));
  CHECK(settings.auth.token_expire == std::chrono::seconds(60));
}

TEST_CASE("token_expire_user_override is yes, no, or users by back end") {
  const auto rule_of = [](const std::string& value) {
    return settings_of("token_expire_user_override: " + value + "\n").auth.token_expire_user_override;
  };
  CHECK(rule_of("true").allows("pam", "fred"));
  CHECK_FALSE(rule_of("false").allows("pam", "fred"));
  CHECK_FALSE(rule_of("[pam]").allows("pam", "fred"));
  CHECK_FALSE(rule_of("").allows("pam", "fred"));
  const auth::TokenLifeRule rule = rule_of("{pam: [fred, joe], file: ann, ldap: }");
  CHECK(rule.allows("pam", "joe"));
  CHECK(rule.allows("file", "ann"));
  CHECK_FALSE(rule.allows("file", "fred"));
  CHECK_FALSE(rule.allows("pam", "ann"));
  CHECK_FALSE(rule.allows("ldap", ""));
  const config::Settings settings = settings_of("token_expire_user_override: {pam: [fred]}\n");
  CHECK(settings.rest_cherrypy.common.token_life.allows("pam", "fred"));
  CHECK(settings.rest_tornado.common.token_life.allows("pam", "fred"));
}

TEST_CASE("sharedsecret is read, and no message shows it") {
  CHECK(settings_of("sharedsecret: hunter2\n").auth.sharedsecret.reveal().text == "hunter2");
  check_message(error_of("sharedsecret: 123456\n"), "master:1: sharedsecret: found ");
  CHECK(error_of("sharedsecret: 123456\n").find("123456") == std::string::npos);
  check_message(error_of("sharedsecret: sdb://vault/secret\n"), "master:1: sharedsecret: found ", {"sdb://"});
  check_message(error_of("cachedir: sdb://a/b\n"), "master:1: cachedir: found \"sdb://a/b\"");
}

TEST_CASE("a secret in a readable file, and a publisher_acl_blacklist, are warnings without the secret") {
  const ConfigDir dir("timeout: 7\nsharedsecret: hunter2\n");
  const auto warnings_with = [&](mode_t mode) {
    REQUIRE(::chmod((dir / "master").c_str(), mode) == 0);
    std::string all;
    const auto settings = *dir.load();
    for (const std::string& warning : settings.warnings) all += dir.without_dir(warning) + "\n";
    return all;
  };
  CHECK(warnings_with(0640) == "");
  check_message(warnings_with(0644), "master:2: sharedsecret: found mode 0644");
  CHECK(warnings_with(0644).find("hunter2") == std::string::npos);
  check_message(warning_of("timeout: 5\npublisher_acl_blacklist:\n  users: [root]\n"),
                "master:3: publisher_acl_blacklist: this key has no effect");
  CHECK(settings_of("publisher_acl_blacklist: {}\n").warnings.empty());
}

TEST_CASE("only Salt's default cachedir is made, with the folders above it") {
  const test::TempDir dir;
  const Settings settings = settings_of("root_dir: " + (dir / "root") + "\n");
  CHECK(settings.default_cachedir == dir / "root/var/cache/salt/master");
  make_cachedir(settings);
  CHECK(settings.warnings.empty());
  CHECK(std::filesystem::is_directory(dir / "root/var/cache/salt/master"));
  CHECK((std::filesystem::status(dir / "root/var/cache/salt").permissions() & std::filesystem::perms(0777)) ==
        std::filesystem::perms(0755));
  CHECK(settings_of("cachedir: /nosuch/cache\n").default_cachedir.empty());
}

}  // namespace
}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "config/sections.h"
#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

std::string deployed(const char* name) {
  std::ostringstream text;
  text << std::ifstream(std::filesystem::path(__FILE__).parent_path() / "../../deploy" / name).rdbuf();
  return text.str();
}

/// The keys of our own that are read, without `rest_fcgi: `.
std::vector<std::string> own_keys() {
  Findings findings;
  static_cast<void>(read_settings(Node{.kind = Kind::map}, findings));
  constexpr std::string_view kSection = "rest_fcgi: ";
  std::vector<std::string> keys;
  for (const ReadKey& key : findings.read_keys()) {
    if (key.path.starts_with(kSection)) keys.push_back(key.path.substr(kSection.size()));
  }
  return keys;
}

TEST_CASE("the reference page has every key of our section") {
  const std::string page = deployed("configuration.md");
  const auto keys = own_keys();
  REQUIRE(keys.size() > 50);
  for (const std::string& key : keys) {
    CAPTURE(key);
    CHECK((page.find("`" + key + "`") != std::string::npos || key == "embedded" || key == "login_guard" ||
           key == "salt_ssh" || key == "jobs_spool_bytes"));  // the last one was removed
  }
}

TEST_CASE("the example of a master file is accepted, with clients and a user") {
  const Settings settings = settings_of(deployed("master.example"));
  CHECK(settings.client.enabled.size() == 3);
  REQUIRE(settings.auth.external_auth.size() == 1);
  CHECK(settings.auth.external_auth[0].principals.size() == 1);
  CHECK(settings.gateway.listen == "fd:0");
  CHECK(settings.warnings.empty());
}

TEST_CASE("the reference page has every key of salt-api's sections, and each is known") {
  const std::string page = deployed("configuration.md");
  const auto check = [&page](const std::string& module, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      CAPTURE(key);
      CHECK(page.find("`" + key + "`") != std::string::npos);
      // A key that is known is read: this is not what it has to have.
      const std::string found =
          error_of("rest_fcgi: {netapi: [" + module + "]}\n" + module + ": {" + key + ": {a: [b]}}\n");
      CHECK((found.find(module + ": " + key) != std::string::npos || key == "num_processes"));
    }
  };
  check("rest_cherrypy", {"port",
                          "host",
                          "debug",
                          "log_access_file",
                          "log_error_file",
                          "ssl_crt",
                          "ssl_key",
                          "ssl_chain",
                          "ssl_cert_reqs",
                          "ssl_ca_certs",
                          "ssl_allowed_cn",
                          "disable_ssl",
                          "webhook_disable_auth",
                          "webhook_url",
                          "thread_pool",
                          "queue_size",
                          "socket_queue_size",
                          "expire_responses",
                          "collect_stats",
                          "static",
                          "static_path",
                          "stats_disable_auth",
                          "max_request_body_size",
                          "app",
                          "app_path",
                          "root_prefix",
                          "enable_sessions",
                          "authorized_ips",
                          "favicon",
                          "api_acl",
                          "cors_origin",
                          "ssl_cert"});
  check("rest_tornado", {"port", "address", "backlog", "ssl_crt", "ssl_key", "ssl_cert_reqs", "ssl_ca_certs",
                         "ssl_allowed_cn", "debug", "disable_ssl", "webhook_disable_auth", "cors_origin",
                         "websockets", "token_in_url", "num_processes", "max_body_size"});
}

TEST_CASE("the examples of the pages are accepted") {
  const std::string page = deployed("configuration.md") + deployed("rest.md");
  std::size_t examples = 0;
  for (std::size_t at = page.find("```yaml\n"); at != std::string::npos;
       at = page.find("```yaml\n", at + 1)) {
    const std::size_t begin = at + 8;
    CHECK(error_of(page.substr(begin, page.find("```", begin) - begin)).empty());
    ++examples;
  }
  CHECK(examples == 7);
}

}  // namespace
}  // namespace rest_fcgi::config

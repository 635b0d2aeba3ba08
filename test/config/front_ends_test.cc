// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "config_dir.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;
using namespace rest_fcgi::config;
using netapi::Module;

namespace {

using Mounts = std::vector<std::pair<std::string, Module>>;

constexpr const char* kRest =
    "rest_fcgi: {netapi: [rest_cherrypy, rest_tornado]}\n"
    "rest_cherrypy: {port: 8000, host: 10.0.0.1, ssl_crt: /c.pem, ssl_key: /k.pem, ssl_chain: /h.pem}\n"
    "rest_tornado: {port: 8001, disable_ssl: true}\n"
    "rest_wsgi: {port: 8002}\n";

}  // namespace

TEST_CASE("without netapi, rest_wsgi is served over FastCGI, and sections of salt-api are ignored") {
  const Settings settings = settings_of("rest_cherrypy: {port: 8000}\nrest_tornado: {port: 8001, foo: 1}\n");
  CHECK(settings.front_ends.served == std::vector{Module::rest_wsgi});
  CHECK(settings.front_ends.mounts == Mounts{{"/", Module::rest_wsgi}});
  CHECK(settings.front_ends.idle == std::vector{Module::rest_cherrypy, Module::rest_tornado});
  CHECK(settings.gateway.http.empty());
  const Settings same = settings_of("rest_wsgi: {port: 8000}\n");
  CHECK(same.front_ends.idle == std::vector{Module::rest_wsgi});
  CHECK(same.gateway.http.empty());
}

TEST_CASE("a served module with a port listens there, with the options of its section") {
  const Settings settings = settings_of(kRest);
  CHECK(settings.front_ends.http == std::vector{Module::rest_cherrypy, Module::rest_tornado});
  CHECK(settings.front_ends.mounts == Mounts{{"/", Module::rest_cherrypy}});
  CHECK(settings.front_ends.idle == std::vector{Module::rest_wsgi});
  REQUIRE(settings.gateway.http.size() == 2);
  const gateway::HttpOptions& cherrypy = settings.gateway.http[0];
  CHECK(cherrypy.name == "rest_cherrypy");
  CHECK(cherrypy.host == "10.0.0.1");
  CHECK(cherrypy.port == 8000);
  CHECK(cherrypy.ssl_crt == "/c.pem");
  CHECK(cherrypy.ssl_key == "/k.pem");
  CHECK(cherrypy.ssl_chain == "/h.pem");
  CHECK(settings.gateway.http[1].host == "::");  // By default, salt-api listens on all addresses.
  CHECK(settings.gateway.http[1].ssl_crt.empty());
}

TEST_CASE("the keys of rest_cherrypy and rest_tornado are read") {
  const Settings settings = settings_of(
      "rest_fcgi: {netapi: [rest_cherrypy, rest_tornado], max_chunks: 7}\n"
      "rest_cherrypy:\n"
      "  cors_origin: https://gui.example.org\n"
      "  api_acl: {users: {fred: [10.0.0.0/8], '*': ['*']}}\n"
      "  authorized_ips: [127.0.0.1]\n"
      "  root_prefix: /salt\n"
      "  webhook_url: /wh\n"
      "  webhook_disable_auth: true\n"
      "  enable_sessions: false\n"
      "  static: /srv/gui\n"
      "  static_path: /s\n"
      "  app: /srv/gui/index.html\n"
      "  app_path: /gui\n"
      "  favicon: /srv/icon\n"
      "  collect_stats: true\n"
      "  stats_disable_auth: true\n"
      "  log_access_file: /l/a\n"
      "  log_error_file: /l/e\n"
      "  max_request_body_size: 2000\n"
      "rest_tornado: {cors_origin: ['*', 'https://a'], webhook_disable_auth: true, max_body_size: 1M}\n");
  const netapi::RestCherrypyOptions& cherrypy = settings.rest_cherrypy;
  CHECK(cherrypy.cors_origin == std::vector<std::string>{"https://gui.example.org"});
  REQUIRE(cherrypy.api_acl);
  CHECK(cherrypy.api_acl->users.size() == 2);
  CHECK(cherrypy.api_acl->users[0] ==
        std::pair<std::string, std::vector<std::string>>{"fred", {"10.0.0.0/8"}});
  CHECK(cherrypy.authorized_ips == std::vector<std::string>{"127.0.0.1"});
  CHECK(cherrypy.root_prefix == "/salt");
  CHECK(cherrypy.webhook_url == "/wh");
  CHECK(cherrypy.webhook_disable_auth);
  CHECK(!cherrypy.enable_sessions);
  CHECK(cherrypy.static_root == "/srv/gui");
  CHECK(cherrypy.static_path == "/s");
  CHECK(cherrypy.app == "/srv/gui/index.html");
  CHECK(cherrypy.app_path == "/gui");
  CHECK(cherrypy.favicon == "/srv/icon");
  CHECK(cherrypy.collect_stats);
  CHECK(cherrypy.stats_disable_auth);
  CHECK(cherrypy.log_access);
  CHECK(settings.log.access_file == "/l/a");
  CHECK(settings.log.error_file == "/l/e");
  CHECK(cherrypy.max_request_body_size == 2000);
  CHECK(cherrypy.common.lowstate.max_chunks == 7);
  CHECK(settings.rest_tornado.cors_origin == std::vector<std::string>{"*", "https://a"});
  CHECK(settings.rest_tornado.webhook_disable_auth);
  CHECK(settings.rest_tornado.max_body_size == 1048576);
  CHECK(settings.rest_tornado.common.lowstate.max_chunks == 7);
}

TEST_CASE("an unknown key that another section or server has is a warning with the key of this section") {
  for (const auto& [section, key, meant] : {std::tuple("rest_cherrypy", "static_prefix", "static_path"),
                                            {"rest_cherrypy", "interface", "host"},
                                            {"rest_cherrypy", "address", "host"},
                                            {"rest_cherrypy", "max_body_size", "max_request_body_size"},
                                            {"rest_tornado", "host", "address"},
                                            {"rest_tornado", "interface", "address"},
                                            {"rest_tornado", "max_request_body_size", "max_body_size"}}) {
    const Settings settings =
        settings_of(format("rest_fcgi: {{netapi: [{0}]}}\n{0}: {{{1}: a}}\n", section, key));
    REQUIRE(settings.warnings.size() == 1);
    CHECK(settings.warnings[0].ends_with(
        format("{}: \"{}\": unknown key, did you mean {}?", section, key, meant)));
  }
}

TEST_CASE("an unknown key of salt-api is a warning, and a key without effect is accepted") {
  const Settings settings = settings_of(
      "rest_fcgi: {netapi: [rest_cherrypy, rest_tornado, rest_wsgi],\n"
      "            mount: {/: rest_cherrypy, /t: rest_tornado, /w: rest_wsgi}}\n"
      "rest_cherrypy: {webhok_url: /a}\nrest_tornado: {xheaders: true}\nrest_wsgi: {host: a}\n");
  REQUIRE(settings.warnings.size() == 3);
  const auto warns = [&](std::string_view text) {
    return std::any_of(settings.warnings.begin(), settings.warnings.end(),
                       [&](const std::string& one) { return one.find(text) != std::string::npos; });
  };
  CHECK(warns(R"(rest_cherrypy: "webhok_url": unknown key, did you mean webhook_url?)"));
  CHECK(warns(R"(rest_tornado: "xheaders": unknown key)"));
  CHECK(warns(R"(rest_wsgi: "host": unknown key)"));
  using Keys = std::vector<std::string>;
  const Settings inert = settings_of(
      "rest_fcgi: {netapi: [rest_cherrypy, rest_tornado], mount: {/: rest_cherrypy, /t: rest_tornado}}\n"
      "rest_cherrypy: {thread_pool: 3, queue_size: 5, debug: true, expire_responses: false}\n"
      "rest_tornado: {num_processes: 4, backlog: 5, websockets: false}\n");
  CHECK(inert.warnings.empty());
  CHECK(inert.front_ends.inert == Keys{"rest_cherrypy: thread_pool", "rest_cherrypy: queue_size",
                                       "rest_cherrypy: expire_responses", "rest_cherrypy: debug",
                                       "rest_tornado: backlog", "rest_tornado: num_processes",
                                       "rest_tornado: websockets"});
  CHECK(inert.gateway.max_threads == gateway::Options().max_threads);
  check_message(warning_of("rest_fcgi: {netapi: [rest_cherrypy, rest_tornado]}\n"),
                "rest_fcgi: netapi: rest_tornado ", {"port", "mount"});
}

TEST_CASE("FastCGI accepts the largest body of its modules") {
  const std::string text =
      "rest_fcgi: {netapi: [rest_wsgi, rest_cherrypy, rest_tornado], max_request_body_size: 2000,\n"
      "            mount: {/: rest_wsgi, /api: rest_cherrypy}}\n"
      "rest_cherrypy: {max_request_body_size: 3000}\nrest_tornado: {max_body_size: 4000, port: 1, "
      "disable_ssl: true}\n";
  const Settings settings = settings_of(text);
  CHECK(settings.front_ends.mounts == Mounts{{"/", Module::rest_wsgi}, {"/api", Module::rest_cherrypy}});
  CHECK(settings.gateway.max_request_body_size == 3000);
  CHECK(settings.netapi.max_request_body_size == 2000);
  CHECK(settings_of("rest_fcgi: {max_request_body_size: 2000}\n").netapi.max_request_body_size == 2000);
}

TEST_CASE("trusted_proxies is auto, [] or addresses, and auto believes loopback on a plain loopback port") {
  const auto proxies = [](std::string_view own, std::string_view port) {
    const Settings settings = settings_of("rest_fcgi: {netapi: [rest_cherrypy]" + std::string(own) +
                                          "}\nrest_cherrypy: {port: 8000, " + std::string(port) + "}\n");
    return settings.gateway.http.at(0).trusted_proxies;
  };
  using Texts = std::vector<std::string>;
  const Texts loopback{"127.0.0.0/8", "::1"};
  const Texts none;
  const std::string tls = "ssl_crt: /c.pem, ssl_key: /k.pem";
  for (const std::string own : {"", ", trusted_proxies: auto"}) {
    for (const std::string host : {"127.0.0.1", "127.0.1.1", "'::1'", "localhost", "'::ffff:127.0.0.1'"})
      CHECK_MESSAGE(proxies(own, "disable_ssl: true, host: " + host) == loopback, host);
    for (const std::string host : {"0.0.0.0", "'::'", "10.0.0.1", "salt.example.org", "'::ffff:10.0.0.1'"})
      CHECK_MESSAGE(proxies(own, "disable_ssl: true, host: " + host) == none, host);
    CHECK(proxies(own, "disable_ssl: true") == none);
    CHECK(proxies(own, "host: 127.0.0.1, " + tls) == none);
  }
  for (const std::string port : {"disable_ssl: true, host: 127.0.0.1", "disable_ssl: true"}) {
    CHECK(proxies(", trusted_proxies: []", port) == none);
    CHECK(proxies(", trusted_proxies: [10.0.0.0/8]", port) == Texts{"10.0.0.0/8"});
    CHECK(proxies(", trusted_proxies: 10.0.0.1", port) == Texts{"10.0.0.1"});
  }
  const Settings wsgi = settings_of("rest_fcgi: {netapi: [rest_wsgi]}\nrest_wsgi: {port: 8002}\n");
  CHECK(wsgi.gateway.http.at(0).trusted_proxies == loopback);
  CHECK(wsgi.gateway.http[0].host == "127.0.0.1");
  CHECK(wsgi.gateway.http[0].port == 8002);
  const auto error = [](std::string_view value) {
    return error_of("rest_fcgi: {trusted_proxies: " + std::string(value) + "}\n");
  };
  for (const char* value : {"auto", "[]", "['[::1]']", "['[2001:db8::]/32', 10.0.0.1]", "'[::1]'"})
    CHECK_MESSAGE(error(value) == "", value);
  for (const char* value : {"null", "", "''", "{}", "{a: b}", "[null]", "['']", "[[]]", "[{}]", "false",
                            "true", "[false]", "'*'", "['*']", "[10.0.0.1, '*']", "[10.0.0.1, ~]", "5"})
    CHECK_MESSAGE(error(value).find("rest_fcgi: trusted_proxies: found ") != std::string::npos, value);
  for (const char* value : {"loopback", "'[10.0.0.1]'", "['[::1']", "Auto"}) {
    CHECK_MESSAGE(error(value).find("rest_fcgi: trusted_proxies: ") != std::string::npos, value);
    CHECK_MESSAGE(error(value).find('*') == std::string::npos, value);
  }
}

TEST_CASE("an empty ssl_allowed_cn is a mistake with ssl_cert_reqs, and else counts as absent") {
  for (const std::string module : {"rest_cherrypy", "rest_tornado"}) {
    for (const std::string empty : {"", "null", "''", "[]", "{}"}) {
      CAPTURE(empty);
      const auto error = [&](const std::string& keys) {
        return error_of("rest_fcgi: {netapi: [" + module + "]}\n" + module + ": {port: 8000, " + keys +
                        ", ssl_allowed_cn: " + empty + "}\n");
      };
      const std::string tls = "ssl_crt: /c.pem, ssl_key: /k.pem";
      for (const char* mode : {"CERT_REQUIRED", "CERT_OPTIONAL"})
        CHECK(error(tls + ", ssl_ca_certs: /ca, ssl_cert_reqs: " + mode)
                  .starts_with("master:2: " + module + ": ssl_allowed_cn: found "));
      for (const std::string& keys :
           {tls, tls + ", ssl_cert_reqs: CERT_NONE", tls + ", ssl_ciphers: " + empty,
            std::string("disable_ssl: true"), std::string("disable_ssl: true, ssl_cert_reqs: ''")})
        CHECK_MESSAGE(error(keys) == "", keys);
    }
  }
}

TEST_CASE("both modules with TLS read the keys for client certificates") {
  for (const std::string module : {"rest_cherrypy", "rest_tornado"}) {
    const auto with = [&module](std::string_view keys) {
      const std::string pair = "port: 8000, ssl_crt: /c.pem, ssl_key: /k.pem, ";
      return "rest_fcgi: {netapi: [" + module + "]}\n" + module + ": {" + pair + std::string(keys) + "}\n";
    };
    const auto options = [&](std::string_view keys) { return settings_of(with(keys)).gateway.http.at(0); };
    const gateway::HttpOptions all =
        options("ssl_cert_reqs: CERT_REQUIRED, ssl_ca_certs: /ca.pem, ssl_allowed_cn: [a, b]");
    CHECK(all.client_certificates == gateway::ClientCertificates::required);
    CHECK(all.ssl_ca_certs == "/ca.pem");
    CHECK(all.ssl_allowed_cn == std::vector<std::string>{"a", "b"});
    CHECK(options("ssl_cert_reqs: CERT_OPTIONAL, ssl_ca_certs: /ca").client_certificates ==
          gateway::ClientCertificates::optional);
    CHECK(options("ssl_cert_reqs: CERT_NONE, ssl_ca_certs: /ca").client_certificates ==
          gateway::ClientCertificates::none);
    CHECK(options("ssl_cert_reqs: CERT_REQUIRED, ssl_ca_certs: /ca, ssl_allowed_cn: a").ssl_allowed_cn ==
          std::vector<std::string>{"a"});
    for (const char* keys : {"ssl_cert_reqs: CERT_REQUIRED", "ssl_cert_reqs: CERT_OPTIONAL",
                             "ssl_cert_reqs: required", "ssl_cert_reqs: 2", "ssl_ca_certs: /ca",
                             "ssl_allowed_cn: [a]", "ssl_cert_reqs: CERT_NONE, ssl_allowed_cn: [a]",
                             "ssl_cert_reqs: CERT_REQUIRED, ssl_ca_certs: /ca, ssl_allowed_cn: []",
                             "ssl_cert_reqs: CERT_REQUIRED, ssl_ca_certs: ca.pem",
                             "ssl_cert_reqs: CERT_REQUIRED, ssl_ca_certs: /ca, disable_ssl: true"})
      CHECK_MESSAGE(error_of(with(keys)).starts_with("master:2: " + module + ": ssl_"), keys);
    CHECK(error_of(with("ssl_cert_req: CERT_REQUIRED")).find("did you mean ssl_cert_reqs?") !=
          std::string::npos);
  }
}

TEST_CASE("mistakes about front ends have their key and value") {
  check_message(error_of("rest_fcgi: {netapi: [rest_flask]}"),
                "master:1: rest_fcgi: netapi: found \"rest_flask\"",
                {"rest_wsgi, rest_cherrypy, rest_tornado"});
  check_message(error_of("rest_fcgi: {netapi: [rest_wsgi, rest_wsgi]}"),
                "master:1: rest_fcgi: netapi: found ");
  check_message(error_of("rest_fcgi: {netapi: []}"), "master:1: rest_fcgi: netapi: found a list");
  for (const char* path : {"api", "/api/", "//api"}) {
    check_message(error_of(std::string("rest_fcgi: {mount: {") + path + ": rest_wsgi}}"),
                  std::string("master:1: rest_fcgi: mount: found \"") + path + "\"");
  }
  check_message(error_of("rest_fcgi: {mount: {/: rest_cherrypy}}"),
                "master:1: rest_fcgi: mount: found \"rest_cherrypy\"");
  const std::string served = "rest_fcgi: {netapi: [rest_cherrypy, rest_tornado]}\n";
  for (const std::string key : {"authorized_ips: [nginx]", "api_acl: {users: {a: [nginx]}}"})
    check_message(error_of(served + "rest_cherrypy: {" + key + "}"), "master:", {"'nginx'"});
  check_message(error_of(served + "rest_cherrypy: {port: 8000}"),
                "master:2: rest_cherrypy: port: ", {"ssl_crt", "disable_ssl"});
  check_message(error_of(served + "rest_tornado: {port: 70000}"),
                "master:2: rest_tornado: port: found 70000");
  check_message(error_of(served + "rest_cherrypy: {cors_origin: 5}"),
                "master:2: rest_cherrypy: cors_origin: found 5");
  check_message(error_of(served + "rest_cherrypy: {authorized_ips: [{a: 1}]}"),
                "master:2: rest_cherrypy: authorized_ips: found a map");
  check_message(error_of(served + "rest_cherrypy: {api_acl: {user: {}}}"),
                "master:2: rest_cherrypy: api_acl: ", {"did you mean users?"});
}

TEST_CASE("metrics have a port of their own") {
  const Settings settings = settings_of("rest_fcgi: {metrics: {listen: '[::1]:9175'}}\n");
  REQUIRE(settings.front_ends.metrics);
  CHECK(settings.front_ends.metrics->host == "::1");
  CHECK(settings.front_ends.metrics->port == 9175);
  CHECK(settings.gateway.http.empty());
  CHECK_FALSE(settings_of("rest_fcgi: {}\n").front_ends.metrics);
  CHECK_FALSE(settings.front_ends.ignores_tests);
  CHECK(settings_of("rest_fcgi: {metrics: {ignore_test: true}}\n").front_ends.ignores_tests);
  const Settings with_socket = settings_of("rest_fcgi: {metrics: {listen: 'unix:/run/metrics.sock'}}\n");
  REQUIRE(with_socket.front_ends.metrics);
  CHECK(with_socket.front_ends.metrics->unix_path == "/run/metrics.sock");
  for (const char* wrong : {"9175", "localhost", "'localhost:0'", "'a b:1'", "[]", "'unix:'", "'unix:a'"}) {
    check_message(error_of(std::string("rest_fcgi: {metrics: {listen: ") + wrong + "}}\n"),
                  "master:1: rest_fcgi: metrics: listen: ", {"HOST:PORT or unix:PATH"});
  }
  CHECK(settings_of("rest_fcgi: {metrics: {on_api: true}}\n").front_ends.has_metrics_on_api);
  check_message(error_of("rest_fcgi: {metrics: {port: 1}}\n"), "master:1: rest_fcgi: metrics: \"port\"");
}

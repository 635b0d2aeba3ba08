// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "config/sections.h"
#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;  // of the top level: key, value

const Entries kEmbedded = {{"rest_fcgi", "{netapi: [rest_wsgi, rest_cherrypy, rest_tornado]}"},
                           {"eauth_tokens", "etcd"},
                           {"etcd.returner", "my_etcd"},
                           {"my_etcd", "{etcd.host: e1}"}};
const Entries kSalt = {{"rest_fcgi", "{engine: salt, netapi: [rest_wsgi, rest_cherrypy, rest_tornado]}"},
                       {"worker_pools", "{all: {worker_count: 5, commands: ['*']}}"}};

/// A master file of `entries`, with `value` for the key at `path`, such as `rest_cherrypy: port`.
std::string file_with(const Entries& entries, const std::string& path, const std::string& value) {
  const std::string top = path.substr(0, path.find(": "));
  std::string text;
  for (const auto& [key, its_value] : entries) {
    if (key != top) text += key + ": " + its_value + "\n";
  }
  if (path.empty()) return text;
  std::string line = "'" + top + "': ";
  std::string closing;
  for (std::string rest = path.substr(top.size()); !rest.empty();) {
    rest.erase(0, 2);
    const std::string key = rest.substr(0, rest.find(": "));
    line += "{'" + key + "': ";
    closing += "}";
    rest.erase(0, key.size());
  }
  return text + line + value + closing + "\n";
}

/// The keys of Salt's own that are read, with what each holds.
std::map<std::string, ReadKey> salts_keys(const Entries& entries) {
  const auto root = yaml::read("", file_with(entries, "", ""));
  REQUIRE(root);
  Findings findings;
  static_cast<void>(read_settings(*root, findings));
  std::map<std::string, ReadKey> keys;
  for (const ReadKey& key : findings.read_keys()) {
    if (key.style == Style::strict) continue;
    const auto [known, is_new] = keys.emplace(key.path, key);
    if (!is_new && key.form != Form::other) known->second = key;
  }
  return keys;
}

/// Calls `check(entries, key)` for each of these keys.
template <class Check>
void for_each_key(const Check& check) {
  std::size_t count = 0;
  for (const Entries& entries : {kEmbedded, kSalt}) {
    for (const auto& known : salts_keys(entries)) {
      CAPTURE(known.first);
      check(entries, known.second);
      ++count;
    }
  }
  CHECK(count > 120);
}

TEST_CASE("an empty value of any key of Salt's counts as no such key") {
  for_each_key([](const Entries& entries, const ReadKey& key) {
    const Settings absent = settings_of(file_with(entries, key.path, "null"));
    for (const char* value : {"''", "", "[]", "{}"}) {
      if (key.path == "rest_fcgi" && (*value == '[' || *value == '\'')) continue;  // is our own
      CAPTURE(value);
      const ConfigDir dir(file_with(entries, key.path, value));
      const auto settings = dir.load();
      CHECK(dir.error() == "");
      if (settings) CHECK(restart_keys(*settings, absent).empty());
    }
  });
}

TEST_CASE("a text that means one boolean is taken for any flag of Salt's") {
  for_each_key([](const Entries& entries, const ReadKey& key) {
    if (key.form != Form::flag) return;
    const auto error = [&](const char* value) { return error_of(file_with(entries, key.path, value)); };
    for (const char* value : {"'True'", "'true'", "'yes'", "'ON'", "1", "'1'", "!!python/unicode 'True'"}) {
      CAPTURE(value);
      CHECK((error(value) == "" || error("true") != ""));  // `true` itself may not be supported
    }
    for (const char* value : {"'False'", "'no'", "'off'", "0", "'0'", "!!str false"}) {
      CAPTURE(value);
      CHECK(error(value) == "");
    }
    for (const char* value : {"2", "'maybe'", "1.5", "[true]"}) {
      CAPTURE(value);
      CHECK(error(value).find(": found ") != std::string::npos);
    }
  });
}

TEST_CASE("a text or a whole real is taken for any number of Salt's") {
  for_each_key([](const Entries& entries, const ReadKey& key) {
    if (key.form == Form::other || key.form == Form::flag || key.path.starts_with("worker_pools")) return;
    const auto error = [&](const std::string& value) {
      return error_of(file_with(entries, key.path, value));
    };
    for (const std::string& value :
         {"'" + key.sample + "'", "' " + key.sample + " '", key.sample + ".0", "'" + key.sample + ".0'"}) {
      CAPTURE(value);
      CHECK(error(value).find("found") == std::string::npos);
    }
    for (const char* value : {"'many'", "true", "[1]", "'1 2'", "'0x10'"}) {
      CAPTURE(value);
      CHECK(error(value).find(": found ") != std::string::npos);
    }
  });
}

TEST_CASE("the values that texts stand for are those of the numbers and booleans") {
  const Settings settings = settings_of(
      "timeout: '20'\nrest_timeout: ' 0.5 '\ntoken_expire: '60'\nlog_level: WARN\n"
      "rest_fcgi: {netapi: [rest_cherrypy]}\n"
      "rest_cherrypy: {port: '8000', disable_ssl: 'True', webhook_disable_auth: 'False', debug: 0,\n"
      "  max_request_body_size: '2000', cors_origin: null, ssl_chain: , static: '', expire_responses: "
      "'no'}\n");
  CHECK(settings.client.timeout == std::chrono::seconds(20));
  CHECK(settings.client.rest_timeout == std::chrono::milliseconds(500));
  CHECK(settings.auth.token_expire == std::chrono::seconds(60));
  CHECK(settings.log.level == log::Level::warning);
  REQUIRE(settings.gateway.http.size() == 1);
  CHECK(settings.gateway.http[0].port == 8000);
  CHECK(settings.gateway.http[0].ssl_crt.empty());
  CHECK_FALSE(settings.rest_cherrypy.webhook_disable_auth);
  CHECK(settings.rest_cherrypy.max_request_body_size == 2000);
  CHECK_FALSE(settings.rest_cherrypy.expire_responses);
}

TEST_CASE("every name of a level that Salt has is taken, in any case") {
  for (const char* level : {"all", "GARBAGE", "Trace", "debug", "profile", "info", "warn", "Warning", "ERROR",
                            "err", "critical", "Fatal", "quiet", "none", "' info '"}) {
    CAPTURE(level);
    CHECK(error_of(std::string("log_level: ") + level + "\nlog_level_logfile: " + level + "\n") == "");
  }
}

TEST_CASE("empty items of lists are left out, and whole sections may be empty") {
  CHECK(error_of("netapi_enable_clients: [null]\nnodegroups: {a: null, b: [~, web*]}\ninclude: [~, '']\n"
                 "default_include: ''\nexternal_auth: {file: , pam: {alice: [null, test.ping], bob: ''}}\n"
                 "rest_fcgi: {netapi: [rest_cherrypy]}\nrest_cherrypy: {cors_origin: [null]}\n") == "");
  for (const char* text :
       {"rest_fcgi:\n", "external_auth:\n", "external_auth: []\n", "rest_cherrypy:\n", "include:\n",
        "rest_fcgi: {netapi: [rest_cherrypy]}\nrest_cherrypy:\n", "include: {}\n"}) {
    CAPTURE(text);
    CHECK(error_of(text) == "");
  }
}

TEST_CASE("an empty value never opens what a list closes") {
  const std::string served = "rest_fcgi: {netapi: [rest_cherrypy]}\nrest_cherrypy: ";
  CHECK(error_of(served + "{authorized_ips: [null]}\n")
            .starts_with(
                "master:2: rest_cherrypy: authorized_ips: found a list, expected a list of addresses"));
  const Settings settings = settings_of(served + "{api_acl: {users: {fred: , eve: [~], '*': ['*']}}}\n");
  const auto& users = settings.rest_cherrypy.api_acl->users;
  REQUIRE(users.size() == 3);
  CHECK(users[0].second.empty());
  CHECK(users[1].second.empty());
}

TEST_CASE("our own section stays strict") {
  for (const char* entry : {"max_threads: ", "max_threads: '4'", "max_threads: 4.0", "allow_remote: 'yes'",
                            "allow_remote: 1", "log_file: ''", "embedded: {max_workers: '7'}"}) {
    CAPTURE(entry);
    CHECK(error_of(std::string("rest_fcgi: {") + entry + "}\n").find(": found ") != std::string::npos);
  }
}

TEST_CASE("an empty value is refused in our own section where it has no meaning") {
  for (const char* entry :
       {"netapi: ", "mount: ", "mount: []", "mount: ''", "embedded: []", "login_guard: ''", "salt_ssh: []",
        "embedded: {minions: ''}", "embedded: {module_dirs: }", "embedded: {module_dirs: ''}",
        "embedded: {script_user: ''}", "socket_owner: ''", "socket_group: ''", "engine: ''",
        "events: ", "log_level: ''", "listen: "}) {
    CAPTURE(entry);
    CHECK(error_of(std::string("rest_fcgi: {") + entry + "}\n").find(": found ") != std::string::npos);
  }
  for (const char* value : {"''", "[]", "false", "[{max_threads: 4}]"})
    CHECK(error_of(std::string("rest_fcgi: ") + value + "\n").starts_with("master:1: rest_fcgi: found "));
  for (const char* value : {"", "{}", "{mount: {}}", "{embedded: , login_guard: , salt_ssh: }",
                            "{embedded: {}}", "{embedded: {minions: []}}"})
    CHECK(error_of(std::string("rest_fcgi: ") + value + "\n") == "");
}

TEST_CASE("a key at the top that is close to one that is read is a warning") {
  const std::pair<const char*, const char*> keys[] = {{"rest_fgci", "rest_fcgi"},
                                                      {"rest-fcgi", "rest_fcgi"},
                                                      {"netapi_enabled_clients", "netapi_enable_clients"},
                                                      {"external_auths", "external_auth"},
                                                      {"token_expires", "token_expire"},
                                                      {"rest_cherypy", "rest_cherrypy"}};
  for (const auto& pair : keys) {
    const auto [key, meant] = std::pair(std::string(pair.first), std::string(pair.second));
    CAPTURE(pair.first);
    const Settings settings = settings_of(std::string("timeout: 5\n") + key + ": {a: b}\n");
    REQUIRE(settings.warnings.size() == 1);
    CHECK(settings.warnings[0].ends_with(std::string("master:2: \"") + key +
                                         "\": there is no such key, did you mean " + meant + "?"));
  }
  for (const char* key :
       {"returner", "ssh_timeout", "auth_timeout", "fips_mode", "master_type", "pillar_opts", "my_key",
        "ssh_user", "conf_dir", "render_dirs", "publish_port", "user"})
    CHECK(settings_of(std::string(key) + ": 5\n").warnings.empty());
}

TEST_CASE("a client that does not exist is a warning with the names that there are") {
  const ConfigDir dir("netapi_enable_clients:\n  - local\n  - locl\n");
  const auto settings = dir.load();
  REQUIRE(settings);
  CHECK(settings->client.enabled == std::vector{lowstate::Client::local});
  REQUIRE(settings->warnings.size() == 1);
  CHECK(dir.without_dir(settings->warnings[0]) ==
        "master:3: netapi_enable_clients: there is no client \"locl\"; clients are local, local_async, "
        "local_batch, "
        "local_subset, runner, runner_async, wheel, wheel_async, ssh");
}

TEST_CASE("a tab that indents is named with its line") {
  for (const char* text : {"a: 1\n\tb: 2\n", "a:\n\tb: 2\n", "a:\n  b: 1\n\tc: 2\n",
                           "a: |\n  x\nb:\n  \tc: 1\n", "a:\n  -\tb: 1\n    c: 2\n"}) {
    CAPTURE(text);
    const std::string error = error_of(text);
    CHECK(error.ends_with(": YAML allows no tabs here, indent with spaces"));
  }
  CHECK(error_of("a:\n\tb: 2\n") == "master:2: YAML allows no tabs here, indent with spaces");
}

TEST_CASE("tags of Python's text are taken, others are refused") {
  CHECK(settings_of("cachedir: !!python/unicode '/c'\n").store.path == "/c/rest_fcgi/state.db");
  CHECK(settings_of("cachedir: !!python/str /c\n").store.path == "/c/rest_fcgi/state.db");
  CHECK(error_of("a: 1\nb: !!python/object/apply:os.system [ls]\n") ==
        "master:2: found a tag that makes a Python object, expected a plain value: "
        "\"tag:yaml.org,2002:python/object/apply:os.system\"");
}

TEST_CASE("a key in braces without a space behind its colon is told, without its value") {
  const ConfigDir dir("rest_cherrypy: {port:8000, host: 10.0.0.1}\nrest_fcgi: {netapi: [rest_cherrypy]}\n");
  const auto settings = dir.load();
  REQUIRE(settings);
  REQUIRE_FALSE(settings->warnings.empty());
  CHECK(dir.without_dir(settings->warnings[0]) ==
        "master:1: rest_cherrypy: \"port:\": found no space behind the colon, expected port: VALUE");
  CHECK(error_of("rest_fcgi: {log_level:debug}\n") ==
        "master:1: rest_fcgi: \"log_level:\": found no space behind the colon, expected log_level: VALUE");
}

TEST_CASE("log_level: off is refused, since it logs all in Salt, and quiet is named") {
  for (const char* level : {"off", "'off'", "no", "false", "0"}) {
    CAPTURE(level);
    const std::string message = error_of(std::string("log_level: ") + level + "\n");
    CHECK(message.starts_with("master:1: log_level: found "));
    CHECK(message.find("expected quiet for no log") != std::string::npos);
  }
  CHECK(error_of("log_level: on\n").starts_with("master:1: log_level: found on, expected all"));
}

TEST_CASE("IPv6 addresses may be in brackets, and what is no host is refused with its place") {
  const std::string served = "rest_fcgi: {netapi: [rest_cherrypy, rest_tornado]}\n";
  const Settings settings = settings_of(served +
                                        "rest_cherrypy: {port: 1, disable_ssl: true, host: '[::1]'}\n"
                                        "rest_tornado: {port: 2, disable_ssl: true, address: '[::1]'}\n");
  CHECK(settings.gateway.http.at(0).host == "::1");
  CHECK(settings.gateway.http.at(1).host == "::1");
  CHECK(settings_of("rest_fcgi: {engine: salt}\ninterface: '[::1]'\n").salt.interface == "::1");
  CHECK(error_of(served + "rest_cherrypy: {host: 'http://x'}\n")
            .starts_with("master:2: rest_cherrypy: host: found"));
  CHECK(error_of("rest_fcgi: {engine: salt}\ninterface: 'a b'\n")
            .starts_with("master:2: interface: found \"a b\""));
  for (const std::string host :
       {"999.1.1.1", "10.0.0", "1.2.3.4.5", "':::1'", "'10.0.0.1:80'", "'[::g]'", "7."}) {
    CAPTURE(host);
    CHECK(error_of(served + "rest_cherrypy: {host: " + host + "}\n")
              .starts_with("master:2: rest_cherrypy: host: found"));
    CHECK(error_of("rest_fcgi: {engine: salt}\ninterface: " + host + "\n")
              .starts_with("master:2: interface: found"));
  }
  for (const std::string host :
       {"10.0.0.1", "'fe80::1%eth0'", "'::ffff:10.0.0.1'", "1a.example", "a1", "x.4a"}) {
    CAPTURE(host);
    CHECK(error_of(served + "rest_cherrypy: {host: " + host + "}\n").empty());
  }
}

TEST_CASE("a name of a host without an address is refused with its key") {
  const auto error_for = [](const std::string& text) {
    const Settings settings =
        settings_of("rest_fcgi: {netapi: [rest_cherrypy, rest_tornado], engine: salt}\n" + text);
    const auto checked = config::check_hosts(settings);
    return checked ? std::string() : config::with_place(checked.error(), settings).message;
  };
  const auto refuses = [&](const std::string& text, const std::string& words) {
    const std::string message = error_for(text);
    CHECK_MESSAGE(message.find("/master:2: " + words) != std::string::npos, message);
  };
  CHECK(error_for("interface: localhost\nrest_cherrypy: {port: 1, disable_ssl: true, host: localhost}\n")
            .empty());
  CHECK(error_for("rest_tornado: {port: 1, disable_ssl: true, address: '::'}\n").empty());
  // No name server is asked for a name with an empty part.
  refuses("interface: a..b\n", "interface: found \"a..b\", a name without an address, expected an address");
  refuses("rest_cherrypy: {port: 1, disable_ssl: true, host: a..b}\n", "rest_cherrypy: host: found \"a..b\"");
  refuses("rest_tornado: {port: 1, disable_ssl: true, address: a..b}\n",
          "rest_tornado: address: found \"a..b\"");
}

TEST_CASE("/ is taken for the paths of rest_cherrypy, with a warning") {
  for (const char* key : {"webhook_url", "static_path", "app_path"}) {
    CAPTURE(key);
    const Settings settings =
        settings_of(std::string("rest_fcgi: {netapi: [rest_cherrypy]}\nrest_cherrypy: {") + key + ": /}\n");
    REQUIRE(settings.warnings.size() == 1);
    CHECK(settings.warnings[0].find(std::string("master:2: rest_cherrypy: ") + key + ": found \"/\"") !=
          std::string::npos);
  }
}

TEST_CASE("sock_dir moves into cachedir where Salt moves it, before root_dir is put in front") {
  const auto sock_dir = [](const char* keys) {
    return settings_of(std::string("rest_fcgi: {engine: salt}\n") + keys).salt.sock_dir;
  };
  CHECK(sock_dir("cachedir: /srv/salt\n") == "/srv/salt/.salt-unix");
  CHECK(sock_dir("cachedir: /srv/salt1\n") == "/var/run/salt/master");
  CHECK(sock_dir("cachedir: /c\nroot_dir: /a/long/path/that/counts/for/nothing\n") ==
        "/a/long/path/that/counts/for/nothing/c/.salt-unix");
  CHECK(sock_dir("cachedir: /srv/salt\nsock_dir: /run/s\n") == "/run/s");
  CHECK(sock_dir("cachedir: /c\nsock_dir: /run/salt/master\n") == "/c/.salt-unix");
  CHECK(sock_dir("cachedir: ''\nsock_dir: ''\n") == "/var/run/salt/master");
}

TEST_CASE("keys of a master that the embedded engine has nothing for are one warning") {
  const ConfigDir dir("timeout: 5\nreactor:\n  - 'x': [/a.sls]\nschedule: {a: {function: b}}\npeer:\n");
  const auto settings = dir.load();
  REQUIRE(settings);
  REQUIRE(settings->warnings.size() == 1);
  CHECK(dir.without_dir(settings->warnings[0])
            .starts_with(
                "master:3: reactor, schedule: without effect here, the embedded engine has none of it"));
  CHECK(settings_of("rest_fcgi: {engine: salt}\nreactor: [{x: [/a.sls]}]\n").warnings.empty());
  CHECK(settings_of("presence_events: false\norder_masters: no\nstate_events: False\n").warnings.empty());
  const Settings others = settings_of("presence_events: true\nclient_acl_blacklist: {users: [a]}\n");
  REQUIRE(others.warnings.size() == 1);
  CHECK(others.warnings[0].find("client_acl_blacklist, presence_events: without effect") !=
        std::string::npos);
}

TEST_CASE("errors of other components get the place of the key that they begin with") {
  const ConfigDir dir(
      "nodegroups:\n  a: 'N@b'\nmy_etcd:\n  etcd.ca: /none\nrest_fcgi:\n  embedded:\n    script_user: x\n  "
      "listen: fd:0\n");
  const auto settings = dir.load();
  REQUIRE(settings);
  const auto placed = [&](const char* message) {
    return dir.without_dir(with_place({ErrorKind::configuration, message, {}}, *settings).message);
  };
  CHECK(placed("nodegroups: a: there is none") == "master:2: nodegroups: a: there is none");
  CHECK(placed("etcd.ca: /none: bad") == "master:4: etcd.ca: /none: bad");
  CHECK(placed("rest_fcgi: embedded: script_user: bad") == "master:7: rest_fcgi: embedded: script_user: bad");
  CHECK(placed("listen: bad") == "master:8: listen: bad");
  CHECK(placed("something else: bad") == "something else: bad");
}

TEST_CASE("a folder of included files in which others may put files is a warning") {
  ConfigDir dir("include: [extra/*.conf, extra/x.conf]\n");
  dir.with("master.d/a.conf", "").with("extra/x.conf", "");
  REQUIRE(::chmod((dir / "extra").c_str(), 01777) == 0);
  const auto settings = dir.load();
  REQUIRE(settings);
  REQUIRE(settings->warnings.size() == 1);
  CHECK(dir.without_dir(settings->warnings[0]).starts_with("extra: found mode 1777: any user may add files"));
  if (::geteuid() != 0) return;  // only root can give folders away
  REQUIRE(::chown((dir / "master.d").c_str(), 65534, 0) == 0);
  const auto other = dir.load();
  REQUIRE(other);
  REQUIRE(other->warnings.size() == 2);
  CHECK(
      dir.without_dir(other->warnings[0])
          .starts_with("master.d: found the owner nobody, who may change this configuration, expected root"));
  CHECK(other->warnings[0].find("root or root") == std::string::npos);
}

TEST_CASE("a configuration file of another user is a warning") {
  if (::geteuid() != 0) return;  // only root can give files away
  ConfigDir dir("");
  dir.with("master.d/a.conf", "timeout: 7\n").with("master.d/b.conf", "");
  REQUIRE(::chown((dir / "master.d/a.conf").c_str(), 65534, 0) == 0);
  const auto settings = dir.load();
  REQUIRE(settings);
  REQUIRE(settings->warnings.size() == 1);
  CHECK(dir.without_dir(settings->warnings[0])
            .starts_with("master.d/a.conf: found the owner nobody, who may change this configuration"));
  REQUIRE(::chown((dir / "master").c_str(), 65534, 0) == 0);
  const auto other = dir.load();
  REQUIRE(other);
  CHECK(dir.without_dir(other->warnings.at(0)).starts_with("master: found the owner nobody"));
  CHECK(other->warnings.size() == 1);  // the owner of the main file may own what it includes
}

}  // namespace
}  // namespace rest_fcgi::config

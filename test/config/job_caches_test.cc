// SPDX-License-Identifier: MIT
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using Texts = std::vector<std::string>;
using returner::EtcdOptions;

returner::Options options_of(const std::string& master) {
  return settings_of(master).returner;
}

TEST_CASE("by default jobs are in cachedir for a day, and keep_jobs_seconds changes their age") {
  const returner::Options options = options_of("");
  CHECK(options.master_job_cache == "sqlite3");
  CHECK(options.ext_job_cache.empty());
  CHECK(settings_of("").store.path == "/var/cache/salt/master/rest_fcgi/state.db");
  CHECK(settings_of("").store.may_be_in_memory);
  CHECK(options.keep_jobs_seconds == hours(24));
  CHECK(settings_of("root_dir: /srv\ncachedir: /c\n").store.path == "/srv/c/rest_fcgi/state.db");
  CHECK(options_of("keep_jobs_seconds: 60\n").keep_jobs_seconds == seconds(60));
  CHECK(options_of("keep_jobs_seconds: 0\n").keep_jobs_seconds == seconds(0));
  CHECK(options_of("keep_jobs: 720\n").keep_jobs_seconds == hours(720));
  CHECK(options_of("keep_jobs: 0\n").keep_jobs_seconds == seconds(0));
  CHECK(options_of("keep_jobs: 720\nkeep_jobs_seconds: 86400\n").keep_jobs_seconds == hours(720));
  CHECK(options_of("keep_jobs: 720\nkeep_jobs_seconds: 60\n").keep_jobs_seconds == seconds(60));
  CHECK(settings_of("keep_jobs: 720\nkeep_jobs_seconds: 60\n").warnings.size() == 1);
  CHECK(settings_of("keep_jobs: 24\n").warnings.empty());
  CHECK(settings_of("keep_jobs: 720\n").warnings.empty());
  check_message(error_of("keep_jobs_seconds: soon\n"), "master:1: keep_jobs_seconds: found \"soon\"");
}

TEST_CASE("job caches have Salt's names") {
  CHECK(options_of("master_job_cache: memory\n").master_job_cache == "memory");
  for (const char* name : {"local_cache", "sqlite3", "sqlite"}) {
    CHECK(options_of(std::string("master_job_cache: ") + name).master_job_cache == "sqlite3");
  }
  check_message(error_of("master_job_cache: redis\n"), "master:1: master_job_cache: found \"redis\"",
                {"sqlite3"});
}

TEST_CASE("ext_job_cache names job caches, separated by commas") {
  using Names = std::vector<std::string>;
  CHECK(options_of("ext_job_cache: ''\n").ext_job_cache.empty());
  CHECK(options_of("ext_job_cache: memory\n").ext_job_cache == Names{"memory"});
  CHECK(options_of("master_job_cache: memory\next_job_cache: sqlite\n").ext_job_cache == Names{"sqlite3"});
  CHECK(options_of("ext_job_cache: 'sqlite3, memory'\n").ext_job_cache == Names{"memory"});
  check_message(error_of("ext_job_cache: memory,,redis\n"),
                "master:1: ext_job_cache: found \"memory,,redis\"");
}

TEST_CASE("jobs may be in memory unless the file names sqlite3") {
  for (const char* master : {"", "master_job_cache: memory\n", "master_job_cache: local_cache\n"}) {
    CHECK(settings_of(master).store.may_be_in_memory);
  }
  for (const char* master :
       {"master_job_cache: sqlite3\n", "master_job_cache: memory\next_job_cache: sqlite3\n"}) {
    CHECK_FALSE(settings_of(master).store.may_be_in_memory);
  }
}

TEST_CASE("a key of etcd that should turn TLS on, but has no effect, is a warning") {
  const auto warned = [](const std::string& keys) {
    const auto warnings = settings_of("master_job_cache: etcd\netcd.host: h\n" + keys).warnings;
    return warnings.size() == 1 && warnings[0].find("this key has no effect") != std::string::npos;
  };
  for (const char* keys : {"etcd.protocol: https\n", "etcd.ca_cert: /c\n", "etcd.cert: /c\n",
                           "etcd.protocol: http\netcd.ca: /c\n",
                           "etcd.returner: p\np: {etcd.host: h, etcd.protocol: https}\n"}) {
    CAPTURE(keys);
    CHECK(warned(keys));
  }
  CHECK_FALSE(warned("etcd.protocol: http\n"));
  CHECK_FALSE(warned("etcd.protocol: https\netcd.ca: /c\n"));
}

EtcdOptions etcd_of(const std::string& master) {
  return settings_of("master_job_cache: etcd\n" + master).returner.etcd;
}

/// Returns the error message for a master file with etcd as the job cache. The lines `master` begin on line
/// 2.
std::string mistake_in(const std::string& master) {
  return error_of("master_job_cache: etcd\n" + master);
}

const std::string kProfile = "etcd.returner: my_etcd_config\nmy_etcd_config:\n";

TEST_CASE("without a profile, etcd's keys are at the top level and have Salt's defaults") {
  const EtcdOptions options = etcd_of("");
  CHECK(options.is_chosen);
  CHECK(options.require_v2);
  CHECK(options.root == "/salt/return");
  CHECK(options.writing.endpoints == Texts{"http://127.0.0.1:2379"});
  CHECK(options.reading.endpoints == Texts{"http://127.0.0.1:2379"});
  CHECK(options.ttl == std::chrono::seconds(0));
  CHECK(options.encode_values);
  CHECK(etcd_of("etcd.host: e1\netcd.port: 4001\n").writing.endpoints == Texts{"http://e1:4001"});
}

TEST_CASE("etcd is used if a job cache names it, or a key of its returner is set") {
  for (const char* master : {"master_job_cache: etcd\n", "ext_job_cache: etcd\n", "etcd.returner_root: /r\n",
                             "etcd.returner: p\np: {}\n"}) {
    CHECK(settings_of(master).returner.etcd.is_chosen);
  }
  CHECK_FALSE(settings_of("etcd.host: [1]\netcd.encode_keys: true\n").returner.etcd.is_chosen);
  CHECK(settings_of("ext_job_cache: etcd\n").returner.ext_job_cache == Texts{"etcd"});
  CHECK(settings_of("master_job_cache: etcd\n").returner.master_job_cache == "etcd");
}

TEST_CASE("a profile replaces the keys of the top level, and has to exist") {
  const EtcdOptions options = etcd_of(kProfile +
                                      "  etcd.host: e1\n  etcd.port: 4001\n  etcd.require_v2: false\n"
                                      "  etcd.encode_values: false\n  etcd.unicode_errors: strict\n"
                                      "etcd.username: nobody\netcd.password: secret\n"
                                      "etcd.returner_root: /jobs\n");
  CHECK(options.writing.endpoints == Texts{"http://e1:4001"});
  CHECK(options.writing.username.empty());
  CHECK_FALSE(options.require_v2);
  CHECK_FALSE(options.encode_values);
  CHECK(options.root == "/jobs");
  check_message(mistake_in("etcd.returner: my_etcd\n"), "master:2: etcd.returner: found \"my_etcd\"");
  check_message(mistake_in("etcd.returner_read_profile: r\nr: text\n"),
                "master:2: etcd.returner_read_profile: found \"r\"");
}

TEST_CASE("reading and writing can have profiles of their own") {
  const EtcdOptions options =
      etcd_of(kProfile +
              "  etcd.host: both\netcd.returner_read_profile: r\nr: {etcd.host: reads}\n"
              "etcd.returner_write_profile: w\nw: {etcd.host: writes, etcd.ttl: 60}\n");
  CHECK(options.reading.endpoints == Texts{"http://reads:2379"});
  CHECK(options.writing.endpoints == Texts{"http://writes:2379"});
  CHECK(options.ttl == std::chrono::seconds(60));
  check_message(mistake_in("etcd.returner_write_profile: w\nw: {etcd.require_v2: false}\n"),
                "master:2: etcd.returner_write_profile: ", {"etcd.require_v2"});
}

TEST_CASE("etcd.ttl is read from the write profile, else from the top level") {
  CHECK(etcd_of("etcd.ttl: 5\n").ttl == std::chrono::seconds(5));
  CHECK(etcd_of("etcd.ttl: 5\netcd.returner_write_profile: w\nw: {}\n").ttl == std::chrono::seconds(0));
  const std::string master = "ext_job_cache: etcd\n" + kProfile + "  etcd.ttl: 7\n";
  CHECK(settings_of(master).returner.etcd.ttl == std::chrono::seconds(0));
  check_message(warning_of(master), "master:4: etcd.ttl: ", {"etcd.returner_write_profile"});
  check_message(mistake_in("etcd.ttl: soon\n"), "master:2: etcd.ttl: found \"soon\"");
}

TEST_CASE("etcd.host is a list of hosts with their own or the common port") {
  CHECK(
      etcd_of("etcd.host: [e1, 'e2:2380', '10.0.0.1', '::1', '[::1]:99', '[fe80::1]']\n").writing.endpoints ==
      Texts{"http://e1:2379", "http://e2:2380", "http://10.0.0.1:2379", "http://[::1]:2379",
            "http://[::1]:99", "http://[fe80::1]:2379"});
  for (const char* host : {"'http://e1'", "[5]", "'e1:0'", "'e1:99999'", "'a b'", "'u@h'", "'[::1'"}) {
    CAPTURE(host);
    CHECK(mistake_in(std::string("etcd.host: ") + host + "\n").starts_with("master:2: etcd.host: found "));
  }
  CHECK(mistake_in("etcd.port: 0\n").starts_with("master:2: etcd.port: found 0, expected "));
}

TEST_CASE("etcd.username needs etcd.password, and no message shows the password") {
  const EtcdOptions options = etcd_of("etcd.username: larry\netcd.password: 123pass\n");
  CHECK(options.writing.username == "larry");
  REQUIRE(options.writing.password != nullptr);
  CHECK(options.writing.password->reveal().text == "123pass");
  check_message(mistake_in("etcd.username: larry\n"),
                "master:2: etcd.username: ", {"found no etcd.password"});
  check_message(mistake_in("etcd.password: 123pass\n"),
                "master:2: etcd.password: ", {"found no etcd.username"});
  CHECK(mistake_in("etcd.username: larry\netcd.password: 123\n").find("123") == std::string::npos);
}

TEST_CASE("etcd.ca turns TLS on, and a client certificate needs its key and etcd.ca") {
  const EtcdOptions options =
      etcd_of("etcd.ca: /ca.pem\netcd.client_cert: /c.pem\netcd.client_key: /k.pem\n");
  CHECK(options.writing.endpoints == Texts{"https://127.0.0.1:2379"});
  CHECK(options.writing.ca == "/ca.pem");
  CHECK(options.writing.client_cert == "/c.pem");
  CHECK(options.writing.client_key == "/k.pem");
  check_message(mistake_in("etcd.client_cert: /c.pem\netcd.client_key: /k.pem\n"),
                "master:2: etcd.client_cert: ", {"found no etcd.ca"});
  check_message(mistake_in("etcd.ca: /ca.pem\netcd.client_key: /k.pem\n"),
                "master:3: etcd.client_key: ", {"found no etcd.client_cert"});
  CHECK(etcd_of("etcd.encode_keys: false\n").is_chosen);
  check_message(mistake_in("etcd.encode_keys: true\n"), "master:2: etcd.encode_keys: found true");
}

TEST_CASE("hosts that share an etcd make different job ids") {
  const auto share = [](const std::string& keys) { return settings_of(keys).embedded.jid_share; };
  CHECK(share("").count == 1);
  CHECK(share("rest_fcgi: {host_number: 7}\n").count == 1);
  CHECK(share("master_job_cache: etcd\n").count == 64);
  CHECK(share("master_job_cache: etcd\n").mine == share("ext_job_cache: etcd\n").mine);
  CHECK(share("master_job_cache: etcd\nrest_fcgi: {host_number: 63}\n").mine == 63);
  CHECK(share("etcd.returner_root: /r\nrest_fcgi: {host_number: 0}\n").mine == 0);
  CHECK(error_of("rest_fcgi: {host_number: 64}\n").starts_with("master:1: rest_fcgi: host_number: found 64"));
}

TEST_CASE("eauth_tokens: etcd keeps tokens in the cluster of etcd.returner, or of the top level") {
  CHECK_FALSE(settings_of("").auth.tokens_in_etcd);
  CHECK_FALSE(settings_of("eauth_tokens: localfs\n").auth.tokens_in_etcd);
  const Settings plain = settings_of("eauth_tokens: etcd\netcd.host: e1\n");
  REQUIRE(plain.auth.tokens_in_etcd);
  CHECK(plain.auth.tokens_in_etcd->cluster.endpoints == Texts{"http://e1:2379"});
  CHECK_FALSE(plain.returner.etcd.is_chosen);
  const auto shared = settings_of("eauth_tokens: etcd\n" + kProfile + "  etcd.host: r\n").auth.tokens_in_etcd;
  REQUIRE(shared);
  CHECK(shared->cluster.endpoints == Texts{"http://r:2379"});
  check_message(error_of("eauth_tokens: rediscluster\n"), "master:1: eauth_tokens: found \"rediscluster\"");
}

TEST_CASE("another cluster, login, root or ttl of etcd takes effect after a restart") {
  const std::string etcd = "master_job_cache: etcd\netcd.username: a\n";
  const Settings now = settings_of(etcd + "etcd.password: b\n");
  const auto changed = [&](const std::string& keys) { return restart_keys(now, settings_of(etcd + keys)); };
  CHECK(changed("etcd.password: b\n").empty());
  CHECK(changed("etcd.password: c\n") == Texts{"etcd.returner"});
  CHECK(changed("etcd.password: b\netcd.host: e1\n") == Texts{"etcd.returner"});
  CHECK(changed("etcd.password: b\netcd.ttl: 5\netcd.returner_root: /r\n") ==
        Texts{"etcd.returner_root", "etcd.ttl"});
}

}  // namespace
}  // namespace rest_fcgi::config

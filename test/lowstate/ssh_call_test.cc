// SPDX-License-Identifier: MIT
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "read.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;
using test::Read;

namespace {

std::string ssh_with(std::string_view keys) {
  return format(R"({{"client": "ssh", "tgt": "web*", "fun": "test.ping"{}{}}})", keys.empty() ? "" : ", ",
                keys);
}

/// Checks that the message of a refusal contains the key and all accepted keys.
bool is_refused(std::string_view key, std::string_view value) {
  const std::string said = test::refusal(ssh_with(format(R"("{}": {})", key, value)));
  return said == format(
                     "Lowstate chunk 0: the key '{}' is not accepted for the client ssh; accepted are tgt, "
                     "tgt_type, fun, arg, kwarg, timeout, roster and roster_file.",
                     key);
}

}  // namespace

TEST_CASE("a chunk for the client ssh is a target, one function and a timeout") {
  const Read read(ssh_with(R"("arg": ["-x", 1], "kwarg": {"a": "b"}, "timeout": "2.5", "tgt_type": "pcre",
                              "roster": "flat", "roster_file": "dmz.yml")"));
  REQUIRE(read.chunks().size() == 1);
  const lowstate::LocalCall& call = read.local();
  CHECK(read.chunk().client == lowstate::Client::ssh);
  CHECK(call.target.type == lowstate::TargetType::pcre);
  CHECK(call.target.expression == "web*");
  REQUIRE(call.functions.size() == 1);
  CHECK(call.functions[0].name == "test.ping");
  CHECK(test::as_json(call.functions[0].args) == R"(["-x", 1])");
  CHECK(call.timeout == std::chrono::milliseconds(2500));
  CHECK(call.roster == "flat");
  CHECK(call.roster_file == "dmz.yml");
  CHECK(Read(ssh_with(R"("batch": null, "roster": null, "roster_file": null, "timeout": null)"))
            .chunks()
            .size() == 1);
}

TEST_CASE("CVE-2020-16846: keys for ssh(1) are refused") {
  for (const char* key : {"ssh_priv", "ssh_priv_passwd", "ssh_port", "ssh_user", "ssh_passwd", "ssh_options",
                          "ssh_remote_port_forwards", "ssh_sudo", "ssh_sudo_user", "ssh_identities_only"}) {
    CAPTURE(key);
    CHECK(is_refused(key, R"("x; touch /tmp/pwned")"));
  }
}

TEST_CASE("CVE-2021-3197: keys that can carry ProxyCommand are refused") {
  CHECK(is_refused("ssh_options", R"(["ProxyCommand=touch /tmp/pwned"])"));
  CHECK(is_refused("ssh_port", R"("22 -o ProxyCommand=touch")"));
  CHECK(is_refused("ssh_keepalive_interval", R"("1 -o ProxyCommand=touch")"));
  CHECK(is_refused("ignore_host_keys", "true"));
  CHECK(is_refused("no_host_keys", "true"));
}

TEST_CASE("CVE-2021-3148: keys for the archive of modules are refused") {
  for (const char* key :
       {"extra_filerefs", "min_extra_mods", "thin_extra_mods", "regen_thin", "rand_thin_dir"}) {
    CAPTURE(key);
    CHECK(is_refused(key, R"("';touch /tmp/pwned;'")"));
  }
}

TEST_CASE("CVE-2017-5200 and CVE-2019-17361: raw_shell is refused") {
  CHECK(is_refused("raw_shell", "true"));
  CHECK(is_refused("ssh_pre_flight", R"("/tmp/x")"));
  CHECK(is_refused("ssh_pre_hook", R"("touch /tmp/pwned")"));
  CHECK(is_refused("ssh_run_pre_flight", "true"));
  for (const char* fun :
       {"id; touch /tmp/pwned", "-x", "--raw-shell", "$(id).x", "test.ping\\n", "test", ".x", "x."}) {
    CAPTURE(fun);
    const std::string said = test::refusal(format(R"({{"client": "ssh", "tgt": "*", "fun": "{}"}})", fun));
    CHECK(said.starts_with("Lowstate chunk 0: 'fun' must be a function's name such as test.ping; found '"));
  }
}

TEST_CASE("CVE-2025-22237: unknown keys of an ssh chunk are refused") {
  for (const char* key : {"saltfile", "config_dir", "ssh_log_file", "ssh_max_procs", "verbose", "jid", "ret",
                          "full_return", "delimiter", "user", "no_parse", "expr_form"}) {
    CAPTURE(key);
    CHECK(is_refused(key, R"("x")"));
  }
}

TEST_CASE("roster_file must not be a path") {
  for (const char* name :
       {"/etc/passwd", "../roster", "a/b", "..", ".hidden", "-x", "a b", "a\\u0000b", "é"}) {
    CAPTURE(name);
    CHECK(test::refusal(ssh_with(format(R"("roster_file": "{}")", name)))
              .starts_with("Lowstate chunk 0: 'roster_file' must be the name of a file"));
  }
  CHECK(test::refusal(ssh_with(R"("roster_file": ["a"])")) ==
        "Lowstate chunk 0: 'roster_file' must be a string; found list.");
  for (const char* name : {"scan", "flat,scan", "sshconfig", "/etc/passwd"}) {
    CAPTURE(name);
    CHECK(test::refusal(ssh_with(format(R"("roster": "{}")", name)))
              .starts_with("Lowstate chunk 0: 'roster' must be flat; found '"));
  }
  CHECK(is_refused("rosters", R"(["/tmp"])"));
}

TEST_CASE("an ssh chunk has a roster target and one function") {
  CHECK(test::refusal(R"({"client": "ssh", "fun": "test.ping"})").find("'tgt' is missing") !=
        std::string::npos);
  CHECK(test::refusal(R"({"client": "ssh", "tgt": "*"})").find("'fun' is missing") != std::string::npos);
  test::check_refused({{ssh_with(R"("tgt_type": "grain")"),
                        "'tgt_type' is 'grain'; the client ssh accepts glob, pcre, list and nodegroup."},
                       {R"({"client": "ssh", "tgt": "*", "fun": ["test.ping"], "arg": [[]]})",
                        "'fun' is a list; the client ssh runs one function."}});
}

// SPDX-License-Identifier: MIT
#include "master/salt/ssh_client.h"

#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../../support/captured_log.h"
#include "../../support/environment.h"
#include "../../support/holds.h"
#include "../../support/temp_dir.h"
#include "calls/fixtures.h"
#include "rest_fcgi/core/format.h"
#include "salt_world.h"

using namespace rest_fcgi;
using test::holds;
using test::SaltWorld;

namespace {

using std::chrono::milliseconds;

constexpr const char* kCall = R"("client": "ssh", "tgt": "web*", "fun": "test.echo", "arg": ["s3cret"])";

/// A salt-ssh whose Python is a shell script. The script gets the path of the master file as `$3`, and the
/// call on standard input.
class StandIn {
 public:
  explicit StandIn(const std::string& does, std::size_t max_running = 4) {
    ::signal(SIGPIPE, SIG_IGN);
    program("python3", "#!/bin/sh\n" + does + "\n");
    options_.program = program("salt-ssh", "#!" + dir_ / "python3" + "\n");
    options_.max_running = max_running;
  }

  std::string program(std::string_view name, const std::string& text) const {
    const std::string path = dir_.write(name, text);
    ::chmod(path.c_str(), 0755);
    return path;
  }

  [[nodiscard]] Result<Json> run(milliseconds time = milliseconds(20000),
                                 std::size_t max_bytes = 1 << 20) const {
    const test::ReadChunk chunk(format(R"({{"token": "x", {}}})", kCall));
    const salt::SshClient client(options_, "/etc/salt/master");
    return client.run(chunk->local(), "20261122000000000001", system_clock().steady() + time, max_bytes);
  }

  [[nodiscard]] std::string failure(milliseconds time = milliseconds(20000)) const {
    const auto ran = run(time);
    return ran ? "none" : ran.error().message;
  }

  [[nodiscard]] const salt::SshOptions& options() const { return options_; }
  [[nodiscard]] const test::TempDir& dir() const { return dir_; }

 private:
  test::TempDir dir_;
  salt::SshOptions options_;
};

std::vector<auth::EauthOptions> rules() {
  return {{"pam", {}, {{"fred", {{"", {{"test.*", {}}}}}}}}};
}

}  // namespace

TEST_CASE("an ssh call is passed on standard input only") {
  const StandIn salt(
      R"sh(printf '%s\n' "$@" > "$(dirname "$0")/argv"; printf '{"return": '; cat; printf '}')sh");
  const auto ran = salt.run();
  if (!ran) FAIL(ran.error().message);
  CHECK(ran->text() ==
        R"({"tgt": "web*", "tgt_type": "glob", "fun": "test.echo", "arg": ["s3cret"], "kwarg": {}, )"
        R"("jid": "20261122000000000001"})");
  const std::string argv = salt.dir().read("argv");
  CHECK(argv.starts_with("-I\n"));
  CHECK(argv.ends_with("salt_ssh_client.py\n/etc/salt/master\n"));
  CHECK(argv.find("s3cret") == std::string::npos);
}

TEST_CASE("optional fields are in the request only if set") {
  const test::ReadChunk chunk(
      R"({"token": "x", "client": "ssh", "tgt": ["a", "b"], "tgt_type": "list", "fun": "a.b", "kwarg": {"k": [1]},
          "timeout": 1.5, "roster": "flat", "roster_file": "dmz"})");
  CHECK(
      salt::ssh_request(chunk->local(), "1").text() ==
      R"({"tgt": ["a", "b"], "tgt_type": "list", "fun": "a.b", "arg": [], "kwarg": {"k": [1]}, "jid": "1", )"
      R"("timeout": 2, "roster": "flat", "roster_file": "dmz"})");
}

TEST_CASE("CVE-2020-17490: files of a call are not readable by others") {
  const StandIn salt(R"sh(printf '{"return": "%s"}' "$(umask)")sh");
  CHECK(salt.run()->text() == R"("0077")");
}

TEST_CASE("an error of the program has its kind, and malformed output is not shown") {
  const StandIn roster(R"(echo '{"error": "no such roster", "kind": "invocation"}')");
  CHECK(roster.run().error().kind == ErrorKind::invocation);
  CHECK(roster.failure() == "no such roster");
  CHECK(StandIn(R"(echo '{"error": "x", "kind": "unavailable"}')").run().error().kind ==
        ErrorKind::unavailable);
  CHECK(StandIn(R"(echo '{"error": "x"}')").run().error().kind == ErrorKind::internal);
  for (const char* garbage :
       {"echo s3cret garbage", "echo '[]'", "echo '{}'", "echo '{\"return\": tru'", "true"}) {
    CAPTURE(garbage);
    const auto ran = StandIn(garbage).run();
    REQUIRE_FALSE(ran);
    CHECK(ran.error().kind == ErrorKind::internal);
    CHECK(ran.error().message.find("bytes, expected a JSON reply") != std::string::npos);
    CHECK(ran.error().message.find("s3cret") == std::string::npos);
  }
  CHECK(StandIn("echo '{\"return\": 1}'; exit 3").failure() == "the client ssh ended with the status 3");
  CHECK(StandIn("kill -9 $$").failure() == "the client ssh was ended by signal 9");
}

TEST_CASE("the output is limited") {
  const StandIn salt(R"(printf '{"return": "'; head -c 5000 /dev/zero | tr '\0' x; printf '"}')");
  CHECK(salt.run(milliseconds(20000), 1000).error().kind == ErrorKind::reply_too_large);
  CHECK(salt.run(milliseconds(20000), 6000).ok());
}

TEST_CASE("the number of concurrent calls is limited") {
  const StandIn salt(R"sh(cd "$(dirname "$0")"; touch began
until test -e go; do sleep 0.02; done; echo '{"return": 1}')sh",
                     1);
  const salt::SshClient client(salt.options(), "/etc/salt/master");
  const test::ReadChunk chunk(format(R"({{"token": "x", {}}})", kCall));
  const auto run = [&](milliseconds time) {
    return client.run(chunk->local(), "1", system_clock().steady() + time, 100);
  };
  std::thread first([&] { CHECK(run(milliseconds(20000)).ok()); });
  while (!std::filesystem::exists(salt.dir() / "began")) std::this_thread::sleep_for(milliseconds(5));
  const auto late = run(milliseconds(100));
  REQUIRE_FALSE(late);
  CHECK(late.error().kind == ErrorKind::timeout);
  CHECK(late.error().message.ends_with("(salt_ssh: max_running: 1)."));
  salt.dir().write("go", "");
  CHECK(run(milliseconds(20000)).ok());
  first.join();
}

TEST_CASE("salt-ssh is found in PATH or at its path, and its Python in its first line or beside it") {
  const StandIn salt("true");
  salt::SshOptions in_path;
  {
    const test::ScopedVariable path("PATH", "relative:/nosuch:" + salt.dir().path().string());
    CHECK(*salt::SshClient(in_path, "m").python() == salt.dir() / "python3");
  }
  {
    const test::ScopedVariable path("PATH", "/nosuch");
    const auto none = salt::SshClient(in_path, "m").python();
    CHECK(none.error().kind == ErrorKind::unavailable);
    CHECK(none.error().message == "salt-ssh is not installed on this host.");
  }
  salt::SshOptions elsewhere;
  elsewhere.program = "/nosuch/salt-ssh";
  const Error missing = salt::SshClient(elsewhere, "m").python().error();
  CHECK(holds(missing.message, "salt_ssh: program"));
  CHECK(holds(missing.message, "No such file"));
  CHECK_FALSE(holds(missing.message, "/nosuch"));
  const test::TempDir& dir = salt.dir();
  CHECK(*salt::python_of(salt.program("named", "#!" + dir / "python3" + " -E\nx")) == dir / "python3");
  CHECK(*salt::python_of(salt.program("shell", "#!/bin/sh\n'''exec' python3\n")) == dir / "python3");
  {
    const test::ScopedVariable path("PATH", dir.path().string());
    CHECK(*salt::python_of(salt.program("env", "#!/usr/bin/env -S python3 -E\n")) == dir / "python3");
  }
  std::filesystem::rename(dir / "python3", dir / "elsewhere");
  const auto none = salt::python_of(dir / "shell");
  CHECK(none.error().kind == ErrorKind::unavailable);
  CHECK_FALSE(holds(none.error().message, dir.path().string()));
}

TEST_CASE("a Python that this process may not run is a missing permission, and only the log has its path") {
  const StandIn salt("true");
  const test::TempDir& dir = salt.dir();
  dir.write("secret", "#!/bin/sh\n");  // A new file has no permission for execution.
  const test::CapturedLog log;
  const auto refused = salt::python_of(salt.program("named", "#!" + dir / "python9" + "\nx"));
  REQUIRE(refused);  // The Python beside the script is used in place of a missing one.
  std::filesystem::remove(dir / "python3");
  std::filesystem::rename(dir / "secret", dir / "python9");
  const Error denied = salt::python_of(dir / "named").error();
  CHECK(denied.kind == ErrorKind::unavailable);
  CHECK(holds(denied.message, "Permission denied"));
  CHECK_FALSE(holds(denied.message, dir.path().string()));
  CHECK(holds(log.text(), dir / "python9"));
}

TEST_CASE("CVE-2020-25592: credentials and permissions are checked before the program") {
  salt::Options options;
  options.ssh.program = "/nosuch/salt-ssh";
  SaltWorld world(options, rules());
  CHECK(world.refusal(kCall, "wrong").kind == ErrorKind::authentication);
  const Error denied = world.refusal(R"("client": "ssh", "tgt": "*", "fun": "cmd.run")");
  CHECK(denied.kind == ErrorKind::authorization);
  CHECK(denied.user == "fred");
  CHECK(world.refusal(kCall).kind == ErrorKind::unavailable);
  CHECK(world.master().admit(world.chunk_with_token(kCall), SaltWorld::soon()).error().kind ==
        ErrorKind::authentication);
}

TEST_CASE("an ssh call checks its token with the master") {
  const StandIn salt("echo '{\"return\": {\"web1\": 1}}'");
  salt::Options options;
  options.ssh = salt.options();
  SaltWorld world(options, rules());
  world.always("get_token", SaltWorld::grant(SaltWorld::kToken));
  const lowstate::Chunk& mine = world.chunk_with_token(kCall);
  const auto permit = world.master().admit(mine, SaltWorld::soon());
  REQUIRE(permit);
  const auto ran = world.master().ssh(*permit, 1000);
  if (!ran) FAIL(ran.error().message);
  CHECK(ran->reply.text() == R"({"web1": 1})");
  CHECK(ran->jid.size() == 20);
  CHECK(world.loads("publish").empty());
  world.always("get_token", "{}");
  CHECK(world.master().admit(mine, SaltWorld::soon()).error().kind == ErrorKind::authentication);
}

TEST_CASE("with inline_login an ssh call checks the password with the master") {
  const StandIn salt("echo '{\"return\": {}}'");
  salt::Options options;
  options.ssh = salt.options();
  options.inline_login = true;
  SaltWorld world(options, rules());
  static_cast<void>(world.permit(kCall));
  static_cast<void>(world.permit(kCall));
  CHECK(world.loads("mk_token").empty());
  // The master checks the password when it gets the command `publish`. Each command names the function
  // `saltutil.find_job` and no minion, so nothing runs.
  CHECK(world.loads("publish").size() == 2);
}

TEST_CASE("a failed ssh call has its jid") {
  const StandIn salt("exit 3");
  salt::Options options;
  options.ssh = salt.options();
  SaltWorld world(options, rules());
  const auto ran = world.master().ssh(world.permit(kCall), 1000);
  REQUIRE_FALSE(ran);
  CHECK(ran.error().jid.size() == 20);
}

// SPDX-License-Identifier: MIT
#include <signal.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "../../../support/execution.h"
#include "../../../support/temp_dir.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

namespace fs = std::filesystem;

/// Stands for systemctl: notes its arguments, and answers from files beside it, where there are any: of the
/// verb `start`, the output `start.out`, the errors `start.err`, the exit status `start.code`.
constexpr std::string_view kSystemctl = R"-(#!/bin/sh
cd "${0%/*}"
echo "$*" >> calls
[ "$1" = --no-pager ] && shift
verb=$1
cat "$verb.out" 2>/dev/null
cat "$verb.err" >&2 2>/dev/null
exit "$(cat "$verb.code" 2>/dev/null || echo 0)"
)-";

/// A host of its own, with a systemd that answers what the test says.
class Host {
 public:
  Host() {
    ::signal(SIGPIPE, SIG_IGN);
    for (const char* folder : {"run/systemd/system", "usr/bin", "lib/systemd/system",
                               "usr/lib/systemd/system", "etc/systemd/system", "etc/init.d", "etc/rc3.d"}) {
      fs::create_directories(dir_.path() / folder);
    }
    fs::permissions(dir_.write("usr/bin/systemctl", kSystemctl), fs::perms::owner_all);
  }

  Host& says(const std::string& verb, std::string_view output, int code = 0, std::string_view errors = "") {
    dir_.write("usr/bin/" + verb + ".out", output);
    dir_.write("usr/bin/" + verb + ".err", errors);
    dir_.write("usr/bin/" + verb + ".code", std::to_string(code));
    return *this;
  }

  Outcome run(std::string_view fun, std::string_view args = "[]", std::string_view kwargs = "{}",
              const std::stop_token& stop = {}) {
    ModuleOptions options;
    options.systemd_root = dir_.path();
    fs::remove(dir_.path() / "usr/bin/calls");
    return test::Execution("{}", options).run(fun, args, kwargs, stop);
  }
  std::string ret(std::string_view fun, std::string_view args = "[]", std::string_view kwargs = "{}") {
    return run(fun, args, kwargs).ret.text();
  }

  /// What systemctl was called with last.
  [[nodiscard]] std::string calls() const { return dir_.read("usr/bin/calls"); }
  [[nodiscard]] const test::TempDir& dir() const { return dir_; }

 private:
  test::TempDir dir_;
};

constexpr std::string_view kAsk = "--no-pager show --property=NeedDaemonReload -- web.service\n";

TEST_CASE("a unit is started, restarted, reloaded and enabled") {
  Host host;
  for (const std::string verb : {"start", "restart", "reload", "force-reload", "enable"}) {
    CAPTURE(verb);
    const std::string fun = "service." + (verb == "force-reload" ? std::string("force_reload") : verb);
    const Outcome outcome = host.run(fun, R"(["web"])", R"({"no_block": false})");
    CHECK(outcome.ret.text() == "true");
    CHECK(outcome.retcode == 0);
    CHECK(host.calls() == std::string(kAsk) + "--no-pager " + verb + " -- web.service\n");
    CHECK(host.ret(fun, R"(["web"])", R"({"no_block": true})") == "true");
    CHECK(host.calls() == std::string(kAsk) + "--no-pager " + verb + " --no-block -- web.service\n");
  }
}

TEST_CASE("what systemctl says about a failure is the error") {
  Host host;
  host.says("start", "", 5, "Failed to start web.service: Unit web.service not found.\n");
  const Outcome outcome = host.run("service.start", R"(["web"])");
  CHECK(outcome.ret.text() == R"("ERROR: Failed to start web.service: Unit web.service not found.")");
  CHECK(outcome.retcode == 1);
}

TEST_CASE("stop and disable return whether they went well") {
  Host host;
  CHECK(host.ret("service.stop", R"(["web"])") == "true");
  CHECK(host.calls() == std::string(kAsk) + "--no-pager stop -- web.service\n");
  host.says("stop", "", 5).says("disable", "", 1);
  const Outcome stopped = host.run("service.stop", R"(["web"])");
  CHECK(stopped.ret.text() == "false");
  CHECK(stopped.retcode == 5);
  const Outcome disabled = host.run("service.disable", R"(["web"])");
  CHECK(disabled.ret.text() == "false");
  CHECK(disabled.retcode == 0);
}

TEST_CASE("systemd reads unit files again that have changed before it acts") {
  Host host;
  host.says("show", "NeedDaemonReload=yes\n");
  CHECK(host.ret("service.start", R"(["web"])") == "true");
  CHECK(host.calls() == std::string(kAsk) + "--no-pager daemon-reload\n--no-pager start -- web.service\n");
  CHECK(host.ret("service.systemctl_reload") == "true");
  CHECK(host.calls() == "--no-pager daemon-reload\n");
  host.says("daemon-reload", "", 1, "no\n");
  CHECK(host.ret("service.systemctl_reload") == R"("ERROR: Problem performing systemctl daemon-reload: no")");
}

TEST_CASE("masks are seen, made and undone") {
  Host host;
  CHECK(host.ret("service.masked", R"(["web"])") == "false");
  fs::create_symlink("/dev/null", host.dir().path() / "etc/systemd/system/web.service");
  CHECK(host.ret("service.masked", R"(["web"])") == "true");
  CHECK(host.ret("service.masked", R"(["web", true])") == "false");
  CHECK(host.ret("service.unmask", R"(["web"])") == "true");
  CHECK(host.calls() == std::string(kAsk) + "--no-pager unmask -- web.service\n");
  CHECK(host.ret("service.unmask", R"(["web"])", R"({"runtime": true})") == "true");
  CHECK(host.calls() == kAsk);
  CHECK(host.ret("service.start", R"(["web"])", R"({"unmask": true, "unmask_runtime": true})") == "true");
  CHECK(host.calls() ==
        std::string(kAsk) + "--no-pager unmask -- web.service\n--no-pager start -- web.service\n");
  CHECK(host.ret("service.mask", R"(["web"])", R"({"runtime": true})") == "true");
  CHECK(host.calls() == std::string(kAsk) + "--no-pager mask --runtime -- web.service\n");
  host.says("mask", "", 1).says("unmask", "", 1);
  CHECK(host.ret("service.mask", R"(["web"])") == R"("ERROR: Failed to mask service 'web'")");
  CHECK(host.ret("service.start", R"(["web"])", R"({"unmask": true})") ==
        R"("ERROR: Failed to unmask service 'web'")");
}

TEST_CASE("whether a unit is active, enabled or there comes from systemctl's exit status") {
  Host host;
  CHECK(host.ret("service.status", R"(["web"])") == "true");
  CHECK(host.calls() == "--no-pager is-active -- web.service\n");
  CHECK(host.ret("service.enabled", R"(["web.timer"])") == "true");
  CHECK(host.calls() == "--no-pager is-enabled -- web.timer\n");
  CHECK(host.ret("service.disabled", R"(["web"])") == "false");
  CHECK(host.ret("service.available", R"(["web@1"])") == "true");
  CHECK(host.calls() == "--no-pager status --lines=0 -- web@1.service\n");
  CHECK(host.ret("service.missing", R"(["web"])") == "false");
  host.says("is-active", "inactive\n", 3).says("is-enabled", "disabled\n", 1).says("status", "", 3);
  const Outcome inactive = host.run("service.status", R"(["web"])");
  CHECK(inactive.ret.text() == "false");
  CHECK(inactive.retcode == 0);
  CHECK(host.ret("service.enabled", R"(["web"])") == "false");
  CHECK(host.ret("service.disabled", R"(["web"])") == "true");
  CHECK(host.ret("service.available", R"(["web"])") == "true");
  host.says("status", "", 4);
  CHECK(host.ret("service.available", R"(["web"])") == "false");
  CHECK(host.ret("service.missing", R"(["web"])") == "true");
}

TEST_CASE("all units with a file are listed, and init scripts that have none") {
  Host host;
  const test::TempDir& dir = host.dir();
  dir.write("lib/systemd/system/web.service", "");
  dir.write("usr/lib/systemd/system/web@.service", "");
  dir.write("etc/systemd/system/backup.timer", "");
  dir.write("etc/systemd/system/notes.txt", "");
  dir.write("etc/systemd/system/odd name!.service", "");
  for (const char* script : {"etc/init.d/web", "etc/init.d/old", "etc/init.d/older"}) {
    fs::permissions(dir.write(script, "#!/bin/sh\n"), fs::perms::owner_all);
  }
  dir.write("etc/init.d/README", "");
  fs::create_symlink("../init.d/old", dir.path() / "etc/rc3.d/S01old");
  CHECK(host.ret("service.get_all") == R"(["backup.timer", "odd name!", "old", "older", "web", "web@"])");
  host.says(
      "list-unit-files",
      "web.service enabled enabled\nssh.socket enabled enabled\n-.mount generated -\nx.scope enabled -\n"
      "getty@.service disabled enabled\nmail.service static -\nodd\n");
  CHECK(host.ret("service.get_enabled") == R"(["old", "ssh.socket", "web"])");
  CHECK(host.calls() == "--no-pager list-unit-files --full --no-legend --plain\n");
  CHECK(host.ret("service.get_disabled") == R"(["getty@", "older"])");
  CHECK(host.ret("service.get_static") == R"(["mail"])");
  host.says("is-enabled", "", 1);
  CHECK(host.ret("service.enabled", R"(["old"])") == "true");
  CHECK(host.ret("service.enabled", R"(["older"])") == "false");
  host.says("list-units",
            "web.service loaded active running A web server\nmail.service loaded active exited Mail\n"
            "x.scope loaded active running X\n");
  CHECK(host.ret("service.get_running") == R"(["web"])");
  CHECK(host.ret("service.status", R"(["web*"])") == R"({"web": true, "web@": true})");
  CHECK(host.ret("service.status", R"(["[no]d*"])") == "{}");
}

TEST_CASE("the properties of a unit are an object") {
  Host host;
  host.says("show",
            "Id=web.service\nAfter=a.target b.target\nWants=\n"
            "ExecStart={ path=/usr/bin/web ; argv[]=/usr/bin/web -d ; ignore_errors=no }\n"
            "Environment=A=1 B=2\nNone\nId=other.service\n");
  CHECK(
      host.ret("service.show", R"(["web"])") ==
      R"({"Id": "other.service", "After": ["a.target", "b.target"], "Wants": [], "ExecStart": )"
      R"({"path": "/usr/bin/web", "argv[]": "/usr/bin/web -d", "ignore_errors": "no"}, "Environment": "A=1 B=2", )"
      R"("None": ""})");
}

TEST_CASE("a name that no unit can have is refused before systemctl runs") {
  Host host;
  for (const std::string_view fun : {"service.start", "service.stop", "service.enable", "service.status",
                                     "service.show", "service.mask", "service.masked", "service.available"}) {
    for (const std::string_view name : {"--force", "-", "", "a b", "a;b", "../x", "a/b", "$(id)", ".hidden",
                                        "a\\u0000b", "a\\nb", "{a,b}"}) {
      CAPTURE(fun);
      CAPTURE(name);
      CHECK(host.ret(fun, format(R"(["{}"])", name)).find("cannot be the name of a unit") !=
            std::string::npos);
      CHECK(host.calls().empty());
    }
  }
  CHECK(host.ret("service.stop", R"(["web*"])").find("cannot be the name of a unit") != std::string::npos);
  CHECK(host.ret("service.start", format(R"(["{}"])", std::string(250, 'x'))) ==
        R"("ERROR executing 'service.start': The name of a unit has at most 255 characters.")");
}

TEST_CASE("arguments that mean nothing here are refused") {
  Host host;
  for (const std::string_view fun : {"service.enable", "service.enabled", "service.show", "service.mask"}) {
    CHECK(host.ret(fun, R"(["web"])", R"({"root": "/mnt"})").find("The argument 'root' is not supported: ") !=
          std::string::npos);
    CHECK(host.calls().empty());
  }
  CHECK(host.ret("service.get_all", "[]", R"({"root": "/mnt"})").find("'root' is not supported") !=
        std::string::npos);
  CHECK(host.ret("service.enable", R"(["web"])", R"({"now": true})") ==
        R"("ERROR executing 'service.enable': The argument 'now' is not known here.")");
  CHECK(host.ret("service.enabled", R"(["web"])", R"({"root": null})") == "true");
}

TEST_CASE("without systemd or systemctl the return says so") {
  Host host;
  fs::remove(host.dir().path() / "usr/bin/systemctl");
  for (const std::string_view fun : {"service.start", "service.status", "service.show", "service.masked"}) {
    CHECK(host.ret(fun, R"(["web"])") == format(R"("Command required for '{}' not found: systemctl")", fun));
  }
  fs::remove_all(host.dir().path() / "run/systemd");
  for (const std::string_view fun :
       {"service.get_all", "service.get_enabled", "service.get_running", "service.systemctl_reload"}) {
    const Outcome outcome = host.run(fun);
    CHECK(outcome.ret.text().find("only available on Linux systems which have been booted with systemd.") !=
          std::string::npos);
    CHECK(outcome.retcode == 1);
  }
  CHECK(host.ret("service.status", R"(["web*"])").find("booted with systemd.") != std::string::npos);
}

TEST_CASE("a systemctl that cannot be run is an error, and a stop request ends it") {
  Host host;
  std::stop_source stop;
  stop.request_stop();
  CHECK(host.run("service.start", R"(["web"])", "{}", stop.get_token()).ret.text() ==
        Json::string(kTerminated).text());
  host.dir().write("usr/bin/systemctl", "#!/nosuch/shell\n");
  CHECK(
      host.ret("service.start", R"(["web"])").starts_with(R"("ERROR: [Errno 2] No such file or directory)"));
  CHECK(host.ret("service.get_enabled").starts_with(R"("ERROR: [Errno 2] No such file or directory)"));
}

TEST_CASE("the systemd of this host answers, where there is one") {
  test::Execution minion;
  const std::string all = minion.ret("service.get_all");
  if (all.find("booted with systemd") != std::string::npos) {
    MESSAGE("skipped: this host was not booted with systemd");
    return;
  }
  CHECK(all.find(R"("systemd-journald")") != std::string::npos);
  CHECK(minion.ret("service.available", R"(["systemd-journald"])") == "true");
  CHECK(minion.ret("service.available", R"(["nosuch-unit"])") == "false");
}

}  // namespace
}  // namespace rest_fcgi::embedded

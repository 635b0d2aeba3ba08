// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"
#include "config/takeover.h"
#include "config_dir.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::config {
namespace {

FirstSetup setup_in(const test::TempDir& dir) {
  FirstSetup setup;
  setup.config = dir / "master";
  setup.users = dir / "users";
  setup.user = "alice";
  setup.hash = "$y$j75$abcdefgh$vd9GBZ0X.Wgh3dsxBvCnIOYDItsueGfttJXG763.dDA";
  setup.group = ::getegid();
  return setup;
}

TEST_CASE("a first setup is a valid configuration and a file with the password, for owner and group") {
  const test::TempDir dir;
  REQUIRE(write_first_setup(setup_in(dir)));
  CommandLine command_line;
  command_line.config = dir / "master";
  const auto settings = load(command_line);
  REQUIRE_MESSAGE(settings, settings.error().message);
  CHECK(settings->warnings.empty());
  CHECK(settings->gateway.http.size() == 1);
  CHECK(dir.read("users") == "alice:" + setup_in(dir).hash + "\n");
  for (const char* name : {"master", "users"}) {
    struct stat status {};
    REQUIRE(::stat((dir / name).c_str(), &status) == 0);
    CHECK((status.st_mode & 07777U) == 0640U);
    CHECK(status.st_gid == ::getegid());
  }
}

TEST_CASE("a first setup replaces no file and writes no other one") {
  for (const auto& [present, absent] : {std::pair{"master", "users"}, {"users", "master"}}) {
    const test::TempDir dir;
    dir.write(present, "mine");
    const Error error = write_first_setup(setup_in(dir)).error();
    CHECK(error.kind == ErrorKind::configuration);
    check_message(error.message, "--init: ", {dir / present});
    CHECK(dir.read(present) == "mine");
    CHECK_FALSE(std::filesystem::exists(dir / absent));
  }
}

TEST_CASE("a user of a first setup has no character of YAML or of a password file") {
  for (const char* user : {"", "a:b", "a b", "*", "-a", "^filename", "a\nb"}) {
    const test::TempDir dir;
    FirstSetup setup = setup_in(dir);
    setup.user = user;
    CHECK_FALSE(write_first_setup(setup));
    CHECK(std::filesystem::is_empty(dir.path()));
  }
}

Error refusal(const ConfigDir& dir, Engine engine) {
  CommandLine command_line = dir.command_line();
  command_line.engine = engine;
  const auto settings = load(command_line);
  REQUIRE_FALSE(settings);
  CHECK(settings.error().kind == ErrorKind::configuration);
  return settings.error();
}

TEST_CASE("--engine refuses another engine, and with salt another user of the master") {
  const std::string own = "user: " + user_name(::geteuid()).value_or("") + "\n";
  const ConfigDir without(own);
  check_message(refusal(without, Engine::salt).message, without / "master",
                {"engine: salt", "master.d/rest_fcgi.conf"});
  const ConfigDir with(own + "rest_fcgi: {engine: salt}\n");
  check_message(refusal(with, Engine::embedded).message, with / "master", {"embedded"});
  CommandLine command_line = with.command_line();
  command_line.engine = Engine::salt;
  CHECK(load(command_line));
  const ConfigDir other("user: somebody\nrest_fcgi: {engine: salt}\n");
  CHECK(refusal(other, Engine::salt).message.ends_with("\n[Service]\nUser=somebody"));
}

TEST_CASE("a misspelt key rest_fcgi is a mistake with the right name") {
  for (const char* key : {"rest-fcgi", "Rest_fcgi", "restfcgi", "REST_FCGI", "rest_fgci", "rest_fcgi_"}) {
    const ConfigDir dir(std::string("timeout: 5\n") + key + ": {engine: salt}\n");
    const std::string text = dir.error();
    CHECK_MESSAGE(text.starts_with("master:2: "), text);
    CHECK_MESSAGE(text.find("did you mean rest_fcgi?") != std::string::npos, text);
  }
  CHECK(ConfigDir("rest_fcgi:{engine: salt}\n").error().starts_with("master:1: "));
  CHECK(ConfigDir("rest_wsgi: {port: 8001}\nrest_cherrypy: {port: 8000}\n").error().empty());
}

TEST_CASE("the file of a take-over is a valid configuration and keeps the state of salt-api") {
  for (const UnitState& before : {UnitState{true, true}, {true, false}, {false, true}, {false, false}}) {
    const std::string text = takeover_file({"rest_cherrypy", "rest_tornado"}, before);
    const auto kept = salt_api_before(text);
    REQUIRE(kept);
    CHECK(kept->is_enabled == before.is_enabled);
    CHECK(kept->is_active == before.is_active);
    const Settings settings = settings_of(text);
    CHECK(settings.engine == Engine::salt);
    CHECK(settings.front_ends.served ==
          std::vector{netapi::Module::rest_cherrypy, netapi::Module::rest_tornado});
  }
  CHECK_FALSE(salt_api_before("rest_fcgi: {engine: salt, netapi: [rest_cherrypy]}\n"));
  CHECK_FALSE(salt_api_before(""));
}

TEST_CASE("served_modules are the modules whose sections have a port") {
  const ConfigDir dir("rest_cherrypy: {port: 8000}\nrest_tornado: {address: 127.0.0.1}\n");
  CHECK(*served_modules(dir / "master") == std::vector<std::string>{"rest_cherrypy"});
  const ConfigDir none("user: salt\n");
  CHECK(served_modules(none / "master")->empty());
}

TEST_CASE("the configuration is that of the enabled service, or else the one that exists") {
  const test::TempDir dir;
  const std::string root = dir.path();
  const auto put = [&](const std::string& path) {
    std::filesystem::create_directories((dir.path() / path).parent_path());
    dir.write(path, "");
  };
  const std::string links = "etc/systemd/system/multi-user.target.wants/";
  CHECK(*installed_config(root) == "/etc/salt/master");
  put("etc/rest_fcgi/master");
  CHECK(*installed_config(root) == "/etc/rest_fcgi/master");
  put("etc/salt/master");
  const auto both = installed_config(root);
  REQUIRE_FALSE(both);
  check_message(both.error().message, "command line: ", {"-c", "/etc/rest_fcgi/master", "/etc/salt/master"});
  put(links + "rest_fcgi-salt.service");
  CHECK(*installed_config(root) == "/etc/salt/master");
  put(links + "rest_fcgi.service");
  CHECK_FALSE(installed_config(root));
  std::filesystem::remove(dir / (links + "rest_fcgi-salt.service"));
  CHECK(*installed_config(root) == "/etc/rest_fcgi/master");
}

class Redirected {
 public:
  Redirected(int stream, int fd) : stream_(stream), before_(::dup(stream)) { ::dup2(fd, stream_); }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;
  ~Redirected() {
    ::dup2(before_, stream_);
    ::close(before_);
  }

 private:
  int stream_;
  int before_;
};

Result<Secret> read_from(const std::string& content) {
  const test::TempDir dir;
  const int file = ::open(dir.write("input", content).c_str(), O_RDONLY | O_CLOEXEC);
  const Redirected input(STDIN_FILENO, file);
  ::close(file);
  return read_password();
}

TEST_CASE("read_password returns the first line of standard input, which is neither empty nor too long") {
  CHECK(read_from("hunter2\nmore\n")->reveal().text == "hunter2");
  CHECK(read_from("hunter2")->reveal().text == "hunter2");
  CHECK(read_from(" with spaces \n")->reveal().text == " with spaces ");
  for (const char* content : {"", "\n"}) {
    const Error error = read_from(content).error();
    CHECK(error.kind == ErrorKind::configuration);
    CHECK(error.message.find("found no line") != std::string::npos);
  }
  CHECK(read_from(std::string(4096, 'x') + "\n"));
  CHECK(read_from(std::string(4097, 'x') + "\n").error().message.find("too long") != std::string::npos);
}

struct Terminal {
  Terminal() : keyboard(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    REQUIRE(keyboard >= 0);
    REQUIRE(::grantpt(keyboard) == 0);
    REQUIRE(::unlockpt(keyboard) == 0);
    screen = ::open(::ptsname(keyboard), O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(screen >= 0);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    ::close(screen);
    ::close(keyboard);
  }
  [[nodiscard]] bool echoes() const {
    termios mode{};
    REQUIRE(::tcgetattr(screen, &mode) == 0);
    return (mode.c_lflag & ECHO) != 0;
  }
  void type(std::string_view text) const {
    REQUIRE(::write(keyboard, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  int keyboard;
  int screen = -1;
};

TEST_CASE("read_password turns the echo of a terminal off and on again") {
  const Terminal terminal;
  const test::TempDir dir;
  const int log = ::open((dir / "stderr").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(terminal.echoes());
  std::string password;
  {
    const Redirected input(STDIN_FILENO, terminal.screen);
    const Redirected output(STDERR_FILENO, log);
    std::thread person([&terminal] {
      while (terminal.echoes()) std::this_thread::yield();
      terminal.type("hunter2\n");
    });
    const auto read = read_password();
    person.join();
    if (read) password = read->reveal().text;
  }
  ::close(log);
  CHECK(password == "hunter2");
  CHECK(dir.read("stderr") == "Password: \n");
  CHECK(terminal.echoes());
}

}  // namespace
}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <thread>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"
#include "rest_fcgi/config/config.h"

namespace rest_fcgi::config {
namespace {

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

TEST_CASE("read_password returns the first line of standard input") {
  CHECK(read_from("hunter2\nmore\n")->reveal().text == "hunter2");
  CHECK(read_from("hunter2")->reveal().text == "hunter2");
  CHECK(read_from(" with spaces \n")->reveal().text == " with spaces ");
}

TEST_CASE("an empty line as password is a mistake") {
  for (const char* content : {"", "\n"}) {
    const auto password = read_from(content);
    REQUIRE_FALSE(password);
    CHECK(password.error().kind == ErrorKind::configuration);
    CHECK(password.error().message.find("found no line") != std::string::npos);
  }
}

TEST_CASE("a password line that is too long is a mistake") {
  CHECK(read_from(std::string(4096, 'x') + "\n"));
  const auto password = read_from(std::string(4097, 'x') + "\n");
  REQUIRE_FALSE(password);
  CHECK(password.error().message.find("too long") != std::string::npos);
}

/// A pseudo terminal. The test types at the other end, `keyboard`. Owns both ends.
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

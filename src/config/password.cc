// SPDX-License-Identifier: MIT
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>

#include "rest_fcgi/config/config.h"

namespace rest_fcgi::config {
namespace {

// The longest password that is accepted has 1024 bytes; a longer one is refused there, with the reason.
constexpr std::size_t kLongestLine = 4096;

/// While it lives, a terminal on standard input shows nothing. Its keys raise no signals meanwhile: a process
/// that ended here would leave the terminal mute.
class MuteTerminal {
 public:
  MuteTerminal() {
    termios mode{};
    if (::tcgetattr(STDIN_FILENO, &mode) != 0) return;  // no terminal
    before_ = mode;
    mode.c_lflag &= ~static_cast<tcflag_t>(ECHO | ISIG);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &mode);
    say("Password: ");
  }
  MuteTerminal(const MuteTerminal&) = delete;
  MuteTerminal& operator=(const MuteTerminal&) = delete;
  ~MuteTerminal() {
    if (!before_) return;
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &*before_);
    say("\n");
  }

 private:
  static void say(std::string_view text) {
    // What cannot be said is no reason to stop.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }

  std::optional<termios> before_;
};

}  // namespace

Result<Secret> read_password() {
  const MuteTerminal mute;
  WipedBytes line;
  line.reserve(kLongestLine);
  char next = '\0';
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, &next, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || next == '\n') break;
    if (line.size() == kLongestLine) {
      return Error{ErrorKind::configuration, "the password on standard input is too long, expected one line"};
    }
    line.push_back(next);
  }
  if (line.empty()) {
    return Error{ErrorKind::configuration, "there is no password on standard input, expected one line"};
  }
  return Secret({line.data(), line.size()});
}

bool print_secret(const Secret& secret) {
  const std::string_view text = secret.reveal().text;
  WipedBytes line(text.begin(), text.end());
  line.push_back('\n');
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t written = ::write(STDOUT_FILENO, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace rest_fcgi::config

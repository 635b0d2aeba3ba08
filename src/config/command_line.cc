// SPDX-License-Identifier: MIT
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/program_options.hpp>

#include "config/reader.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::config {
namespace {

namespace po = boost::program_options;

constexpr const char* kVariable = "SALT_MASTER_CONFIG";
constexpr const char* kDefaultFile = "/etc/salt/master";

po::options_description options() {
  po::options_description description("Options");
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  description.add_options()  //
      ("config,c", text("FILE"),
       "Salt's master file, or the directory that it is in; without this option "
       "$SALT_MASTER_CONFIG, or else /etc/salt/master")  //
      ("listen", text("ADDRESS"),
       "unix:PATH, tcp:HOST:PORT, or fd:0 for a listening socket on standard input")                     //
      ("log-level,l", text("LEVEL"), "debug, info, warning, error, quiet, or another of Salt's levels")  //
      ("check-config", "read the configuration, say what is on, and exit")                               //
      ("mk-token", text("EAUTH:USERNAME"),
       "make a token for a user, whose password is read from standard input, "
       "print it, and exit")  //
      ("revoke", text("[EAUTH:]USER"),
       "end all tokens of a user that were made until now, and exit; run it as the responder's user")  //
      ("explain", po::value<std::vector<std::string>>()->multitoken()->value_name("USER FUN TGT"),
       "say which lines of external_auth let a user run a function on a compound target, or as @runner or "
       "@wheel, and exit")                       //
      ("version", "print the version and exit")  //
      ("help", "print this and exit");
  return description;
}

Error mistake(std::string_view text) {
  return {ErrorKind::configuration, format("command line: {}; --help lists what is accepted", text)};
}

/// As Salt's own `-c`, ours also takes the directory of the file.
std::string file_of(const std::string& config) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(config, ignored)) return config;
  return std::filesystem::path(config) / "master";
}

std::string default_file() {
  const char* named = std::getenv(kVariable);
  return named != nullptr && *named != '\0' ? named : kDefaultFile;
}

std::optional<std::string> text_of(const po::variables_map& values, const char* option) {
  if (values.count(option) == 0) return std::nullopt;
  return values[option].as<std::string>();
}

Result<void> read_token_user(const po::variables_map& values, CommandLine& command_line) {
  const auto user = text_of(values, "mk-token");
  if (!user) return {};
  const std::size_t colon = user->find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == user->size()) {
    return mistake(format("--mk-token: found {}, expected EAUTH:USERNAME", in_quotes(*user)));
  }
  command_line.action = CommandLine::Action::make_token;
  command_line.eauth = user->substr(0, colon);
  command_line.username = user->substr(colon + 1);
  return {};
}

Result<void> read_revocation(const po::variables_map& values, CommandLine& command_line) {
  const auto user = text_of(values, "revoke");
  if (!user) return {};
  const std::size_t colon = user->find(':');
  const bool whole = !user->empty() && colon != 0 && colon + 1 != user->size();
  if (!whole) return mistake(format("--revoke: found {}, expected USER or EAUTH:USER", in_quotes(*user)));
  command_line.action = CommandLine::Action::revoke;
  if (colon != std::string::npos) command_line.eauth = user->substr(0, colon);
  command_line.username = colon == std::string::npos ? *user : user->substr(colon + 1);
  return {};
}

Result<void> read_question(const po::variables_map& values, CommandLine& command_line) {
  if (values.count("explain") == 0) return {};
  const auto& words = values["explain"].as<std::vector<std::string>>();
  const bool complete = words.size() == 3 && std::none_of(words.begin(), words.end(),
                                                          [](const auto& word) { return word.empty(); });
  if (!complete) {
    return mistake(
        format("--explain: found {} arguments, expected USER FUN TGT, such as alice test.ping 'web*'",
               words.size()));
  }
  command_line.action = CommandLine::Action::explain;
  command_line.username = words[0];
  command_line.fun = words[1];
  command_line.tgt = words[2];
  return {};
}

Result<CommandLine> command_line_of(const po::variables_map& values) {
  CommandLine command_line;
  command_line.config = file_of(text_of(values, "config").value_or(default_file()));
  if (command_line.config.empty()) return mistake("--config: found \"\", expected a file");
  command_line.listen = text_of(values, "listen");
  if (command_line.listen && !is_listen_address(*command_line.listen)) {
    return mistake(
        format("--listen: found {}, expected {}", in_quotes(*command_line.listen), kListenAddresses));
  }
  if (const auto level = text_of(values, "log-level")) {
    command_line.log_level = level_of(*level);
    if (!command_line.log_level) {
      return mistake(format("--log-level: found {}, expected {}", in_quotes(*level), kLogLevels));
    }
  }
  if (auto read = read_token_user(values, command_line); !read) return std::move(read).error();
  if (auto read = read_revocation(values, command_line); !read) return std::move(read).error();
  if (auto read = read_question(values, command_line); !read) return std::move(read).error();
  if (values.count("check-config") != 0) command_line.action = CommandLine::Action::check_config;
  if (values.count("version") != 0) command_line.action = CommandLine::Action::show_version;
  if (values.count("help") != 0) command_line.action = CommandLine::Action::show_help;
  return command_line;
}

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

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  try {
    // Positional arguments are collected so that they can be refused by name; abbreviated options would
    // change their meaning when an option is added.
    po::options_description all = options();
    all.add_options()("positional", po::value<std::vector<std::string>>());
    const po::positional_options_description positional =
        po::positional_options_description().add("positional", -1);
    po::variables_map values;
    po::store(po::command_line_parser(argc, argv)
                  .options(all)
                  .positional(positional)
                  .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
                  .run(),
              values);
    if (values.count("positional") != 0) {
      const std::string& first = values["positional"].as<std::vector<std::string>>().front();
      return mistake(format("found {}, which belongs to no option", in_quotes(first)));
    }
    return command_line_of(values);
  } catch (const po::error& error) {
    return mistake(error.what());
  }
}

std::string help_text() {
  std::ostringstream text;
  text
      << "Usage: rest_fcgi [OPTION]...\n"
         "Answers POSTs of Salt lowstate that a web server hands over by FastCGI.\n\n"
      << options()
      << "\nExit status: 0 after a stop that was asked for, 78 for a mistake in the configuration or on the\n"
         "command line, 77 where --mk-token is refused, 1 where --explain finds no leave, 70 for all else.\n"
         "SIGHUP reads the configuration again; SIGTERM, SIGINT and SIGUSR1 end what is in flight, and "
         "stop.\n";
  return text.str();
}

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
  return write_all(STDOUT_FILENO, {line.data(), line.size()}).ok();
}

}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
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
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::config {
namespace {

namespace po = boost::program_options;

constexpr const char* kVariable = "SALT_MASTER_CONFIG";
constexpr const char* kTokenVariable = "SALTAPI_TOKEN";
constexpr const char* kDefaultFile = "/etc/salt/master";

po::options_description options() {
  po::options_description description("Options");
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  description.add_options()  //
      ("config,c", text("FILE"),
       "Salt's master file, or the directory that it is in; default: $SALT_MASTER_CONFIG, else the file of "
       "the enabled service: /etc/rest_fcgi/master or /etc/salt/master")  //
      ("engine", text("NAME"),
       "embedded or salt: refuse a configuration with another engine; with salt, this user must be the user "
       "of "
       "the Salt master")  //
      ("listen", text("ADDRESS"),
       "unix:PATH, tcp:HOST:PORT, or fd:0 for a listening socket on standard input")                      //
      ("log-level,l", text("LEVEL"), "debug, info, warning, error, quiet, or another log level of Salt")  //
      ("check-config", "check the configuration, print a summary of it with warnings, and exit")          //
      ("health", "ask the running service whether it is ready, print its checks, and exit")               //
      ("reload",
       "make the service $MAINPID read its configuration again, wait until the new configuration is in use, "
       "and exit; `systemctl reload` runs it")  //
      ("init",
       "set up the service, and exit: in front of a Salt master, take the place of salt-api; otherwise ask "
       "for a "
       "user and a password, and write a first configuration to the file of --config (default: "
       "/etc/rest_fcgi/master)")                                                                  //
      ("undo", "take back what --init has done, and exit; salt-api runs again if it ran before")  //
      ("user", text("NAME"), "with --init: the user who may log in")                              //
      ("password-stdin",
       "with --init, --add-user and --passwd: read the password from standard input instead of asking for "
       "it")  //
      ("add-user", text("NAME"),
       "add a user to the password file of external_auth: file:, and exit; asks for the password")  //
      ("passwd", text("NAME"),
       "change the password of a user in this file, and exit; asks for the password")  //
      ("mk-token", text("EAUTH:USERNAME"),
       "make a token for a user, print it, and exit; the password is read from standard input")  //
      ("revoke", text("[EAUTH:]USER"),
       "revoke all tokens that a user has now, and exit")  //
      ("backup", text("FILE"),
       "copy the jobs, tokens and other state to the new file FILE while the service runs, and exit")  //
      ("restore", text("FILE"),
       "replace the state by the copy FILE that --backup made, and exit; the service must be stopped")  //
      ("explain", po::value<std::vector<std::string>>()->multitoken()->value_name("[EAUTH:]USER FUN TGT"),
       "print which lines of external_auth let a user run a function on a compound target, @runner or "
       "@wheel, and exit")  //
      ("watch",
       "print the events of the running service, one per line; needs a token from --token-file or "
       "$SALTAPI_TOKEN")  //
      ("tag", po::value<std::vector<std::string>>()->composing()->value_name("GLOB"),
       "with --watch: print only events whose tag matches GLOB; may be given several times")  //
      ("json", "with --watch: print each event as a JSON object")                             //
      ("url", text("URL"),
       "with --watch: the URL of rest_cherrypy or rest_tornado; default: $SALTAPI_URL, else the port in the "
       "configuration")                                                                               //
      ("token-file", text("FILE"), "with --watch: the file with the token, as --mk-token prints it")  //
      ("version,V", "print the version and exit")                                                     //
      ("help,h", "print this help and exit");
  return description;
}

Error mistake(std::string_view text) {
  return {ErrorKind::configuration, format("command line: {}; --help lists the options", text)};
}

/// As in Salt, `--config` may name the folder of the master file instead.
std::string file_of(const std::string& config) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(config, ignored)) return config;
  return std::filesystem::path(config) / "master";
}

struct ServiceFile {
  const char* unit;
  const char* config;
};

constexpr ServiceFile kServices[] = {{"rest_fcgi.service", kInitFile},
                                     {"rest_fcgi-salt.service", kDefaultFile}};

bool may_exist(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 || errno != ENOENT;
}

bool needs_config(const CommandLine& command_line) {
  using Action = CommandLine::Action;
  switch (command_line.action) {
    case Action::show_version:
    case Action::show_help:
    case Action::init:
    case Action::undo:
    case Action::reload:
      return false;
    case Action::watch:
      return command_line.watch.url.empty();
    default:
      return true;
  }
}

std::optional<std::string> text_of(const po::variables_map& values, const char* option) {
  if (values.count(option) == 0) return std::nullopt;
  return values[option].as<std::string>();
}

/// Reads `EAUTH:USER`, or also `USER` if `eauth_is_optional` is true.
Result<void> read_user(const std::string& text, const char* option, bool eauth_is_optional,
                       CommandLine& command_line) {
  const std::size_t colon = text.find(':');
  const bool has_eauth = colon != std::string::npos;
  if (text.empty() || colon == 0 || colon + 1 == text.size() || (!has_eauth && !eauth_is_optional)) {
    return mistake(format("--{}: found {}, expected {}", option, in_quotes(text),
                          eauth_is_optional ? "USER or EAUTH:USER" : "EAUTH:USERNAME"));
  }
  if (has_eauth) command_line.eauth = text.substr(0, colon);
  command_line.username = has_eauth ? text.substr(colon + 1) : text;
  return {};
}

/// Reads the value of `--mk-token`, or of `--revoke`, which may lack the back end.
Result<void> read_owner(const po::variables_map& values, const char* option, CommandLine& command_line) {
  return read_user(*text_of(values, option), option, std::string_view(option) == "revoke", command_line);
}

Result<void> read_question(const po::variables_map& values, const char* option, CommandLine& command_line) {
  const auto& words = values[option].as<std::vector<std::string>>();
  if (words.size() != 3 || std::find(words.begin(), words.end(), "") != words.end()) {
    return mistake(
        format("--explain: found {} arguments, expected [EAUTH:]USER FUN TGT, such as alice test.ping 'web*'",
               words.size()));
  }
  if (auto user = read_user(words[0], option, true, command_line); !user) return user;
  command_line.fun = words[1];
  command_line.tgt = words[2];
  return {};
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<void> read_watch(const po::variables_map& values, const char*, CommandLine& command_line) {
  watch::Options& options = command_line.watch;
  options.url = text_of(values, "url").value_or(variable("SALTAPI_URL"));
  if (values.count("tag") != 0) options.tags = values["tag"].as<std::vector<std::string>>();
  options.as_json = values.count("json") != 0;
  command_line.token_file = text_of(values, "token-file").value_or("");
  return {};
}

Result<void> read_init(const po::variables_map& values, const char*, CommandLine& command_line) {
  command_line.username = text_of(values, "user").value_or("");
  command_line.has_password_on_stdin = values.count("password-stdin") != 0;
  if (values.count("config") == 0) command_line.config = kInitFile;
  return {};
}

Result<void> read_account(const po::variables_map& values, const char* option, CommandLine& command_line) {
  command_line.username = *text_of(values, option);
  command_line.has_password_on_stdin = values.count("password-stdin") != 0;
  if (command_line.username.empty()) return mistake(format("--{}: found \"\", expected a name", option));
  return {};
}

Result<void> read_copy(const po::variables_map& values, const char* option, CommandLine& command_line) {
  command_line.copy = *text_of(values, option);
  if (command_line.copy.empty()) return mistake(format("--{}: found \"\", expected a file", option));
  return {};
}

struct ActionOption {
  const char* name;
  CommandLine::Action action;
  Result<void> (*read)(const po::variables_map&, const char* option, CommandLine&) = nullptr;
};

constexpr ActionOption kActions[] = {
    {"version", CommandLine::Action::show_version},
    {"check-config", CommandLine::Action::check_config},
    {"reload", CommandLine::Action::reload},
    {"health", CommandLine::Action::check_health},
    {"init", CommandLine::Action::init, read_init},
    {"undo", CommandLine::Action::undo},
    {"mk-token", CommandLine::Action::make_token, read_owner},
    {"revoke", CommandLine::Action::revoke, read_owner},
    {"add-user", CommandLine::Action::add_user, read_account},
    {"passwd", CommandLine::Action::set_password, read_account},
    {"backup", CommandLine::Action::back_up, read_copy},
    {"restore", CommandLine::Action::restore, read_copy},
    {"explain", CommandLine::Action::explain, read_question},
    {"watch", CommandLine::Action::watch, read_watch},
};

/// An option, and the options of which it needs one.
constexpr std::pair<const char*, std::array<const char*, 3>> kNeeds[] = {
    {"user", {"init"}}, {"password-stdin", {"init", "add-user", "passwd"}},
    {"tag", {"watch"}}, {"json", {"watch"}},
    {"url", {"watch"}}, {"token-file", {"watch"}},
};

Result<void> read_action(const po::variables_map& values, CommandLine& command_line) {
  if (values.count("help") != 0) {
    command_line.action = CommandLine::Action::show_help;
    return {};
  }
  for (const auto& [option, needed] : kNeeds) {
    const bool has_needed = std::any_of(needed.begin(), needed.end(), [&values](const char* one) {
      return one != nullptr && values.count(one) != 0;
    });
    if (values.count(option) == 0 || has_needed) continue;
    return mistake(
        format("found --{0} without --{1}, expected both: add --{1} or remove --{0}", option, needed[0]));
  }
  const ActionOption* chosen = nullptr;
  for (const ActionOption& option : kActions) {
    if (values.count(option.name) == 0) continue;
    if (chosen != nullptr) {
      return mistake(format("found --{} and --{}, expected only one of them", chosen->name, option.name));
    }
    chosen = &option;
  }
  if (chosen == nullptr) return {};
  command_line.action = chosen->action;
  return chosen->read == nullptr ? Result<void>() : chosen->read(values, chosen->name, command_line);
}

Result<CommandLine> command_line_of(const po::variables_map& values) {
  CommandLine command_line;
  if (const auto config = text_of(values, "config")) {
    command_line.config = file_of(*config);
    if (command_line.config.empty()) return mistake("--config: found \"\", expected a file");
  }
  if (const auto engine = text_of(values, "engine")) {
    if (*engine != "embedded" && *engine != "salt")
      return mistake(format("--engine: found {}, expected embedded or salt", in_quotes(*engine)));
    command_line.engine = *engine == "salt" ? Engine::salt : Engine::embedded;
  }
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
  if (auto read = read_action(values, command_line); !read) return std::move(read).error();
  if (command_line.config.empty() && needs_config(command_line)) {
    const char* named = std::getenv(kVariable);
    auto config = named != nullptr && *named != '\0' ? Result(std::string(named)) : installed_config();
    if (!config) return std::move(config).error();
    command_line.config = file_of(*config);
  }
  return command_line;
}

/// The largest size in bytes of a line or token file. This limit is above the longest password (1024 bytes),
/// so that the login refuses a password that is too long, with its own message.
constexpr std::size_t kLongestLine = 4096;

/// Turns off the echo of the terminal. Also ignores Ctrl-C, because Ctrl-C would leave the echo off.
class MuteTerminal {
 public:
  MuteTerminal() {
    termios mode{};
    // Standard input is not a terminal, so it has no echo.
    if (::tcgetattr(STDIN_FILENO, &mode) != 0) return;
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
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }

  std::optional<termios> before_;
};

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  try {
    // Accepts positional arguments, so that the error message can name the first of them. Refuses
    // abbreviations of options, because a new option could change their meaning.
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
      return mistake(format("found {}, expected an option", in_quotes(first)));
    }
    return command_line_of(values);
  } catch (const po::error& error) {
    return mistake(error.what());
  }
}

Result<std::string> installed_config(const std::string& root) {
  std::vector<std::string> enabled;
  std::vector<std::string> existing;
  for (const ServiceFile& service : kServices) {
    if (!may_exist(root + service.config)) continue;
    existing.emplace_back(service.config);
    if (may_exist(format("{}/etc/systemd/system/multi-user.target.wants/{}", root, service.unit)))
      enabled.emplace_back(service.config);
  }
  const auto& found = enabled.empty() ? existing : enabled;
  if (found.size() > 1) {
    return mistake(format("found two configurations, {}, expected --config: choose one with -c FILE",
                          joined(found, " and ")));
  }
  return found.empty() ? std::string(kDefaultFile) : found.front();
}

std::string help_text() {
  std::ostringstream text;
  text << "Usage: rest_fcgi [OPTION]...\n"
          "Serves Salt's REST API over FastCGI and HTTP.\n\n"
       << options()
       << "\nExit status: 0 after success or a requested stop, 78 for a mistake in the configuration or\n"
          "on the command line, 77 if the login of --mk-token or the token of --watch is refused, 1 if\n"
          "--explain finds no permission, if --health finds the service not ready, or if --watch finds no\n"
          "service, 70 for another failure.\n"
          "SIGHUP reads the configuration again; SIGTERM, SIGINT and SIGUSR1 stop the service after its\n"
          "running requests.\n";
  return text.str();
}

Result<Secret> read_password() {
  const MuteTerminal mute;
  std::string line;
  char next = '\0';
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, &next, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || next == '\n') break;
    if (line.size() == kLongestLine) {
      return Error{ErrorKind::configuration,
                   "standard input: found a line that is too long, expected a password"};
    }
    line.push_back(next);
  }
  if (line.empty()) {
    return Error{ErrorKind::configuration, "standard input: found no line, expected a password"};
  }
  return Secret(line);
}

Result<Secret> read_new_password(const CommandLine& command_line) {
  if (command_line.has_password_on_stdin) return read_password();
  if (::isatty(STDIN_FILENO) == 0) {
    return Error{ErrorKind::configuration,
                 "standard input: found no terminal, expected one, or the option --password-stdin"};
  }
  auto password = read_password();
  if (!password) return password;
  std::cerr << "Once more. ";
  const auto again = read_password();
  if (!again) return again.error();
  if (again->reveal().text == password->reveal().text) return password;
  return Error{ErrorKind::configuration, "the two passwords differ: start again"};
}

Result<Secret> read_token(const CommandLine& command_line) {
  const auto missing = [](std::string_view where, std::string_view found) {
    return Error{
        ErrorKind::configuration,
        format("--watch: {}: found {}, expected a token: rest_fcgi --mk-token or POST /login makes one",
               where, found)};
  };
  const std::string& path = command_line.token_file;
  if (path.empty()) {
    const char* const token = std::getenv(kTokenVariable);
    if (token == nullptr || *token == '\0') return missing("--token-file and $SALTAPI_TOKEN", "neither");
    return Secret(token);
  }
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return missing(path, errno_text());
  const auto bytes = read_to_end(file.get(), kLongestLine);
  if (!bytes) return missing(path, bytes.error().message);
  std::string_view rest = *bytes;
  const std::string_view line = stripped(next_token(rest, '\n'));
  if (line.empty()) return missing(path, "an empty line");
  return Secret(line);
}

bool print_secret(const Secret& secret) {
  return write_all(STDOUT_FILENO, format("{}\n", secret.reveal().text)).ok();
}

}  // namespace rest_fcgi::config

// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "config/reader.h"
#include "config/setup_files.h"
#include "config/takeover.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/config/units.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/socket_holder.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::config {
namespace {

constexpr const char* kGroup = "rest_fcgi";  // The group of the rest_fcgi services.
constexpr std::string_view kInitHost = "127.0.0.1";
constexpr in_port_t kInitPort = 8000;
constexpr const char* kHostSocket = "rest_fcgi.socket";
constexpr const char* kHostService = "rest_fcgi.service";
constexpr std::size_t kLongestUser = 64;

/// The first words of a configuration that `--init` has written.
constexpr std::string_view kMark = "# Written by rest_fcgi --init.";

constexpr std::string_view kTemplate =
    R"({mark} /usr/share/doc/rest-fcgi/configuration.md explains every key.
netapi_enable_clients: [local, local_async, local_batch, local_subset, runner, runner_async, wheel, wheel_async]

# The users and their permissions: logins.md. To add a user: rest_fcgi --add-user NAME
external_auth:
  file:
    ^filename: {users}
    ^filetype: htpasswd
    {user}: ['.*', '@jobs', '@runner', '@wheel']

cachedir: /var/lib/rest_fcgi

rest_fcgi:
  listen: fd:0                 # rest_fcgi.socket, for a web server on this host
  netapi: [rest_cherrypy]
  embedded:
    run_helper: unix:/run/rest_fcgi/run.sock

# For this host only. For other hosts: a web server with HTTPS, or a certificate, see rest.md.
rest_cherrypy:
  host: 127.0.0.1
  port: 8000
  disable_ssl: true
)";

/// A user name is written into YAML, into a password file and into the URL of a form.
bool is_user(std::string_view name) {
  static constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name.size() <= kLongestUser && name.find_first_not_of(kLetters) == name.npos &&
         name.front() != '-' && name.front() != '.';
}

std::string filled(std::string_view text, std::string_view users, std::string_view user) {
  std::string made(text);
  for (const auto& [name, value] :
       {std::pair{std::string_view("{users}"), users}, {"{user}", user}, {"{mark}", kMark}}) {
    for (std::size_t at; (at = made.find(name)) != made.npos;) made.replace(at, name.size(), value);
  }
  return made;
}

std::string users_file(const std::string& config) {
  return std::filesystem::path(config).parent_path() / "users";
}

/// Checks what the setup needs. Changes nothing.
Result<void> check_host(const FirstSetup& setup) {
  for (const std::string& path : {setup.config, setup.users}) {
    if (auto absent = refuse_existing(path); !absent) return absent;
  }
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(kInitPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto holder = find_port_holder(reinterpret_cast<const sockaddr&>(address));
  if (!holder) return {};
  return init_error(format("port {} is in use: {}. Nothing was changed", kInitPort, describe(*holder)));
}

Result<void> ask_for_user(const CommandLine& command_line, const PasswordToHash& hash, FirstSetup& setup) {
  setup.user = command_line.username;
  const bool asks = !command_line.has_password_on_stdin;
  if (asks && ::isatty(STDIN_FILENO) == 0) {
    return init_error(
        "found no terminal on standard input, expected one, or the options --user NAME --password-stdin");
  }
  if (asks && setup.user.empty()) {
    std::cerr << "User: ";
    std::getline(std::cin, setup.user);
  }
  const auto password = read_new_password(command_line);
  if (!password) return password.error();
  auto hashed = hash(*password);
  if (!hashed) return std::move(hashed).error();
  setup.hash = *std::move(hashed);
  return {};
}

std::string first_request(const std::string& user) {
  return format(
      "rest_fcgi answers at http://{0}:{1}, for this host only. A first request:\n\n"
      "  read -rsp 'Password: ' P && printf %s \"$P\" | curl -sS http://{0}:{1}/run \\\n"
      "    -d client=local -d 'tgt=*' -d fun=test.ping -d eauth=file -d username={2} \\\n"
      "    --data-urlencode password@-\n\n"
      "/usr/share/doc/rest-fcgi/README.md describes the next steps.\n",
      kInitHost, kInitPort, user);
}

/// Sets up a service with the embedded engine.
Result<std::string> set_up_host(const CommandLine& command_line, const PasswordToHash& hash) {
  const auto group = group_id(kGroup);
  if (!group)
    return init_error(
        "found no group rest_fcgi, expected it: run systemd-sysusers as root, which creates it");
  FirstSetup setup;
  setup.config = command_line.config;
  setup.users = users_file(command_line.config);
  setup.group = *group;
  if (auto good = check_host(setup); !good) return std::move(good).error();
  if (auto asked = ask_for_user(command_line, hash, setup); !asked) return std::move(asked).error();
  if (auto written = write_first_setup(setup); !written) return std::move(written).error();
  const std::string text = format("{} and {} are written.\n", setup.config, setup.users);
  if (!has_systemd()) {
    return text + format("This host does not run systemd. Start the service with: rest_fcgi --config {}\n",
                         setup.config);
  }
  if (auto started = start_units({kHostSocket, kHostService}); !started) {
    ::unlink(setup.config.c_str());
    ::unlink(setup.users.c_str());
    return Error{started.error().kind, format("--init: {}. {} and {} are removed", started.error().message,
                                              setup.config, setup.users)};
  }
  return text + first_request(setup.user);
}

/// Asks whether rest_fcgi takes the place of salt-api.
Result<bool> asked_to_take_over() {
  if (::isatty(STDIN_FILENO) == 0) {
    return init_error(
        "found a Salt master and no terminal on standard input, expected --engine salt, which takes the "
        "place "
        "of salt-api, or --engine embedded with --user NAME --password-stdin");
  }
  std::cerr << "This host has a Salt master. Shall rest_fcgi take the place of salt-api? [Y/n] ";
  std::string answer;
  if (!std::getline(std::cin, answer)) return false;
  return answer.empty() || answer.front() == 'y' || answer.front() == 'Y';
}

}  // namespace

Error init_error(std::string text) {
  return {ErrorKind::configuration, "--init: " + std::move(text)};
}

Result<void> refuse_existing(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return init_error(
      format("found the file {}, which --init does not overwrite: edit it, or remove it and run --init "
             "again. `rest_fcgi "
             "--undo` takes back an earlier --init",
             path));
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<void> write_new(const std::string& path, std::string_view text, gid_t group, mode_t mode) {
  const std::string unfinished = path + ".new";
  ::unlink(unfinished.c_str());  // Removes the unfinished file that an interrupted `init` may have left.
  const UniqueFd file(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool is_written = file.is_open() && write_all(file.get(), text).ok() &&
                          ::fchown(file.get(), static_cast<uid_t>(-1), group) == 0 &&
                          ::fchmod(file.get(), mode) == 0 && ::fsync(file.get()) == 0;
  // Unlike rename(2), link(2) does not replace an existing file.
  const bool is_in_place = is_written && ::link(unfinished.c_str(), path.c_str()) == 0;
  const int cause = errno;
  ::unlink(unfinished.c_str());
  if (is_in_place) return {};
  if (is_written && cause == EEXIST) return refuse_existing(path);
  return init_error(format("cannot write {}: {}", path, errno_text(cause)));
}

Result<void> write_first_setup(const FirstSetup& setup) {
  for (const std::string& path : {setup.config, setup.users}) {
    if (auto absent = refuse_existing(path); !absent) return absent;
  }
  if (!is_user(setup.user)) {
    return init_error(format("found the user {}, expected at most {} letters, digits, _, - and .",
                             in_quotes(setup.user), kLongestUser));
  }
  const std::string line = format("{}:{}\n", setup.user, setup.hash);
  if (auto written = write_new(setup.users, line, setup.group, 0640); !written) return written;
  auto written = write_new(setup.config, filled(kTemplate, setup.users, setup.user), setup.group, 0640);
  if (!written) ::unlink(setup.users.c_str());
  return written;
}

Result<std::string> init(const CommandLine& command_line, const PasswordToHash& hash) {
  const bool names_user = !command_line.username.empty() || command_line.has_password_on_stdin;
  bool takes_over = command_line.engine == Engine::salt;
  if (!command_line.engine && !names_user && command_line.config == kInitFile && has_salt_master()) {
    const auto asked = asked_to_take_over();
    if (!asked) return asked.error();
    if (!*asked)
      return std::string(
          "Nothing was changed. For a service without the Salt master: rest_fcgi --init --engine embedded\n");
    takes_over = true;
  }
  if (has_systemd() && ::geteuid() != 0)
    return init_error("found no root, expected it: sudo rest_fcgi --init");
  return takes_over ? take_over() : set_up_host(command_line, hash);
}

Result<std::string> undo() {
  if (::geteuid() != 0)
    return Error{ErrorKind::configuration, "--undo: found no root, expected it: sudo rest_fcgi --undo"};
  const auto gone = give_back();
  if (!gone) return gone.error();
  std::string text = gone->value_or("");
  if (text_of_file(kInitFile).starts_with(kMark)) {
    if (has_systemd()) {
      if (auto stopped = stop_units({kHostSocket, kHostService}); !stopped) return std::move(stopped).error();
    }
    for (const std::string& path : {std::string(kInitFile), users_file(kInitFile)}) {
      if (::rename(path.c_str(), (path + ".undone").c_str()) != 0 && errno != ENOENT)
        return Error{ErrorKind::internal, format("--undo: cannot move {}: {}", path, errno_text())};
    }
    text += format("rest_fcgi is off, and {0} is now {0}.undone.\n", kInitFile);
  }
  if (text.empty()) {
    return Error{ErrorKind::configuration,
                 "--undo: found no file that rest_fcgi --init has written, expected one"};
  }
  return text;
}

}  // namespace rest_fcgi::config

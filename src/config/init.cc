// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include "config/reader.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::config {
namespace {

constexpr const char* kGroup = "rest_fcgi";  // The group of the rest_fcgi services.
constexpr std::size_t kLongestUser = 64;

constexpr std::string_view kTemplate =
    R"(# Written by rest_fcgi --init. /usr/share/doc/rest-fcgi/configuration.md explains every key.
netapi_enable_clients: [local, local_async, local_batch, local_subset, runner, runner_async, wheel, wheel_async]

# The users and their permissions: logins.md. To add a user: htpasswd -B {users} NAME
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

# The port of rest_fcgi-http.socket. For other hosts: a web server with HTTPS, or a certificate, see rest.md.
rest_cherrypy:
  host: 127.0.0.1
  port: 8000
  disable_ssl: true
)";

Error init_error(std::string text) {
  return {ErrorKind::configuration, "--init: " + std::move(text)};
}

/// A user name is written into YAML, into a password file and into the URL of a form.
bool is_user(std::string_view name) {
  static constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name.size() <= kLongestUser && name.find_first_not_of(kLetters) == name.npos &&
         name.front() != '-' && name.front() != '.';
}

Error cannot_write(const std::string& path) {
  return init_error(format("cannot write {}: {}", path, errno_text()));
}

/// Writes a file for root and `group` with the mode 0640. Errors: configuration, if `path` exists.
Result<void> write_new(const std::string& path, std::string_view text, gid_t group) {
  const std::string unfinished = path + ".new";
  ::unlink(unfinished.c_str());  // Removes the unfinished file that an interrupted `init` may have left.
  const UniqueFd file(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool is_written = file.is_open() && write_all(file.get(), text).ok() &&
                          ::fchown(file.get(), static_cast<uid_t>(-1), group) == 0 &&
                          ::fchmod(file.get(), 0640) == 0 && ::fsync(file.get()) == 0;
  // Unlike rename(2), link(2) does not replace an existing file.
  const bool is_in_place = is_written && ::link(unfinished.c_str(), path.c_str()) == 0;
  const int cause = errno;
  ::unlink(unfinished.c_str());
  errno = cause;
  if (is_in_place) return {};
  return is_written && cause == EEXIST
             ? init_error(
                   format("found the file {}, which --init does not overwrite: edit or remove it", path))
             : cannot_write(path);
}

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

std::string filled(std::string_view text, std::string_view users, std::string_view user) {
  std::string made(text);
  for (const auto& [name, value] : {std::pair{std::string_view("{users}"), users}, {"{user}", user}}) {
    for (std::size_t at; (at = made.find(name)) != made.npos;) made.replace(at, name.size(), value);
  }
  return made;
}

bool start_services() {
  std::array<const char*, 6> argv = {"systemctl",         "enable", "--now", "rest_fcgi-http.socket",
                                     "rest_fcgi.service", nullptr};
  pid_t pid = 0;
  if (::posix_spawnp(&pid, argv[0], nullptr, nullptr, const_cast<char**>(argv.data()), environ) != 0) {
    return false;
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Result<Secret> asked_password(bool asks) {
  auto password = read_password();
  if (!password || !asks) return password;
  std::cerr << "Once more. ";
  auto again = read_password();
  if (!again) return again;
  if (again->reveal().text != password->reveal().text) return init_error("the two passwords differ");
  return password;
}

}  // namespace

Result<void> write_first_setup(const FirstSetup& setup) {
  for (const std::string& path : {setup.config, setup.users}) {
    if (is_there(path))
      return init_error(
          format("found the file {}, which --init does not overwrite: edit or remove it", path));
  }
  if (!is_user(setup.user)) {
    return init_error(format("found the user {}, expected at most {} letters, digits, _, - and .",
                             in_quotes(setup.user), kLongestUser));
  }
  const std::string line = format("{}:{}\n", setup.user, setup.hash);
  if (auto written = write_new(setup.users, line, setup.group); !written) return written;
  return write_new(setup.config, filled(kTemplate, setup.users, setup.user), setup.group);
}

Result<std::string> init(const CommandLine& command_line, const PasswordToHash& hash) {
  const auto group = group_id(kGroup);
  if (!group)
    return init_error(
        "found no group rest_fcgi, expected it: run systemd-sysusers as root, which creates it");
  FirstSetup setup;
  setup.config = command_line.config;
  setup.users = std::filesystem::path(command_line.config).parent_path() / "users";
  setup.group = *group;
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
  auto password = asked_password(asks);
  if (!password) return std::move(password).error();
  auto hashed = hash(*password);
  if (!hashed) return hashed;
  setup.hash = *std::move(hashed);
  if (auto written = write_first_setup(setup); !written) return std::move(written).error();

  std::string text = format("{} and {} are written.\n", setup.config, setup.users);
  if (::access("/run/systemd/system", F_OK) != 0) {
    return text + format("This host does not run systemd. Start the service with: rest_fcgi --config {}\n",
                         setup.config);
  }
  if (!start_services())
    return Error{ErrorKind::internal,
                 text + "--init: the services did not start; the messages of systemctl above have the cause"};
  return text + format(
                    "rest_fcgi answers at http://127.0.0.1:8000, for this host only. A first request:\n\n"
                    "  read -rsp 'Password: ' P && printf %s \"$P\" | curl -sS http://127.0.0.1:8000/run \\\n"
                    "    -d client=local -d 'tgt=*' -d fun=test.ping -d eauth=file -d username={} \\\n"
                    "    --data-urlencode password@-\n\n"
                    "/usr/share/doc/rest-fcgi/README.md describes the next steps.\n",
                    setup.user);
}

Result<void> check_salt(const Settings& settings, const CommandLine& command_line) {
  if (settings.engine != Engine::salt) {
    return Error{
        ErrorKind::configuration,
        format("{}: found no rest_fcgi: {{engine: salt}}, expected it. As root: echo 'rest_fcgi: {{engine: "
               "salt, netapi: [rest_cherrypy]}}' > /etc/salt/master.d/rest_fcgi.conf",
               command_line.config)};
  }
  const std::string user = user_name(::geteuid()).value_or(std::to_string(::geteuid()));
  if (user == settings.master_user) return {};
  return Error{
      ErrorKind::configuration,
      format("user: found {} in {}, expected {}, the user of this service. Write these two lines with "
             "`systemctl edit rest_fcgi-salt`:\n[Service]\nUser={}",
             settings.master_user, command_line.config, user, settings.master_user)};
}

}  // namespace rest_fcgi::config

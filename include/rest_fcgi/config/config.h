// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/client/options.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/gateway/options.h"
#include "rest_fcgi/master/embedded/options.h"
#include "rest_fcgi/master/salt/options.h"
#include "rest_fcgi/netapi/options.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/store/options.h"

namespace rest_fcgi::config {

/// The parsed command line.
struct CommandLine {
  enum class Action {
    serve,
    check_config,
    check_health,
    check_salt,
    init,
    make_token,
    revoke,
    explain,
    show_version,
    show_help
  };
  Action action = Action::serve;
  std::string config;  ///< path of the master file: `--config`, else the variable SALT_MASTER_CONFIG, else
                       ///< /etc/salt/master
  std::optional<std::string> listen;    ///< `--listen`, which replaces the configured address
  std::optional<log::Level> log_level;  ///< `--log-level`, which replaces the configured level
  std::string eauth;  ///< the back end for make_token and revoke; with revoke, empty means all back ends
  /// The user for make_token, revoke, explain and init; if empty, init asks for the name.
  std::string username;
  std::string fun;                     ///< the function that explain is about
  std::string tgt;                     ///< the target that explain is about
  bool has_password_on_stdin = false;  ///< for init: the password comes from standard input
};

/// Parses the arguments of main(). Errors: configuration, with the name of the wrong option.
[[nodiscard]] Result<CommandLine> parse_command_line(int argc, const char* const* argv);

/// Returns the text of `--help`.
[[nodiscard]] std::string help_text();

/// The engine that runs calls: `embedded` has minions in this process, `salt` uses a real Salt master.
enum class Engine { embedded, salt };

/// The Salt netapi modules that answer requests, with their paths and ports.
struct FrontEnds {
  bool are_named = false;  ///< whether `rest_fcgi: netapi` is set; only then may modules have ports
  std::vector<netapi::Module> served{netapi::Module::rest_wsgi};
  /// The module for each path over FastCGI. Paths have no slash at the end, except for `/`.
  std::vector<std::pair<std::string, netapi::Module>> mounts{{"/", netapi::Module::rest_wsgi}};
  std::vector<netapi::Module> http;    ///< the module of each entry of `gateway::Options::http`
  std::vector<netapi::Module> idle{};  ///< modules with a section in the master file that are not served
  /// Addresses of web servers whose headers about the client's address are trusted; std::nullopt for the
  /// value `auto`. The resulting addresses are in each entry of `gateway::Options::http`.
  std::optional<std::vector<std::string>> trusted_proxies{};
  /// The keys of salt-api in the master file that have no effect in this program.
  std::vector<std::string> inert{};
  /// The port for Prometheus. Absent if there is no such port.
  std::optional<gateway::HttpOptions> metrics{};
  bool health = false;  ///< whether the modules' ports and paths also answer `/health` and `/ready`
};

/// The file and line (`FILE:LINE`) of each configuration key. The index is the key's full name, such as
/// `rest_fcgi: listen`.
using Places = std::map<std::string, std::string, std::less<>>;

/// The options of every component.
struct Settings {
  log::Options log;
  gateway::Options gateway;
  FrontEnds front_ends;
  netapi::Options netapi;  ///< options that all modules share, and the options of rest_wsgi
  netapi::RestCherrypyOptions rest_cherrypy;
  netapi::RestTornadoOptions rest_tornado;
  netapi::StreamLimits streams;
  client::Options client;
  auth::Options auth;
  embedded::Options embedded;
  salt::Options salt;
  store::Options store;
  returner::Options returner;
  Engine engine = Engine::embedded;
  std::string master_user = "root";  ///< Salt's `user`: the system user that the master runs as
  /// Salt's default `cachedir`, if the engine `embedded` uses this folder; else empty.
  std::string default_cachedir;
  std::vector<std::string> warnings;  ///< messages of one line each
  Places places;
  /// The keys that take effect only when the process starts, with their values.
  std::vector<std::pair<std::string, std::string>> start_keys;

  /// Returns the settings for `--check-config` and `--explain`. With these settings no database file is
  /// created or opened, because these commands may run as a different user than the server.
  [[nodiscard]] Settings without_files() &&;

  /// Returns the settings for `--mk-token`. With these settings tokens are stored, but jobs are not.
  [[nodiscard]] Settings without_jobs() &&;
};

/// Reads the master file and the files that it includes. Unknown keys at the top level are ignored. An
/// unknown key below `rest_fcgi:` is an error. Errors: configuration, with one line `FILE:LINE: KEY: found X,
/// expected Y`.
[[nodiscard]] Result<Settings> load(const CommandLine& command_line);

/// Returns the error with `FILE:LINE` in front of its message, if the message begins with a configuration
/// key. `FILE:LINE` is the place of this key.
[[nodiscard]] Error with_place(Error error, const Settings& settings);

/// Creates the folder `default_cachedir` and its missing parent folders. A failure is not reported here: the
/// store reports the missing folder when it opens its file.
void make_cachedir(const Settings& settings);

/// Adds a warning to `settings` about a rule of `external_auth` that this program does not understand. With
/// `engine: salt`, the master still evaluates such a rule. `mistake` is the message `FILE:LINE: KEY: TEXT`.
void leave_to_master(std::string_view mistake, Settings& settings);

/// Checks whether this process can serve requests for the Salt master of this host, as rest_fcgi-salt.service
/// does. Errors: configuration, if `engine: salt` is missing or the master runs as another user. The message
/// says what to do.
[[nodiscard]] Result<void> check_salt(const Settings& settings, const CommandLine& command_line);

using PasswordToHash = std::function<Result<std::string>(const Secret& password)>;

/// Writes a first configuration for a single host to `command_line.config`, and a password file beside it.
/// Starts the services if this host runs systemd. Asks on the terminal for values that the command line does
/// not have. Returns the text to show to the user. Errors: configuration, if one of the files exists;
/// internal; those of `hash`.
[[nodiscard]] Result<std::string> init(const CommandLine& command_line, const PasswordToHash& hash);

/// The content of a first configuration: its two files and the user that may log in.
struct FirstSetup {
  std::string config;  ///< path of the master file
  std::string users;   ///< path of the password file
  std::string user;
  std::string hash;  ///< hash of the user's password, as Apache's htpasswd writes it
  gid_t group = 0;   ///< the group that may read both files
};

/// Writes the two files of `init`. Existing files are not replaced. Errors: those of `init`.
Result<void> write_first_setup(const FirstSetup& setup);

/// Returns whether a module with the route `/hook` is served.
[[nodiscard]] bool takes_hooks(const Settings& settings);

/// Returns the output of `--check-config`. `event_bus` says whether this process can read the master's event
/// bus, and `hooks` whether it can fire events there. Both texts come from the engine and may be empty.
[[nodiscard]] std::string summary(const Settings& settings, const CommandLine& command_line,
                                  std::string_view event_bus = {}, std::string_view hooks = {});

/// Returns a line of `--check-config` about a part of a rule that matches no minion or function. The line
/// suggests the most similar of `names`.
[[nodiscard]] std::string idle_rule_line(std::string_view place, std::string_view text, std::string_view what,
                                         const std::vector<std::string>& names);

/// Returns the changed keys that need a restart of the process, such as `rest_fcgi: listen`. These keys take
/// effect only at start, and their values differ between `running` and `wanted`.
[[nodiscard]] std::vector<std::string> restart_keys(const Settings& running, const Settings& wanted);

/// Reads a password: one line of standard input. If standard input is a terminal, asks for the password
/// without echo. Errors: configuration, if the line is missing or too long.
[[nodiscard]] Result<Secret> read_password();

/// Writes one line to standard output. Does not use stdio, because its buffers are not wiped. Returns false
/// if the write failed.
[[nodiscard]] bool print_secret(const Secret& secret);

}  // namespace rest_fcgi::config

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
#include "rest_fcgi/watch/options.h"

namespace rest_fcgi::config {

/// The engine `embedded` has minions in this process. The engine `salt` uses a real Salt master.
enum class Engine { embedded, salt };

struct CommandLine {
  enum class Action {
    serve,
    check_config,
    check_health,
    reload,
    init,
    undo,
    make_token,
    revoke,
    add_user,
    set_password,
    back_up,
    restore,
    explain,
    watch,
    show_version,
    show_help
  };
  Action action = Action::serve;
  /// The value of `--config`. Without `--config`, the value of SALT_MASTER_CONFIG, or else
  /// `installed_config`.
  std::string config;
  std::optional<Engine> engine;         ///< With `--engine`, `load` refuses another engine.
  std::optional<std::string> listen;    ///< `--listen` replaces the configured address.
  std::optional<log::Level> log_level;  ///< `--log-level` replaces the configured level.
  /// `eauth` is the back end of make_token and revoke. If empty, revoke uses all back ends.
  std::string eauth;
  /// `username` is the user for make_token, revoke, add_user, set_password, explain and init. If it is empty,
  /// init asks for a name.
  std::string username;
  std::string fun;
  std::string tgt;
  /// `has_password_on_stdin` makes init, add_user and set_password read the password from standard input.
  bool has_password_on_stdin = false;
  watch::Options watch;    ///< If `watch.url` is empty, the URL comes from the configuration.
  std::string copy;        ///< `copy` is the file that back_up writes and restore reads.
  std::string token_file;  ///< The file of the token for `--watch`. If empty, SALTAPI_TOKEN has the token.
};

/// Parses the arguments of main(). Errors: configuration, with the name of the wrong option.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

/// Returns the master file of the service that is installed and enabled below the folder `root`, or else the
/// master file that exists. Errors: configuration, if there are two of them.
Result<std::string> installed_config(const std::string& root = "");

/// Returns the text of `--help`.
[[nodiscard]] std::string help_text();

/// The netapi modules that answer requests, with their paths and ports.
struct FrontEnds {
  /// Whether `rest_fcgi: netapi` is set. Without this key, rest_fcgi serves rest_wsgi over FastCGI and opens
  /// no HTTP port.
  bool are_named = false;
  std::vector<netapi::Module> served{netapi::Module::rest_wsgi};
  /// The module for each FastCGI path. Only the path `/` ends with a slash.
  std::vector<std::pair<std::string, netapi::Module>> mounts{{"/", netapi::Module::rest_wsgi}};
  std::vector<netapi::Module> http;    ///< `http` has the module of each entry of `gateway::Options::http`.
  std::vector<netapi::Module> idle{};  ///< `idle` has the modules that have a section but are not served.
  /// `trusted_proxies` has the web servers of the option with this name, or std::nullopt for `auto`.
  /// `gateway::Options::http` has the resulting addresses of each port.
  std::optional<std::vector<std::string>> trusted_proxies{};
  /// The keys of salt-api that this program accepts and ignores.
  std::vector<std::string> inert{};
  /// The port from which Prometheus reads the metrics.
  std::optional<gateway::HttpOptions> metrics{};
  bool has_metrics_on_api = false;  ///< `has_metrics_on_api` means that the modules answer `/metrics`.
  /// `ignores_tests` means that no metric counts calls of a real master with `test=True` or `mock=True`.
  bool ignores_tests = false;
  bool health = false;  ///< `health` means that the modules answer `/health` and `/ready`.
};

/// The place `FILE:LINE` of each configuration key. The key has its full name, such as `rest_fcgi: listen`.
using Places = std::map<std::string, std::string, std::less<>>;

struct Settings {
  log::Options log;
  gateway::Options gateway;
  FrontEnds front_ends;
  netapi::Options netapi;  ///< The options of rest_wsgi. Other modules have a copy in their `common`.
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
  std::string master_user = "root";  ///< `master_user` is the user of the master's process (Salt's `user`).
  /// `default_cachedir` is Salt's default `cachedir` if the engine `embedded` uses it, and empty otherwise.
  std::string default_cachedir;
  std::vector<std::string> warnings;  ///< Warnings of one line each.
  Places places;
  /// The keys that take effect only at start, with their values.
  std::vector<std::pair<std::string, std::string>> start_keys;

  /// Returns a copy without the settings of databases, because users may run `--check-config` and `--explain`
  /// without access to the databases.
  [[nodiscard]] Settings without_files() &&;

  /// Returns a copy without the settings of job caches, because `--mk-token` stores only a token.
  [[nodiscard]] Settings without_jobs() &&;
};

/// Reads the master file with its includes. Ignores unknown keys at the top level, but not below
/// `rest_fcgi:`. Errors: configuration, with the line `FILE:LINE: KEY: found X, expected Y`, also if
/// `--engine` expects another engine or the Salt master has another user.
Result<Settings> load(const CommandLine& command_line);

/// Returns `error`. If the error has a key, puts the `FILE:LINE` of the key, or of the nearest section above
/// the key, in front of the message.
[[nodiscard]] Error with_place(Error error, const Settings& settings);

/// Creates the folder `default_cachedir` with its parents. Ignores a failure, because the store then cannot
/// open its file and reports this failure.
void make_cachedir(const Settings& settings);

/// Adds a warning about a rule of `external_auth` that only a real master understands. `mistake` is
/// `FILE:LINE: KEY: TEXT`.
void leave_to_master(std::string_view mistake, Settings& settings);

using PasswordToHash = std::function<Result<std::string>(const Secret& password)>;

/// The configuration that `init` writes for a service with the embedded engine.
inline constexpr const char* kInitFile = "/etc/rest_fcgi/master";

/// Sets up the service. On a host with a Salt master, offers to take the place of salt-api. Otherwise writes
/// a first configuration to `command_line.config`, with a password file, and starts the services under
/// systemd. Asks for missing values on the terminal. After a failure everything is as before. Returns a text
/// for the user. Errors: configuration, if a file exists or a port is in use; internal; the errors of `hash`.
Result<std::string> init(const CommandLine& command_line, const PasswordToHash& hash);

/// Takes back what `init` has done. Returns a text for the user. Errors: configuration, if `init` has done
/// nothing; internal.
Result<std::string> undo();

/// The two files that `init` writes, and the user that may log in with them.
struct FirstSetup {
  std::string config;  ///< `config` is the path of the master file.
  std::string users;   ///< `users` is the path of the password file.
  std::string user;
  std::string hash;  ///< `hash` is the hash of the user's password, as Apache's htpasswd writes it.
  gid_t group = 0;   ///< `group` is the group that may read the written files.
};

/// Writes the two files of `init`. Replaces no existing file. Errors: the errors of `init`.
Result<void> write_first_setup(const FirstSetup& setup);

[[nodiscard]] bool takes_hooks(const Settings& settings);

/// Returns the output of `--check-config`. `event_bus` says whether this process can read the master's
/// events, and `hooks` whether it can fire events. Either text may be empty.
[[nodiscard]] std::string summary(const Settings& settings, const CommandLine& command_line,
                                  std::string_view event_bus = {}, std::string_view hooks = {});

/// Returns the log line of the start: version, master file, engine, addresses, and the number of users in
/// external_auth.
[[nodiscard]] std::string start_line(const Settings& settings, const CommandLine& command_line);

/// Returns the line of `--check-config` about a part of a rule in `external_auth` that matches nothing.
/// `text` is this part. Proposes the most similar of `names`, if there is a similar name.
[[nodiscard]] std::string idle_rule_line(std::string_view place, std::string_view text, std::string_view what,
                                         const std::vector<std::string>& names);

/// Returns the changed keys that take effect only after a restart, such as `rest_fcgi: listen`.
[[nodiscard]] std::vector<std::string> restart_keys(const Settings& running, const Settings& wanted);

/// Reads a line of standard input as a password, without echo on a terminal. Errors: configuration, if the
/// line is missing or too long.
Result<Secret> read_password();

/// Reads a new password: two times without echo from the terminal, or once from standard input with
/// `--password-stdin`. Errors: configuration, if standard input is no terminal, or if the two passwords
/// differ.
Result<Secret> read_new_password(const CommandLine& command_line);

/// Returns a text for the operator who added a user to the file of the back end `file`: the rules that the
/// user has, or how to write them.
[[nodiscard]] std::string describe_rules(const Settings& settings, const CommandLine& command_line);

/// Returns the token for `--watch`. It is the first line of `--token-file`, or the value of the variable
/// SALTAPI_TOKEN. Errors: configuration, if there is no token.
Result<Secret> read_token(const CommandLine& command_line);

/// Returns the URL of the first port of rest_cherrypy or rest_tornado, for requests from this host. Errors:
/// configuration, if there is no port, or if the port has TLS, because its certificate's name is unknown.
Result<std::string> local_events_url(const Settings& settings);

/// Writes one line to standard output. Returns false after a failure.
[[nodiscard]] bool print_secret(const Secret& secret);

}  // namespace rest_fcgi::config

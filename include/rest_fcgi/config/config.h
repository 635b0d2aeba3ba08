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
    watch,
    show_version,
    show_help
  };
  Action action = Action::serve;
  std::string config;                   ///< `--config`, else SALT_MASTER_CONFIG, else /etc/salt/master
  std::optional<std::string> listen;    ///< `--listen`, which replaces the configured address
  std::optional<log::Level> log_level;  ///< `--log-level`, which replaces the configured level
  std::string eauth;  ///< the back end for make_token and revoke; empty revokes for all back ends
  /// The user for make_token, revoke, explain and init. If empty, init asks for the name.
  std::string username;
  std::string fun;
  std::string tgt;
  bool has_password_on_stdin = false;  ///< init reads the password from standard input
  watch::Options watch;                ///< if `url` is empty, the configuration has the address
  std::string token_file;              ///< the file with the token for watch; empty means SALTAPI_TOKEN
};

/// Parses the arguments of main(). Errors: configuration, with the name of the wrong option.
[[nodiscard]] Result<CommandLine> parse_command_line(int argc, const char* const* argv);

/// Returns the text of `--help`.
[[nodiscard]] std::string help_text();

/// `embedded` has minions in this process, and `salt` uses a real Salt master.
enum class Engine { embedded, salt };

/// The netapi modules that answer requests, with their paths and ports.
struct FrontEnds {
  bool are_named = false;  ///< `rest_fcgi: netapi` is set, so that modules may have ports
  std::vector<netapi::Module> served{netapi::Module::rest_wsgi};
  /// The module for each FastCGI path. Only the path `/` ends with a slash.
  std::vector<std::pair<std::string, netapi::Module>> mounts{{"/", netapi::Module::rest_wsgi}};
  std::vector<netapi::Module> http;    ///< the module of each entry of `gateway::Options::http`
  std::vector<netapi::Module> idle{};  ///< the modules that have a section but are not served
  /// The trusted web servers, or std::nullopt for `auto`. `gateway::Options::http` has the resulting
  /// addresses.
  std::optional<std::vector<std::string>> trusted_proxies{};
  /// The keys of salt-api that have no effect in this program.
  std::vector<std::string> inert{};
  /// The port for Prometheus.
  std::optional<gateway::HttpOptions> metrics{};
  bool health = false;  ///< the modules' ports and paths also answer `/health` and `/ready`
};

/// The `FILE:LINE` of each configuration key, by the full name such as `rest_fcgi: listen`.
using Places = std::map<std::string, std::string, std::less<>>;

struct Settings {
  log::Options log;
  gateway::Options gateway;
  FrontEnds front_ends;
  netapi::Options netapi;  ///< the options of rest_wsgi, which all modules share
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
  /// Salt's default `cachedir`, if the engine `embedded` uses this folder; otherwise empty.
  std::string default_cachedir;
  std::vector<std::string> warnings;  ///< warnings of one line each
  Places places;
  /// The keys that take effect only at start, with their values.
  std::vector<std::pair<std::string, std::string>> start_keys;

  /// Returns settings that open no database, for `--check-config` and `--explain`, which any user may run.
  [[nodiscard]] Settings without_files() &&;

  /// Returns settings that store tokens and no jobs, for `--mk-token`.
  [[nodiscard]] Settings without_jobs() &&;
};

/// Reads the master file with its includes. Ignores unknown keys at the top level, but not below
/// `rest_fcgi:`. Errors: configuration, as one line `FILE:LINE: KEY: found X, expected Y`.
[[nodiscard]] Result<Settings> load(const CommandLine& command_line);

/// Returns the error with `FILE:LINE` in front, if its message begins with a configuration key.
[[nodiscard]] Error with_place(Error error, const Settings& settings);

/// Creates the folder `default_cachedir` with its parents. The store reports a failure when it opens its
/// file.
void make_cachedir(const Settings& settings);

/// Adds a warning about a rule that only a real master understands. `mistake` is `FILE:LINE: KEY: TEXT`.
void leave_to_master(std::string_view mistake, Settings& settings);

/// Checks that this process can serve this host's Salt master. Errors: configuration, if `engine: salt` is
/// missing or the master runs as another user, with advice.
[[nodiscard]] Result<void> check_salt(const Settings& settings, const CommandLine& command_line);

using PasswordToHash = std::function<Result<std::string>(const Secret& password)>;

/// Writes a first configuration to `command_line.config`, with a password file, and starts the services under
/// systemd. Asks on the terminal for missing values. Returns a text for the user. Errors: configuration, if a
/// file exists; internal; those of `hash`.
[[nodiscard]] Result<std::string> init(const CommandLine& command_line, const PasswordToHash& hash);

/// The two files of a first configuration, and the user that may log in.
struct FirstSetup {
  std::string config;  ///< the path of the master file
  std::string users;   ///< the path of the password file
  std::string user;
  std::string hash;  ///< the hash of the user's password, as Apache's htpasswd writes it
  gid_t group = 0;   ///< the group that may read both files
};

/// Writes the two files of `init`, and replaces no existing file. Errors: those of `init`.
Result<void> write_first_setup(const FirstSetup& setup);

[[nodiscard]] bool takes_hooks(const Settings& settings);

/// Returns the output of `--check-config`. The engine's texts `event_bus` and `hooks` say whether this
/// process can read and fire the master's events, and may be empty.
[[nodiscard]] std::string summary(const Settings& settings, const CommandLine& command_line,
                                  std::string_view event_bus = {}, std::string_view hooks = {});

/// Returns the line of `--check-config` about a rule that matches nothing, with the most similar of `names`.
[[nodiscard]] std::string idle_rule_line(std::string_view place, std::string_view text, std::string_view what,
                                         const std::vector<std::string>& names);

/// Returns the changed keys that need a restart, such as `rest_fcgi: listen`.
[[nodiscard]] std::vector<std::string> restart_keys(const Settings& running, const Settings& wanted);

/// Reads a line of standard input as a password, without echo on a terminal. Errors: configuration, for a
/// missing or too long line.
[[nodiscard]] Result<Secret> read_password();

/// Returns the token for `--watch`: the first line of `--token-file`, or the variable SALTAPI_TOKEN. Errors:
/// configuration, if there is no token.
[[nodiscard]] Result<Secret> read_token(const CommandLine& command_line);

/// Returns the URL of the first port of rest_cherrypy or rest_tornado, for requests from this host. Errors:
/// configuration, if there is no such port or if it has TLS, because the name of its certificate is unknown.
[[nodiscard]] Result<std::string> local_events_url(const Settings& settings);

/// Writes one line to standard output without stdio, whose buffers are not wiped. Returns false after a
/// failure.
[[nodiscard]] bool print_secret(const Secret& secret);

}  // namespace rest_fcgi::config
